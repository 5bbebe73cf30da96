// Greedy non-maximum suppression: in descending order of score, a box is kept unless one that is kept before
// suppresses it. Parallel; the result is that of the serial loop at any number of tasks.
//
// The boxes are taken in blocks. A first launch decides which boxes of a block are kept, a second one which of the
// boxes after the block these suppress.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "primitives/geometry/box_bounds.h"
#include "primitives/sort/radix_sort.h"
#include "team/context.h"

namespace mluop {

// What a suppression is about: `count` boxes in descending order of score.
struct SuppressionArgs {
  const BoxBounds& bounds;
  // Whether a box that is kept suppresses another one after it: a pure function of both, called for pairs whose
  // bounds meet, and for all pairs if `tests_all_pairs`.
  bool (*suppresses)(const void* boxes, int64_t kept, int64_t other);
  const void* boxes;
  bool tests_all_pairs;
  uint8_t* is_suppressed;  // [bounds.padded_count], written
  // [bounds.count], written where a box is suppressed: the first box that does. null: not wanted
  uint32_t* suppressor = nullptr;
};

// A block of kBoxes boxes from `first` on.
struct SuppressionBlock : SuppressionArgs {
  static constexpr int64_t kBoxes = BoxBounds::kGroupBoxes;

  int64_t first;
  uint64_t* kept;  // bit i: whether the i-th box is kept
};

// Sets is_suppressed of each box.
void suppress(Context& context, const SuppressionArgs& args);

// The order of boxes by descending scores; equal scores, NaN as well, are in ascending order of their indices. NaN
// come first.
struct ScoreOrder {
  ScoreOrder(Arena& arena, int64_t count) : sort(arena, count) {}

  RadixSortMemory<uint32_t> sort;
};

// Returns the indices of the boxes in that order [count], in the memory of `order`.
const uint32_t* sort_by_score(Context& context, const float* scores, int64_t count, const ScoreOrder& order);

}  // namespace mluop
