#include "reference/focal_loss_sigmoid.h"

#include <cfloat>
#include <cmath>

#include "reference/element.h"

namespace mluop::reference {
namespace {

// NaN remains NaN.
double clamped_log(double x) { return std::log(x < FLT_MIN ? double{FLT_MIN} : x); }

double element(const FocalLossSigmoidProblem& problem, double x, bool is_target) {
  const auto sigmoid = static_cast<float>(1 / (1 + std::exp(-x)));
  const float p = sigmoid < FLT_MIN ? 0 : sigmoid;  // NaN remains NaN
  const double q = 1 - p, alpha = problem.alpha, gamma = problem.gamma;
  if (std::isnan(x)) return x;
  if (problem.is_derivative) {
    return is_target ? -alpha * std::pow(q, gamma) * (q - gamma * p * clamped_log(p))
                     : -(1 - alpha) * std::pow(p, gamma) * (gamma * q * clamped_log(q) - p);
  }
  return is_target ? -alpha * std::pow(q, gamma) * clamped_log(p)
                   : -(1 - alpha) * std::pow(p, gamma) * clamped_log(q);
}

}  // namespace

template <class T>
void focal_loss_sigmoid(const FocalLossSigmoidProblem& problem, const T* input, const T* weight, T* output) {
  for (int64_t n = 0; n < problem.N; ++n) {
    const int32_t target = problem.target[n];
    const bool has_class = 0 <= target && target < problem.C;
    const double w = weight != nullptr && has_class ? to_f32(weight[target]) : 1;
    for (int64_t c = 0; c < problem.C; ++c) {
      const int64_t i = n * problem.C + c;
      put(w * element(problem, to_f32(input[i]), c == target), output + i);
    }
  }
}

template void focal_loss_sigmoid(const FocalLossSigmoidProblem&, const float*, const float*, float*);
template void focal_loss_sigmoid(const FocalLossSigmoidProblem&, const Half*, const Half*, Half*);
template void focal_loss_sigmoid(const FocalLossSigmoidProblem&, const BFloat16*, const BFloat16*, BFloat16*);

}  // namespace mluop::reference
