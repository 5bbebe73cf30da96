// The accuracy metrics of accelerator teams, defined for NaN and infinity too.
#pragma once

#include <cmath>
#include <span>

namespace mluop::cases {

// diff1: mean relative error, sum |e - b| / sum |b|. diff2: root relative error, sqrt(sum (e - b)^2 / sum b^2).
struct Differences {
  double diff1;
  double diff2;
};

// The metrics of evaluated data against a baseline, in double. NaN and infinity must be at the same indices in
// both and count as equal. Both metrics are infinite if the indices or the sizes differ, or if only the baseline
// is zero.
inline Differences differences(std::span<const float> evaluated, std::span<const float> baseline) {
  const Differences failed{HUGE_VAL, HUGE_VAL};
  if (evaluated.size() != baseline.size()) return failed;
  double error = 0, size = 0, squared_error = 0, squared_size = 0;
  for (size_t i = 0; i < evaluated.size(); ++i) {
    const double e = evaluated[i], b = baseline[i];
    if (!std::isfinite(e) || !std::isfinite(b)) {
      if (!(e == b || (std::isnan(e) && std::isnan(b)))) return failed;
      continue;
    }
    error += std::abs(e - b);
    size += std::abs(b);
    squared_error += (e - b) * (e - b);
    squared_size += b * b;
  }
  const auto ratio = [](double numerator, double denominator) {
    return numerator == 0 ? 0 : denominator == 0 ? HUGE_VAL : numerator / denominator;
  };
  return {ratio(error, size), std::sqrt(ratio(squared_error, squared_size))};
}

}  // namespace mluop::cases
