#include "case/metrics.h"

#include <algorithm>
#include <cmath>

#include "case/comparison.h"
#include "case/values.h"

namespace mluop::cases {
namespace {

constexpr double kUpstreamEpsilon = 1e-9;

// The figures of MLU-OPS; an element whose bits differ is wrong.
struct Statistics {
  Statistics(const Results& results, Verdict verdict) {
    mluOpOmpCompareOptions_t options = Comparison::bits_of(results);
    options.epsilon = verdict == Verdict::kUpstream ? kUpstreamEpsilon : 0;
    options.worst = 0;
    figures = Comparison(results, {static_cast<int64_t>(results.count)}, options).difference();
  }
  bool specials() const {
    return figures.found_nan + figures.expected_nan + figures.found_inf + figures.expected_inf > 0;
  }
  bool special_mismatch() const { return figures.special_mismatches > 0; }
  bool same_bits() const { return figures.differing == 0; }

  mluOpOmpDifference_t figures;
};

double ratio(double numerator, double denominator) { return numerator == 0 ? 0 : numerator / denominator; }

constexpr int kDigits = 3;

Judgment judge_shares(const Statistics& s, const Criterion& criterion, Verdict verdict) {
  constexpr int64_t kMinDiffering = 100;
  const int64_t differing = s.figures.above + s.figures.below;
  const double above = ratio(static_cast<double>(s.figures.above), static_cast<double>(differing));
  const double below = ratio(static_cast<double>(s.figures.below), static_cast<double>(differing));
  const std::string value =
      text_of(above, kDigits) + '/' + text_of(below, kDigits) + " of " + std::to_string(differing);
  const bool passed = verdict == Verdict::kStrict
                          ? !s.special_mismatch() && std::max(above, below) <= criterion.threshold
                          : differing < kMinDiffering || (above > 0 && below > 0);
  return {criterion, value, passed};
}

Judgment judge_one(const Statistics& s, const Criterion& criterion, Verdict verdict) {
  double value = 0;
  switch (criterion.metric) {
    case Metric::kDiff1: value = s.figures.diff1; break;
    case Metric::kDiff2: value = s.figures.diff2; break;
    case Metric::kDiff3: value = std::max(s.figures.diff3_relative, s.figures.diff3_absolute); break;
    case Metric::kDiff3_2: value = s.figures.max_absolute; break;
    case Metric::kDiff4: return judge_shares(s, criterion, verdict);
    case Metric::kBits: return {criterion, s.same_bits() ? "equal" : "differ", s.same_bits()};
  }
  if (s.special_mismatch()) return {criterion, "NaN or infinity", false};
  return {criterion, text_of(value, kDigits), value <= criterion.threshold};
}

// The real parts (part 0) or the imaginary parts (part 1) of complex elements.
Bytes part_of(const std::byte* elements, const Results& results, size_t part) {
  const mluOpDataType_t dtype = part_type(results.dtype);
  Bytes bytes(results.count * element_size(dtype));
  for (size_t i = 0; i < results.count; ++i) {
    put_bits(bytes.data(), dtype, i, bits_at(elements, results.dtype, 2 * i + part));
  }
  return bytes;
}

std::vector<Judgment> judge_complex(const Results& results, const std::vector<Criterion>& criteria,
                                    Verdict verdict) {
  std::vector<Judgment> judgments;
  for (size_t part = 0; part < 2; ++part) {
    const Bytes found = part_of(results.found, results, part), expected = part_of(results.expected, results, part);
    std::vector<Criterion> of_part = criteria;
    for (Criterion& criterion : of_part) {
      if (part == 1) criterion.threshold = criterion.imaginary_threshold.value_or(criterion.threshold);
    }
    const Results parts{part_type(results.dtype), results.count, found.data(), expected.data(),
                        results.nan_payloads};
    std::vector<Judgment> judged = judge(parts, of_part, verdict);
    if (part == 0) {
      judgments = std::move(judged);
      continue;
    }
    for (size_t i = 0; i < judged.size(); ++i) {
      judgments[i].value += ", " + judged[i].value;
      judgments[i].passed = judgments[i].passed && judged[i].passed;
    }
  }
  return judgments;
}

}  // namespace

size_t Results::numbers() const { return count * parts_of(dtype); }
double Results::e(size_t i) const { return number_at(found, dtype, i); }
double Results::b(size_t i) const { return number_at(expected, dtype, i); }

bool Results::same_bits(size_t i) const {
  if (bits_at(found, dtype, i) == bits_at(expected, dtype, i)) return true;
  return !nan_payloads && is_floating(dtype) && std::isnan(e(i)) && std::isnan(b(i));
}

Results Results::as_real() const { return {part_type(dtype), numbers(), found, expected, nan_payloads}; }

std::vector<Judgment> judge(const Results& results, const std::vector<Criterion>& criteria, Verdict verdict) {
  if (is_complex(results.dtype)) return judge_complex(results, criteria, verdict);
  const Statistics s(results, verdict);
  const bool any_exact = std::any_of(criteria.begin(), criteria.end(),
                                     [](const Criterion& criterion) { return criterion.threshold == 0; });
  std::vector<Judgment> judgments;
  for (const Criterion& criterion : criteria) {
    if (verdict == Verdict::kUpstream && s.specials() && !any_exact) {
      judgments.push_back(
          {criterion, s.special_mismatch() ? "NaN or infinity" : "equal NaN and infinity", !s.special_mismatch()});
    } else {
      judgments.push_back(judge_one(s, criterion, verdict));
    }
  }
  // Adds the metrics of integers in strict verdicts, unless the file states an equivalent one.
  if (verdict == Verdict::kStrict && !is_floating(results.dtype) && !any_exact) {
    judgments.push_back(judge_one(s, {Metric::kBits, 0}, verdict));
  }
  return judgments;
}

}  // namespace mluop::cases
