#include "reference/elementwise.h"

#include <math.h>  // lgammal_r

#include <cmath>
#include <limits>

namespace mluop::reference {

double complex_magnitude(double real, double imaginary) {
  if (std::isinf(real) || std::isinf(imaginary)) return std::numeric_limits<double>::infinity();
  return std::sqrt(real * real + imaginary * imaginary);
}

double logarithm(int base, double x) {
  if (base == 1) return std::log2(x);
  return base == 2 ? std::log10(x) : std::log(x);
}

double sqrt_gradient(double y, double diff_y) { return diff_y * 0.5 / y; }

double log_of_gamma(double x) {
  // C libraries differ at the poles that are negative.
  if (x <= 0 && x == std::floor(x)) return std::numeric_limits<double>::infinity();
  int sign;  // std::lgamma() would write a global variable
  return static_cast<double>(lgammal_r(static_cast<long double>(x), &sign));
}

int64_t broadcast_index(const std::vector<int64_t>& from, const std::vector<int64_t>& to, int64_t i) {
  int64_t index = 0, stride = 1;
  for (size_t dim = to.size(); dim > 0; --dim) {
    const int64_t at = i % to[dim - 1];
    i /= to[dim - 1];
    if (from[dim - 1] != 1) index += at * stride;
    stride *= from[dim - 1];
  }
  return index;
}

double power_of_space(float start, float end, int64_t steps, float base, int64_t i) {
  if (steps == 1) return std::pow(double{base}, double{start});
  const float step = (end - start) / static_cast<float>(steps - 1);
  const float exponent =
      i < steps / 2 ? start + step * static_cast<float>(i) : end - step * static_cast<float>(steps - 1 - i);
  return std::pow(double{base}, double{exponent});
}

}  // namespace mluop::reference
