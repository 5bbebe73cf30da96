// Greedy non-maximum suppression: in descending order of score, a box is kept unless a box kept earlier suppresses
// it. Parallel; the result equals the serial loop for any number of tasks.
//
// The boxes are processed in blocks. One launch decides which boxes of a block are kept, a second launch which
// later boxes these suppress.
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

// A block of kBoxes boxes from `first` on.
struct SuppressionBlock : SuppressionArgs {
  static constexpr int64_t kBoxes = BoxBounds::kGroupBoxes;

  int64_t first;
  uint64_t* kept;  // bit i: whether the i-th box is kept
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
