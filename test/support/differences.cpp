#include "support/differences.h"

#include <cmath>

namespace mluop::test {

Differences differences(std::span<const float> evaluated, std::span<const float> baseline) {
  const Differences failed{HUGE_VAL, HUGE_VAL};
  if (evaluated.size() != baseline.size()) return failed;
  double error = 0, size = 0, squared_error = 0, squared_size = 0;
  for (size_t i = 0; i < evaluated.size(); ++i) {
    const double e = evaluated[i];
    const double b = baseline[i];
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

}  // namespace mluop::test
