// Measures tensors of any two data types, in chunks as double and as bits.
#include "compare/measure_kernels.h"

namespace mluop::compare {
namespace {

class BlockMeasure {
 public:
  BlockMeasure(const MeasureArgs& args, Maxima& maxima, WorstElements& worst, Partial& to)
      : args_(args), maxima_(maxima), worst_(worst), to_(to) {}

  void add_chunk(int64_t first, int64_t count) {
    double e[kChunk], b[kChunk];
    uint64_t e_bits[kChunk], b_bits[kChunk];
    read_numbers(args_.expected, first, count, b);
    if (are_same(args_.found, args_.expected, first, count)) {
      for (int64_t i = 0; i < count; ++i) add_equal(b[i], first + i);
      return;
    }
    read_numbers(args_.found, first, count, e);
    read_bits(args_.found, first, count, e_bits);
    round_bits(args_.found.dtype, args_.expected, first, count, b, b_bits);
    for (int64_t i = 0; i < count; ++i) {
      if (std::isfinite(e[i]) && std::isfinite(b[i])) {
        add_finite(e[i], b[i], e_bits[i], b_bits[i], first + i);
      } else {
        add_special(args_, e[i], b[i], e_bits[i] != b_bits[i] && !unlike_nan(e[i], b[i]), first + i, to_, worst_);
      }
    }
  }

  // Totals the lanes of all chunks.
  void finish() {
    for (int sum = 0; sum < kSumCount; ++sum) to_.sums[sum] = sum_of_lanes(lanes_[sum]);
    to_.sums[kMagnitudes] += sum_of_lanes(magnitudes_);
    for (const Sum sum : {kFound, kExpected}) to_.sums[sum] += sum_of_lanes(numbers_);
    for (const Sum sum : {kFoundSquares, kExpectedSquares, kProducts}) to_.sums[sum] += sum_of_lanes(squares_);
    to_.maxima = maxima_;
  }

 private:
  // Payloads of NaN are compared only if both types are the same.
  bool unlike_nan(double e, double b) const {
    return args_.found.dtype != args_.expected.dtype && std::isnan(e) && std::isnan(b);
  }

  void add_equal(double b, int64_t i) {
    if (!std::isfinite(b)) return add_special(args_, b, b, false, i, to_, worst_);
    ++to_.finite;
    const double number = b * args_.scale;
    magnitudes_[i % kSumLanes] += std::abs(number);
    numbers_[i % kSumLanes] += number;
    squares_[i % kSumLanes] += number * number;
  }

  void add_finite(double e, double b, uint64_t e_bits, uint64_t b_bits, int64_t i) {
    ++to_.finite;
    add_sums(e * args_.scale, b * args_.scale, i % kSumLanes);
    if (e_bits == b_bits && e == b) return;
    const uint64_t e_key = key_of_bits(args_.found.dtype, e_bits), b_key = key_of_bits(args_.found.dtype, b_bits);
    const uint64_t distance = distance_of(e_key, b_key);
    double error = std::abs(e - b), relative = relative_error(e, b, args_.options.epsilon);
    bool above = e > b, below = e < b;
    if (args_.differ_by_distance(e, b)) {
      error = static_cast<double>(distance);
      relative = distance == 0 ? 0 : error / (std::abs(b) + args_.options.epsilon);
      above = e_key > b_key;
      below = e_key < b_key;
    }
    to_.above += above ? 1 : 0;
    to_.below += below ? 1 : 0;
    to_.differing += e_bits != b_bits ? 1 : 0;
    to_.flushed += e == 0 && b != 0 ? 1 : 0;
    to_.max_ulp = std::max(to_.max_ulp, distance);
    if (distance != 0) ++to_.histogram[static_cast<size_t>(bucket_of(distance))];
    maxima_.absolute = std::max(maxima_.absolute, error);
    maxima_.relative = std::max(maxima_.relative, relative);
    double& diff3 = std::abs(b) > args_.relative_from ? maxima_.large : maxima_.small;
    diff3 = std::max(diff3, std::abs(b) > args_.relative_from ? relative : error);
    if (args_.options.bits != 0 ? e_bits == b_bits : !args_.exceeds(error, b)) return;
    ++to_.wrong;
    args_.wrong_steps.set(i);
    worst_.add(error, i);
  }

  void add_sums(double e, double b, int64_t lane) {
    const double d = e - b;
    lanes_[kMagnitudes][lane] += std::abs(b);
    lanes_[kErrors][lane] += std::abs(d);
    lanes_[kFound][lane] += e;
    lanes_[kExpected][lane] += b;
    lanes_[kFoundSquares][lane] += e * e;
    lanes_[kExpectedSquares][lane] += b * b;
    lanes_[kProducts][lane] += e * b;
    lanes_[kErrorSquares][lane] += d * d;
    lanes_[kErrorProducts][lane] += d * b;
  }

  const MeasureArgs& args_;
  Maxima& maxima_;
  WorstElements& worst_;
  Partial& to_;
  double lanes_[kSumCount][kSumLanes] = {};
  double magnitudes_[kSumLanes] = {}, numbers_[kSumLanes] = {}, squares_[kSumLanes] = {};  // over equal elements
};

// Calls visit(first, count) for the chunks of a block.
template <class Visit>
void for_each_chunk(const Operands& operands, int64_t block, const Visit& visit) {
  const int64_t end = block_end(operands, block);
  for (int64_t first = block * kBlockElements; first < end; first += kChunk) {
    visit(first, std::min(kChunk, end - first));
  }
}

void measure_numbers(const MeasureArgs& args, int64_t begin, int64_t end, Task& task) {
  WorstElements worst(args, task);
  Maxima maxima;
  for (int64_t block = begin; block < end; ++block) {
    args.partials[block] = {};
    BlockMeasure measured(args, maxima, worst, args.partials[block]);
    for_each_chunk(args, block, [&](int64_t first, int64_t count) { measured.add_chunk(first, count); });
    measured.finish();
  }
}

void center(const CenterArgs& args, int64_t begin, int64_t end, Task&) {
  double e[kChunk], b[kChunk];
  for (int64_t block = begin; block < end; ++block) {
    Centered sums{};
    for_each_chunk(args, block, [&](int64_t first, int64_t count) {
      read_numbers(args.found, first, count, e);
      read_numbers(args.expected, first, count, b);
      for (int64_t i = 0; i < count; ++i) {
        if (!std::isfinite(e[i]) || !std::isfinite(b[i])) continue;
        const double found = e[i] - args.found_mean, expected = b[i] - args.expected_mean;
        sums.found_deviation += found;
        sums.expected_deviation += expected;
        sums.found += found * found;
        sums.expected += expected * expected;
        sums.product += found * expected;
      }
    });
    args.partials[block] = sums;
  }
}

}  // namespace

RangeKernel<MeasureArgs> measure_numbers_kernel() { return measure_numbers; }
RangeKernel<CenterArgs> center_kernel() { return center; }

}  // namespace mluop::compare
