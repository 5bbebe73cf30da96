#include "compare/measure.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "compare/measure_kernels.h"
#include "core/sizes.h"

namespace mluop::compare {
namespace {

// Scales numbers whose squares overflow.
constexpr double kDownScale = 0x1p-560;

// Minimum number of worst elements that patterns are given.
constexpr int kLeastWorst = 16;

// The magnitude above which diff3 is relative.
double relative_from(mluOpDataType_t found) { return found == MLUOP_DTYPE_HALF ? 1e-4 : 1e-6; }

struct MeasureMemory {
  MeasureMemory(Arena& arena, int64_t blocks, int64_t tasks, int64_t worst_capacity)
      : partials(arena.take<Partial>("partials", {blocks})),
        centered(arena.take<Centered>("centered", {blocks})),
        worst(arena.take<WorstEntry>("worst", {tasks, worst_capacity})),
        worst_counts(arena.take<int64_t>("worst_counts", {tasks})) {}

  Partial* partials;
  Centered* centered;
  WorstEntry* worst;
  int64_t* worst_counts;
};

// A sum that also accumulates the rounding errors of its additions.
class CompensatedSum {
 public:
  void add(double addend) {
    const double next = sum_ + addend;
    lost_ += std::abs(sum_) >= std::abs(addend) ? sum_ - next + addend : addend - next + sum_;
    sum_ = next;
  }
  double value() const { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }

 private:
  double sum_ = 0, lost_ = 0;
};

double ratio(double numerator, double denominator) {
  if (numerator == 0) return 0;
  return denominator == 0 ? HUGE_VAL : numerator / denominator;
}

// The counters of a block, and the fields of the result that they are added to.
constexpr std::pair<int64_t Partial::*, int64_t mluOpOmpDifference_t::*> kCounters[] = {
    {&Partial::differing, &mluOpOmpDifference_t::differing},
    {&Partial::wrong, &mluOpOmpDifference_t::wrong},
    {&Partial::above, &mluOpOmpDifference_t::above},
    {&Partial::below, &mluOpOmpDifference_t::below},
    {&Partial::found_nan, &mluOpOmpDifference_t::found_nan},
    {&Partial::expected_nan, &mluOpOmpDifference_t::expected_nan},
    {&Partial::found_inf, &mluOpOmpDifference_t::found_inf},
    {&Partial::expected_inf, &mluOpOmpDifference_t::expected_inf},
    {&Partial::mismatches, &mluOpOmpDifference_t::special_mismatches},
    {&Partial::overflowed, &mluOpOmpDifference_t::overflowed},
    {&Partial::flushed, &mluOpOmpDifference_t::flushed},
};

// Adds the results of all blocks.
Partial total_of(const Partial* partials, int64_t blocks) {
  Partial total;
  std::array<CompensatedSum, kSumCount> sums;
  for (int64_t block = 0; block < blocks; ++block) {
    const Partial& partial = partials[block];
    for (size_t sum = 0; sum < kSumCount; ++sum) sums[sum].add(partial.sums[sum]);
    const auto raise = [](auto& maximum, auto value) { maximum = std::max(maximum, value); };
    raise(total.maxima.absolute, partial.maxima.absolute);
    raise(total.maxima.relative, partial.maxima.relative);
    raise(total.maxima.large, partial.maxima.large);
    raise(total.maxima.small, partial.maxima.small);
    raise(total.max_ulp, partial.max_ulp);
    total.finite += partial.finite;
    for (const auto& [counter, field] : kCounters) total.*counter += partial.*counter;
    for (size_t k = 0; k < partial.histogram.size(); ++k) total.histogram[k] += partial.histogram[k];
  }
  for (size_t sum = 0; sum < kSumCount; ++sum) total.sums[sum] = sums[sum].value();
  return total;
}

class Measurement {
 public:
  Measurement(Context& context, const Operands& operands)
      : context_(context),
        operands_(operands),
        blocks_(block_count(operands)),
        task_dim_(choose_task_dim(blocks_, operands.bytes())),
        worst_(std::max(operands.options.worst, kLeastWorst)) {
    Arena arena = context.reserve(bytes_of<MeasureMemory>(blocks_, int64_t{task_dim_}, worst_));
    memory_.emplace(arena, blocks_, int64_t{task_dim_}, worst_);
  }

  Measured run() {
    StepBits wrong_steps(blocks_);
    double scale = 1;
    Partial total = measure(scale, wrong_steps);
    if (!std::all_of(total.sums.begin(), total.sums.end(), [](double sum) { return std::isfinite(sum); })) {
      scale = kDownScale;
      total = measure(scale, wrong_steps);
    }
    return {difference_of(total, scale), worst_elements(), std::move(wrong_steps)};
  }

 private:
  Partial measure(double scale, StepBits& wrong_steps) {
    const mluOpDataType_t dtype = operands_.found.dtype;
    std::fill_n(memory_->worst_counts, task_dim_, 0);
    launch(context_, "measure", task_dim_, Evenly{blocks_},
           scale == 1 && operands_.are_vectors() ? measure_vectors_kernel(dtype) : measure_numbers_kernel(),
           {operands_, relative_from(dtype), scale, memory_->partials, wrong_steps, worst_, memory_->worst,
            memory_->worst_counts});
    return total_of(memory_->partials, blocks_);
  }

  mluOpOmpDifference_t difference_of(const Partial& total, double scale) {
    const Sums& sums = total.sums;
    const auto& options = operands_.options;
    mluOpOmpDifference_t to{};
    to.elements = operands_.count;
    for (const auto& [counter, field] : kCounters) to.*field = total.*counter;
    to.diff1 = ratio(sums[kErrors], sums[kMagnitudes] + options.epsilon * scale);
    to.diff2 = std::sqrt(ratio(sums[kErrorSquares], sums[kExpectedSquares] + options.epsilon * scale * scale));
    to.diff3_relative = total.maxima.large;
    to.diff3_absolute = total.maxima.small;
    to.max_relative = total.maxima.relative;
    to.max_absolute = total.maxima.absolute;
    if (total.finite > 0) to.mean_magnitude = sums[kMagnitudes] / static_cast<double>(total.finite) / scale;
    to.max_ulp = static_cast<int64_t>(std::min<uint64_t>(total.max_ulp, INT64_MAX));
    to.ulp_histogram[0] = to.elements;
    for (size_t k = 1; k < total.histogram.size(); ++k) {
      to.ulp_histogram[k] = total.histogram[k];
      to.ulp_histogram[0] -= total.histogram[k];
    }
    set_correlations(total, scale, to);
    return to;
  }

  // Sets the figures of both tensors as vectors. They are exact if no elements differ.
  void set_correlations(const Partial& total, double scale, mluOpOmpDifference_t& to) {
    const Sums& sums = total.sums;
    to.cosine = to.pcc = to.factor = 1;
    if (total.wrong == 0 && sums[kErrors] == 0) return;
    const double e_norm = std::sqrt(sums[kFoundSquares]), b_norm = std::sqrt(sums[kExpectedSquares]);
    to.cosine = correlation(sums[kProducts], e_norm, b_norm, total.wrong == 0);
    const Centered centered = centered_of(total, scale);
    // Underflow may leave a negative variance.
    const double e_deviation = std::sqrt(std::max(0.0, centered.found));
    const double b_deviation = std::sqrt(std::max(0.0, centered.expected));
    to.pcc = correlation(centered.product, e_deviation, b_deviation, total.wrong == 0);
    if (e_norm == 0 || b_norm == 0) {
      to.factor = e_norm == b_norm ? 1 : 0;
      to.factor_residual = e_norm == 0 ? 0 : 1;
      return;
    }
    // F - 1: its rounding errors are relative to the errors e - b. For a small F they would be too large.
    const double excess = sums[kErrorProducts] / sums[kExpectedSquares];
    to.factor = 1 + excess;
    double residual = sums[kErrorSquares] - excess * sums[kErrorProducts];
    if (std::abs(to.factor) < 0x1p-6) {
      to.factor = sums[kProducts] / sums[kExpectedSquares];
      residual = sums[kFoundSquares] - to.factor * sums[kProducts];
    }
    to.factor_residual = std::sqrt(ratio(std::max(0.0, residual), sums[kFoundSquares]));
  }

  static double correlation(double product, double e_norm, double b_norm, bool none_is_wrong) {
    if (e_norm == 0 || b_norm == 0) return e_norm == b_norm && none_is_wrong ? 1 : 0;
    return std::clamp(product / e_norm / b_norm, -1.0, 1.0);
  }

  // Sums about the means. A second pass computes them where they would be small differences of large sums.
  Centered centered_of(const Partial& total, double scale) {
    if (total.finite == 0) return {};
    const Sums& sums = total.sums;
    const auto count = static_cast<double>(total.finite);
    const double e_mean = sums[kFound] / count, b_mean = sums[kExpected] / count;
    const Centered centered{0, 0, sums[kFoundSquares] - sums[kFound] * e_mean,
                            sums[kExpectedSquares] - sums[kExpected] * b_mean,
                            sums[kProducts] - sums[kFound] * b_mean};
    constexpr double kCancels = 1e-4;
    const bool exact =
        centered.found >= kCancels * sums[kFoundSquares] && centered.expected >= kCancels * sums[kExpectedSquares];
    if (exact || scale != 1) return centered;
    launch(context_, "center", task_dim_, Evenly{blocks_}, center_kernel(),
           {operands_, e_mean, b_mean, memory_->centered});
    CompensatedSum found_deviation, expected_deviation, found, expected, product;
    for (int64_t block = 0; block < blocks_; ++block) {
      found_deviation.add(memory_->centered[block].found_deviation);
      expected_deviation.add(memory_->centered[block].expected_deviation);
      found.add(memory_->centered[block].found);
      expected.add(memory_->centered[block].expected);
      product.add(memory_->centered[block].product);
    }
    // Upper bound of the variance that rounding leaves for equal numbers.
    constexpr double kRounding = 0x1p-50;
    const auto variation = [&](double squares, double deviation, double mean) {
      const double variance = squares - deviation * deviation / count;
      return variance <= count * (kRounding * mean) * (kRounding * mean) ? 0 : variance;
    };
    return {0, 0, variation(found.value(), found_deviation.value(), e_mean),
            variation(expected.value(), expected_deviation.value(), b_mean),
            product.value() - found_deviation.value() * expected_deviation.value() / count};
  }

  std::vector<mluOpOmpWrongElement_t> worst_elements() const {
    std::vector<WorstEntry> entries;
    for (int task = 0; task < task_dim_; ++task) {
      const WorstEntry* const of_task = memory_->worst + task * worst_;
      entries.insert(entries.end(), of_task, of_task + memory_->worst_counts[task]);
    }
    std::sort(entries.begin(), entries.end(), is_worse);
    entries.resize(std::min(entries.size(), static_cast<size_t>(worst_)));
    std::vector<mluOpOmpWrongElement_t> elements;
    for (const auto& [absolute, index] : entries) {
      double e = 0, b = 0;
      read_numbers(operands_.found, index, 1, &e);
      read_numbers(operands_.expected, index, 1, &b);
      const bool finite = std::isfinite(e) && std::isfinite(b);
      const double relative = absolute == 0 ? 0
                              : !finite     ? HUGE_VAL
                              : e == b      ? ratio(absolute, std::abs(b) + operands_.options.epsilon)
                                            : relative_error(e, b, operands_.options.epsilon);
      elements.push_back({index, b, e, absolute, relative});
    }
    return elements;
  }

  Context& context_;
  const Operands& operands_;
  int64_t blocks_;
  int task_dim_;
  int64_t worst_;
  std::optional<MeasureMemory> memory_;
};

}  // namespace

Measured measure(Context& context, const Operands& operands) { return Measurement(context, operands).run(); }

}  // namespace mluop::compare
