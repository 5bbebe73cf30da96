#include "case/metrics.h"

#include <algorithm>
#include <cmath>

#include "case/values.h"

namespace mluop::cases {
namespace {

// Sums and maxima over the compared elements. The sums do not overflow for doubles either.
struct Statistics {
  long double error = 0, size = 0, squared_error = 0, squared_size = 0;
  long double max_relative = 0;  // diff3: where the baseline is above the threshold
  long double max_small = 0;     // diff3: absolute, elsewhere
  long double max_absolute = 0;  // diff3_2
  int64_t above = 0, below = 0;  // diff4: e > b, e < b
  bool specials = false;         // any NaN or infinity
  bool special_mismatch = false;
  bool same_bits = true;
};

long double ratio(long double numerator, long double denominator) {
  if (numerator == 0) return 0;
  return denominator == 0 ? HUGE_VALL : numerator / denominator;
}

// The magnitude from which diff3 takes the relative error.
double relative_from(mluOpDataType_t dtype) { return dtype == MLUOP_DTYPE_HALF ? 1e-4 : 1e-6; }

constexpr double kUpstreamEpsilon = 1e-9;

Statistics statistics_of(const Results& results, double epsilon) {
  Statistics s;
  const double threshold = relative_from(results.dtype);
  for (size_t i = 0; i < results.count; ++i) {
    if (!results.same_bits(i)) s.same_bits = false;
    const double e = results.e(i), b = results.b(i);
    if (!is_finite_pair(e, b)) {
      s.specials = true;
      s.special_mismatch = s.special_mismatch || !is_same_special(e, b);
      continue;
    }
    const long double error = std::abs(static_cast<long double>(e) - b), size = std::abs(b);
    s.error += error;
    s.size += size;
    s.squared_error += error * error;
    s.squared_size += size * size;
    s.max_absolute = std::max(s.max_absolute, error);
    if (size > threshold) {
      s.max_relative = std::max(s.max_relative, ratio(error, size + epsilon));
    } else {
      s.max_small = std::max(s.max_small, error);
    }
    if (e > b) ++s.above;
    if (e < b) ++s.below;
  }
  return s;
}

constexpr int kDigits = 3;

Judgment judge_shares(const Statistics& s, const Criterion& criterion, Verdict verdict) {
  constexpr int64_t kMinDiffering = 100;
  const int64_t differing = s.above + s.below;
  const long double above = ratio(static_cast<long double>(s.above), static_cast<long double>(differing));
  const long double below = ratio(static_cast<long double>(s.below), static_cast<long double>(differing));
  const std::string value =
      text_of(above, kDigits) + '/' + text_of(below, kDigits) + " of " + std::to_string(differing);
  const bool passed = verdict == Verdict::kStrict
                          ? !s.special_mismatch && std::max(above, below) <= criterion.threshold
                          : differing < kMinDiffering || (above > 0 && below > 0);
  return {criterion, value, passed};
}

Judgment judge_one(const Statistics& s, const Criterion& criterion, Verdict verdict) {
  const double epsilon = verdict == Verdict::kUpstream ? kUpstreamEpsilon : 0;
  long double value = 0;
  switch (criterion.metric) {
    case Metric::kDiff1: value = ratio(s.error, s.size + epsilon); break;
    case Metric::kDiff2: value = std::sqrt(ratio(s.squared_error, s.squared_size + epsilon)); break;
    case Metric::kDiff3: value = std::max(s.max_relative, s.max_small); break;
    case Metric::kDiff3_2: value = s.max_absolute; break;
    case Metric::kDiff4: return judge_shares(s, criterion, verdict);
    case Metric::kBits: return {criterion, s.same_bits ? "equal" : "differ", s.same_bits};
  }
  if (s.special_mismatch) return {criterion, "NaN or infinity", false};
  return {criterion, text_of(value, kDigits), value <= criterion.threshold};
}

}  // namespace

double Results::e(size_t i) const { return number_at(found, dtype, i); }
double Results::b(size_t i) const { return number_at(expected, dtype, i); }

bool Results::same_bits(size_t i) const {
  if (bits_at(found, dtype, i) == bits_at(expected, dtype, i)) return true;
  return !nan_payloads && is_floating(dtype) && std::isnan(e(i)) && std::isnan(b(i));
}

bool is_finite_pair(double e, double b) { return std::isfinite(e) && std::isfinite(b); }
bool is_same_special(double e, double b) { return e == b || (std::isnan(e) && std::isnan(b)); }

std::vector<Judgment> judge(const Results& results, const std::vector<Criterion>& criteria, Verdict verdict) {
  const Statistics s = statistics_of(results, verdict == Verdict::kUpstream ? kUpstreamEpsilon : 0);
  const bool any_exact = std::any_of(criteria.begin(), criteria.end(),
                                     [](const Criterion& criterion) { return criterion.threshold == 0; });
  std::vector<Judgment> judgments;
  for (const Criterion& criterion : criteria) {
    if (verdict == Verdict::kUpstream && s.specials && !any_exact) {
      judgments.push_back(
          {criterion, s.special_mismatch ? "NaN or infinity" : "equal NaN and infinity", !s.special_mismatch});
    } else {
      judgments.push_back(judge_one(s, criterion, verdict));
    }
  }
  // The metrics of integers in strict verdicts, if the file states none that requires the same.
  if (verdict == Verdict::kStrict && !is_floating(results.dtype) && !any_exact) {
    judgments.push_back(judge_one(s, {Metric::kBits, 0}, verdict));
  }
  return judgments;
}

}  // namespace mluop::cases
