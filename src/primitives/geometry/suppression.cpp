#include "primitives/geometry/suppression.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/geometry/suppression.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/simd.h"
#include "core/sizes.h"
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
  for (int64_t i = 0; i < SuppressionWindow::kBoxes; ++i) {
    bits |= uint64_t{args.is_suppressed[first + i] == 0} << i;
  }
  return bits;
}

// The boxes among `tested` (boxes from `first` on) that the box `kept` suppresses.
HWY_INLINE uint64_t suppressed_by(const SuppressionArgs& args, int64_t kept, int64_t first, uint64_t tested) {
  uint64_t suppressed = 0;
  for (uint64_t bits = tested & candidates(args, kept, first); bits != 0; bits &= bits - 1) {
    const int i = std::countr_zero(bits);
    suppressed |= uint64_t{args.suppresses(args.boxes, kept, first + i)} << i;
  }
  return suppressed;
}

// Marks boxes from `first` on as suppressed by the box `kept`.
HWY_INLINE void mark(const SuppressionArgs& args, int64_t kept, int64_t first, uint64_t suppressed) {
  for (uint64_t bits = suppressed; bits != 0; bits &= bits - 1) {
    const int64_t other = first + std::countr_zero(bits);
    args.is_suppressed[other] = 1;
    if (args.suppressor != nullptr) args.suppressor[other] = static_cast<uint32_t>(kept);
  }
}

// Marks the boxes among `tested` that the box `kept` suppresses, and returns the others.
HWY_INLINE uint64_t suppress_some(const SuppressionArgs& args, int64_t kept, int64_t first, uint64_t tested) {
  const uint64_t suppressed = suppressed_by(args, kept, first, tested);
  mark(args, kept, first, suppressed);
  return tested & ~suppressed;
}

// Work items: one. Decides which boxes of a window of one block are kept.
void decide(const SuppressionWindow& args, int64_t, int64_t, Task&) {
  *args.kept = 0;
  for (uint64_t bits = remaining(args, args.first); bits != 0;) {
    const int i = std::countr_zero(bits);
    *args.kept |= uint64_t{1} << i;
    bits = suppress_some(args, args.first + i, args.first, bits & (bits - 1));
  }
}

// Work items: the boxes of the window. Writes the rows of `suppressed` of the remaining boxes.
void compare_pairs(const SuppressionWindow& args, int64_t begin, int64_t end, Task&) {
  for (int64_t box = begin; box < end; ++box) {
    const int64_t own = box / SuppressionWindow::kBoxes, i = box % SuppressionWindow::kBoxes;
    if ((args.remaining[own] >> i & 1) == 0) continue;
    for (int64_t block = own; block < args.blocks; ++block) {
      uint64_t tested = args.remaining[block];
      // The boxes after this one.
      if (block == own) tested &= ~((uint64_t{2} << i) - 1);
      args.suppressed[box * args.blocks + block] =
          suppressed_by(args, args.first + box, args.first_of(block), tested);
    }
  }
}

// Work items: one. Decides which boxes of the window are kept.
void decide_by_pairs(const SuppressionWindow& args, int64_t, int64_t, Task&) {
  for (int64_t own = 0; own < args.blocks; ++own) {
    args.kept[own] = 0;
    while (args.remaining[own] != 0) {
      const int i = std::countr_zero(args.remaining[own]);
      args.kept[own] |= uint64_t{1} << i;
      args.remaining[own] &= args.remaining[own] - 1;
      const int64_t box = own * SuppressionWindow::kBoxes + i;
      for (int64_t block = own; block < args.blocks; ++block) {
        const uint64_t suppressed = args.suppressed[box * args.blocks + block] & args.remaining[block];
        args.remaining[block] &= ~suppressed;
        mark(args, args.first + box, args.first_of(block), suppressed);
      }
    }
  }
}

// Work items: the blocks after the window. Marks the boxes that the kept boxes of the window suppress.
void suppress_others(const SuppressionWindow& args, int64_t begin, int64_t end, Task&) {
  for (int64_t block = begin; block < end; ++block) {
    const int64_t first = args.first_of(args.blocks + block);
    uint64_t tested = remaining(args, first);
    for (int64_t own = 0; own < args.blocks; ++own) {
      for (uint64_t kept = args.kept[own]; kept != 0 && tested != 0; kept &= kept - 1) {
        tested = suppress_some(args, args.first_of(own) + std::countr_zero(kept), first, tested);
      }
    }
  }
}

void find_remaining(const SuppressionWindow& args) {
  for (int64_t block = 0; block < args.blocks; ++block) {
    args.remaining[block] = remaining(args, args.first_of(block));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {
namespace {

// Cost of comparing a box with the boxes of a block, in bytes of memory traffic.
constexpr int64_t kCompareBytes = 512;
constexpr int64_t kChunksPerTask = 4;

// Fewer tasks compare a block at a time.
constexpr int kManyTasks = 8;

HWY_EXPORT(decide);
HWY_EXPORT(find_remaining);
HWY_EXPORT(compare_pairs);
HWY_EXPORT(decide_by_pairs);
HWY_EXPORT(suppress_others);

// Decides which boxes of a window are kept.
void decide_window(Context& context, const SuppressionWindow& args) {
  if (args.blocks == 1) return launch(context, "decide", 1, Evenly{1}, MLUOP_DISPATCH(decide), args);
  MLUOP_DISPATCH(find_remaining)(args);
  const int64_t boxes = args.blocks * SuppressionWindow::kBoxes;
  // Half of the pairs of blocks.
  const int task_dim = choose_task_dim(boxes, boxes * args.blocks / 2 * kCompareBytes);
  const auto chunks = static_cast<int>(std::min(boxes, kChunksPerTask * task_dim));
  launch_dynamic(context, "compare", task_dim, chunks, Evenly{boxes}, MLUOP_DISPATCH(compare_pairs), args);
  launch(context, "decide", 1, Evenly{1}, MLUOP_DISPATCH(decide_by_pairs), args);
}

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

using SortMemory = RadixSortMemory<uint32_t>;

// The selection of the boxes whose keys have a highest digit of at most last_digit. It divides the boxes into
// parts, and counts the digits of each part in the memory of the sort.
struct SelectArgs {
  // More parts would cost more time to add their counts than they save.
  static constexpr int kMaxParts = 16;
  static constexpr int kShift = 32 - SortMemory::kDigitBits;

  uint32_t* counts_of(int64_t part) const { return sort.places + part * SortMemory::kDigits; }
  Range boxes_of(int64_t part) const { return split(count, parts, static_cast<int>(part)); }

  const float* scores;
  int64_t count;
  int parts;
  const SortMemory& sort;
  uint32_t last_digit;
};

// Work items: parts.
void count_highest_digits(const SelectArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    const Range boxes = args.boxes_of(part);
    uint32_t* const counts = args.counts_of(part);
    std::fill_n(counts, SortMemory::kDigits, 0U);
    for (int64_t i = boxes.begin; i < boxes.end; ++i) {
      const uint32_t key = args.sort.keys[1][i] = key_of(args.scores[i]);
      ++counts[key >> SelectArgs::kShift];
    }
  }
}

// Work items: parts. Writes the selected boxes of a part from totals[part] on.
void collect(const SelectArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    const Range boxes = args.boxes_of(part);
    uint32_t at = args.sort.totals[part];
    for (int64_t i = boxes.begin; i < boxes.end; ++i) {
      const uint32_t key = args.sort.keys[1][i];
      if (key >> SelectArgs::kShift > args.last_digit) continue;
      args.sort.keys[0][at] = key;
      args.sort.values[0][at++] = static_cast<uint32_t>(i);
    }
  }
}

// Moves keys and indices of at least `wanted` boxes, which include the first in the order, to the input of the
// sort. Returns their number.
int64_t select_first(Context& context, const float* scores, int64_t count, const SortMemory& sort,
                     int64_t wanted) {
  const auto parts = static_cast<int>(std::min<int64_t>(sort.max_parts, SelectArgs::kMaxParts));
  SelectArgs args{scores, count, parts, sort, 0};
  const int task_dim = choose_task_dim(args.parts, count * int64_t{sizeof(float)} * 2);
  launch(context, "count", task_dim, Evenly{args.parts}, count_highest_digits, args);
  std::array<int64_t, SortMemory::kDigits> counts{};
  for (int64_t part = 0; part < args.parts; ++part) {
    const uint32_t* const of_part = args.counts_of(part);
    std::transform(counts.begin(), counts.end(), of_part, counts.begin(), std::plus<int64_t>());
  }
  int64_t found = counts[0];
  while (found < wanted) found += counts[++args.last_digit];
  uint32_t start = 0;
  for (int64_t part = 0; part < args.parts; ++part) {
    sort.totals[part] = start;
    start = std::accumulate(args.counts_of(part), args.counts_of(part) + args.last_digit + 1, start);
  }
  launch(context, "collect", task_dim, Evenly{args.parts}, collect, args);
  return found;
}

}  // namespace

void suppress(Context& context, const SuppressionArgs& args) {
  constexpr int64_t kBoxes = SuppressionWindow::kBoxes, kMaxBlocks = SuppressionWindow::kMaxBlocks;
  const int64_t count = args.bounds.count, blocks = args.bounds.padded_count / kBoxes;
  const auto task_dim_of = [](int64_t others, int64_t kept_boxes) {
    return choose_task_dim(others, saturated_product({others, kept_boxes, kCompareBytes}));
  };
  const bool is_large = blocks >= 2 * kMaxBlocks && task_dim_of(blocks, kBoxes) >= kManyTasks;
  const int64_t window = is_large ? kMaxBlocks : 1;
  uint64_t remaining[kMaxBlocks], suppressed[kMaxBlocks * kBoxes * kMaxBlocks], kept[kMaxBlocks];
  int64_t kept_count = 0;
  std::fill_n(args.is_suppressed, count, 0);
  std::fill_n(args.is_suppressed + count, args.bounds.padded_count - count, 1);
  for (int64_t block = 0; block < blocks; block += window) {
    const SuppressionWindow current{args,      block * kBoxes, std::min(window, blocks - block),
                                    remaining, suppressed,     kept};
    decide_window(context, current);
    int64_t kept_now = 0;
    for (int64_t i = 0; i < current.blocks; ++i) kept_now += std::popcount(kept[i]);
    kept_count += kept_now;
    if (kept_count >= args.max_kept) return;
    const int64_t others = blocks - block - current.blocks;
    if (kept_now == 0 || others == 0) continue;
    const int task_dim = task_dim_of(others, kept_now);
    const auto chunks = static_cast<int>(std::min(others, kChunksPerTask * task_dim));
    launch_dynamic(context, "suppress", task_dim, chunks, Evenly{others}, MLUOP_DISPATCH(suppress_others),
                   current);
  }
}

const uint32_t* sort_by_score(Context& context, const float* scores, int64_t count, const ScoreOrder& order,
                              int64_t wanted) {
  const SortMemory& sort = order.sort;
  if (wanted < count / 2) {
    const int64_t selected = select_first(context, scores, count, sort, wanted);
    const int task_dim = choose_task_dim(selected, selected * int64_t{sizeof(float)} * 4);
    return sort.values[radix_sort(context, task_dim, selected, 32, SortedValues::kGiven, sort)];
  }
  const int task_dim = choose_task_dim(count, count * int64_t{sizeof(float)} * 2);
  launch<KeyArgs>(context, "keys", task_dim, Evenly{count}, write_keys, {scores, sort.keys[0]});
  return sort.values[radix_sort(context, task_dim, count, 32, SortedValues::kPositions, sort)];
}

}  // namespace mluop
#endif
