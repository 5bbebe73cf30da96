// Greedy non-maximum suppression: in descending order of score, a box is kept unless a box kept earlier suppresses
// it. Parallel; the result equals the serial loop for any number of tasks.
//
// The boxes are processed in windows of blocks. One launch decides which boxes of a window are kept, another one
// which later boxes these suppress. A few tasks decide on a block at a time, as the serial loop does. Many tasks,
// which would wait for that, first compare all pairs of boxes of a larger window.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "primitives/geometry/box_bounds.h"
#include "primitives/sort/radix_sort.h"
#include "team/context.h"

namespace mluop {

// The input of a suppression: `count` boxes in descending order of score.
struct SuppressionArgs {
  const BoxBounds& bounds;
  // Whether a kept box suppresses a later one: a pure function of both, called for pairs whose bounds meet, or for
  // all pairs if `tests_all_pairs`.
  bool (*suppresses)(const void* boxes, int64_t kept, int64_t other);
  const void* boxes;
  bool tests_all_pairs;
  uint8_t* is_suppressed;  // [bounds.padded_count], written
  // [bounds.count], set for each suppressed box to the first box that suppresses it. null: not computed.
  uint32_t* suppressor = nullptr;
  // The suppression may stop at this number of kept boxes: is_suppressed of later boxes is then unspecified.
  int64_t max_kept = INT64_MAX;
};

// Consecutive blocks of kBoxes boxes, from the box `first` on.
struct SuppressionWindow : SuppressionArgs {
  static constexpr int64_t kBoxes = BoxBounds::kGroupBoxes;
  static constexpr int64_t kMaxBlocks = 8;

  int64_t first_of(int64_t block) const { return first + block * kBoxes; }

  int64_t first, blocks;
  // Bit i of a word is the i-th box of a block.
  uint64_t* remaining;   // [blocks], not suppressed by the boxes before the window
  uint64_t* suppressed;  // [blocks * kBoxes, blocks], of the remaining: what each box would suppress
  uint64_t* kept;        // [blocks]
};

// Sets is_suppressed of each box.
void suppress(Context& context, const SuppressionArgs& args);

// The order of boxes by descending score. Equal scores, and NaN among themselves, keep ascending indices. NaN come
// first.
struct ScoreOrder {
  ScoreOrder(Arena& arena, int64_t count) : sort(arena, count) {}

  RadixSortMemory<uint32_t> sort;
};

// Returns the indices of the first min(count, wanted) boxes in that order, in the memory of `order`. If `wanted`
// is less than half of count, only the boxes with the highest scores are sorted.
const uint32_t* sort_by_score(Context& context, const float* scores, int64_t count, const ScoreOrder& order,
                              int64_t wanted = INT64_MAX);

}  // namespace mluop
