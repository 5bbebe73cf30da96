#include "primitives/geometry/suppression.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/geometry/suppression.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/simd.h"
#include "primitives/geometry/box_bounds-inl.h"
#include "team/launch.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// The boxes from `first` on that the box `kept` may suppress.
HWY_INLINE uint64_t candidates(const SuppressionArgs& args, int64_t kept, int64_t first) {
  return args.tests_all_pairs ? ~uint64_t{0} : boxes_that_meet(args.bounds[kept], args.bounds, first);
}

// The boxes from `first` on that are not suppressed yet.
HWY_INLINE uint64_t remaining(const SuppressionArgs& args, int64_t first) {
  uint64_t bits = 0;
  for (int64_t i = 0; i < SuppressionBlock::kBoxes; ++i) {
    bits |= uint64_t{args.is_suppressed[first + i] == 0} << i;
  }
  return bits;
}

// Marks the boxes among `tested` (boxes from `first` on) that the box `kept` suppresses, and returns the others.
HWY_INLINE uint64_t suppress_some(const SuppressionArgs& args, int64_t kept, int64_t first, uint64_t tested) {
  uint64_t suppressed = 0;
  for (uint64_t bits = tested & candidates(args, kept, first); bits != 0; bits &= bits - 1) {
    const int i = std::countr_zero(bits);
    if (!args.suppresses(args.boxes, kept, first + i)) continue;
    args.is_suppressed[first + i] = 1;
    if (args.suppressor != nullptr) args.suppressor[first + i] = static_cast<uint32_t>(kept);
    suppressed |= uint64_t{1} << i;
  }
  return tested & ~suppressed;
}

// Work items: one. Decides which boxes of the block are kept.
void decide(const SuppressionBlock& args, int64_t, int64_t, Task&) {
  *args.kept = 0;
  for (uint64_t bits = remaining(args, args.first); bits != 0;) {
    const int i = std::countr_zero(bits);
    *args.kept |= uint64_t{1} << i;
    bits = suppress_some(args, args.first + i, args.first, bits & (bits - 1));
  }
}

// Work items: the blocks after this one. Marks the boxes that the kept boxes of this block suppress.
void suppress_others(const SuppressionBlock& args, int64_t begin, int64_t end, Task&) {
  for (int64_t block = begin; block < end; ++block) {
    const int64_t first = args.first + (block + 1) * SuppressionBlock::kBoxes;
    uint64_t tested = remaining(args, first);
    for (uint64_t kept = *args.kept; kept != 0 && tested != 0; kept &= kept - 1) {
      tested = suppress_some(args, args.first + std::countr_zero(kept), first, tested);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {
namespace {

// Cost of comparing a box with the boxes of a block, in bytes of memory traffic.
constexpr int64_t kBoxBytes = 64;
constexpr int64_t kChunksPerTask = 4;

HWY_EXPORT(decide);
HWY_EXPORT(suppress_others);

struct KeyArgs {
  const float* scores;
  uint32_t* keys;
};

// Keys that ascend as scores descend.
uint32_t key_of(float score) {
  if (std::isnan(score)) return 0;
  // -0 equals 0.
  const auto bits = std::bit_cast<uint32_t>(score + 0.0F);
  return (bits >> 31) != 0 ? bits : bits ^ 0x7FFFFFFF;
}

// Work items: boxes.
void write_keys(const KeyArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) args.keys[i] = key_of(args.scores[i]);
}

}  // namespace

void suppress(Context& context, const SuppressionArgs& args) {
  const int64_t count = args.bounds.count, blocks = args.bounds.padded_count / SuppressionBlock::kBoxes;
  std::fill_n(args.is_suppressed, count, 0);
  std::fill_n(args.is_suppressed + count, args.bounds.padded_count - count, 1);
  for (int64_t block = 0; block < blocks; ++block) {
    uint64_t kept = 0;
    const SuppressionBlock block_args{args, block * SuppressionBlock::kBoxes, &kept};
    launch(context, "decide", 1, Evenly{1}, MLUOP_DISPATCH(decide), block_args);
    const int64_t others = blocks - block - 1;
    if (kept == 0 || others == 0) continue;
    const int task_dim = choose_task_dim(others, others * SuppressionBlock::kBoxes * kBoxBytes);
    const auto chunks = static_cast<int>(std::min(others, kChunksPerTask * task_dim));
    launch_dynamic(context, "suppress", task_dim, chunks, Evenly{others}, MLUOP_DISPATCH(suppress_others),
                   block_args);
  }
}

const uint32_t* sort_by_score(Context& context, const float* scores, int64_t count, const ScoreOrder& order) {
  const RadixSortMemory<uint32_t>& sort = order.sort;
  const int task_dim = choose_task_dim(count, count * int64_t{sizeof(float)} * 2);
  launch<KeyArgs>(context, "keys", task_dim, Evenly{count}, write_keys, {scores, sort.keys[0]});
  return sort.values[radix_sort(context, task_dim, count, 32, SortedValues::kPositions, sort)];
}

}  // namespace mluop
#endif
