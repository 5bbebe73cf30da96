// Shared by the kernels of a measurement: the partial result of a block, the rules for one element, and the worst
// elements of a task.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "compare/measure.h"
#include "team/launch.h"

namespace mluop::compare {

// Sums over the pairs of finite numbers.
enum Sum {
  kMagnitudes,       // |b|
  kErrors,           // |e - b|
  kFound,            // e
  kExpected,         // b
  kFoundSquares,     // e^2
  kExpectedSquares,  // b^2
  kProducts,         // e b
  kErrorSquares,     // (e - b)^2
  kErrorProducts,    // (e - b) b
  kSumCount
};
using Sums = std::array<double, kSumCount>;

// Number of partial sums in double: element i is added to lane i % kSumLanes on every instruction set.
inline constexpr int kSumLanes = 8;
inline double sum_of_lanes(const double* lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

inline constexpr int kMoreUlp = MLUOP_OMP_ULP_BUCKETS - 2, kIncomparable = MLUOP_OMP_ULP_BUCKETS - 1;

// The entry of ulp_histogram for a distance.
inline int bucket_of(uint64_t distance) {
  if (distance == 0) return 0;
  return std::min(1 + static_cast<int>(std::bit_width(distance - 1)), kMoreUlp);
}

struct Maxima {
  double absolute = 0, relative = 0;
  // diff3: relative errors where |b| exceeds the threshold, absolute errors elsewhere.
  double large = 0, small = 0;
};

struct Partial {
  Sums sums{};
  Maxima maxima;
  int64_t finite = 0;  // pairs of finite numbers
  int64_t differing = 0, wrong = 0, above = 0, below = 0;
  int64_t found_nan = 0, expected_nan = 0, found_inf = 0, expected_inf = 0, mismatches = 0;
  int64_t overflowed = 0, flushed = 0;
  uint64_t max_ulp = 0;
  std::array<int64_t, MLUOP_OMP_ULP_BUCKETS> histogram{};  // entry 0 is not counted
};

struct WorstEntry {
  double absolute;
  int64_t index;
};
inline bool is_worse(const WorstEntry& a, const WorstEntry& b) {
  return a.absolute != b.absolute ? a.absolute > b.absolute : a.index < b.index;
}

struct MeasureArgs : Operands {
  double relative_from;  // the magnitude above which diff3 is relative
  double scale;          // of the numbers in sums, a power of two
  Partial* partials;     // for each block
  StepBits& wrong_steps;
  int64_t worst_capacity;
  WorstEntry* worst;      // [task, worst_capacity]
  int64_t* worst_counts;  // for each task
};

// The worst elements of a task: a heap with the smallest error at the root.
class WorstElements {
 public:
  WorstElements(const MeasureArgs& args, const Task& task)
      : entries_(args.worst + int64_t{task.taskId} * args.worst_capacity),
        capacity_(args.worst_capacity),
        count_(args.worst_counts + task.taskId) {
    *count_ = 0;
  }

  bool is_full() const { return *count_ == capacity_; }
  // Smaller errors are not kept; once the heap is full and indices ascend, neither are equal errors.
  double least() const { return is_full() ? entries_[0].absolute : 0; }
  void add(double absolute, int64_t index) {
    const WorstEntry entry{absolute, index};
    if (*count_ < capacity_) {
      entries_[(*count_)++] = entry;
      std::push_heap(entries_, entries_ + *count_, is_worse);
    } else if (is_worse(entry, entries_[0])) {
      std::pop_heap(entries_, entries_ + capacity_, is_worse);
      entries_[capacity_ - 1] = entry;
      std::push_heap(entries_, entries_ + capacity_, is_worse);
    }
  }

 private:
  WorstEntry* entries_;
  int64_t capacity_;
  int64_t* count_;
};

// |e - b| / (|b| + epsilon) of finite numbers, also if the difference overflows; 0 / 0 is 0.
inline double relative_error(double e, double b, double epsilon) {
  const double error = std::abs(e - b);
  if (error == 0) return 0;
  if (std::isinf(error)) return std::abs(e / 2 - b / 2) / (std::abs(b) / 2 + epsilon / 2);
  return error / (std::abs(b) + epsilon);
}

// Adds element i, where e or b is not finite.
inline void add_special(const MeasureArgs& args, double e, double b, bool bits_differ, int64_t i, Partial& to,
                        WorstElements& worst) {
  const bool both_nan = std::isnan(e) && std::isnan(b), mismatch = !(e == b || both_nan);
  const bool differs = bits_differ && (args.options.nan_payloads != 0 || !both_nan);
  const bool wrong = args.options.bits != 0 ? differs : mismatch;
  to.found_nan += std::isnan(e) ? 1 : 0;
  to.expected_nan += std::isnan(b) ? 1 : 0;
  to.found_inf += std::isinf(e) ? 1 : 0;
  to.expected_inf += std::isinf(b) ? 1 : 0;
  to.overflowed += std::isinf(e) && std::isfinite(b) ? 1 : 0;
  to.differing += differs ? 1 : 0;
  to.mismatches += mismatch ? 1 : 0;
  to.histogram[kIncomparable] += mismatch ? 1 : 0;
  if (!wrong) return;
  ++to.wrong;
  args.wrong_steps.set(i);
  worst.add(mismatch ? HUGE_VAL : 0, i);
}

// Sums of the deviations from numbers near the means of both tensors, of the squared deviations, and of their
// product.
struct Centered {
  double found_deviation, expected_deviation;
  double found, expected, product;
};

struct CenterArgs : Operands {
  double found_mean, expected_mean;
  Centered* partials;  // for each block
};

// Work items: blocks. Both tensors have data type `dtype`: HALF, BFLOAT16 or FLOAT.
RangeKernel<MeasureArgs> measure_vectors_kernel(mluOpDataType_t dtype);

// Work items: blocks. Any data types.
RangeKernel<MeasureArgs> measure_numbers_kernel();

// Work items: blocks.
RangeKernel<CenterArgs> center_kernel();

}  // namespace mluop::compare
