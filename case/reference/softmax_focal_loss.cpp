#include "reference/softmax_focal_loss.h"

#include <cfloat>
#include <cmath>

#include "reference/element.h"

namespace mluop::reference {
namespace {

// The loss, or the factor of its gradient, of a row whose target has the softmax s. NaN remains NaN.
double factor(const SoftmaxFocalLossProblem& problem, double s) {
  if (std::isnan(s)) return s;
  const double p = s < 0 ? 0 : s > 1 ? 1 : s, log = std::log(p < FLT_MIN ? double{FLT_MIN} : p);
  const double alpha = problem.alpha, gamma = problem.gamma, q = 1 - p;
  if (!problem.is_backward) return -alpha * std::pow(q, gamma) * log;
  if (q == 0) return gamma == 0 ? -alpha : 0;
  return alpha * (gamma * std::pow(q, gamma - 1) * p * log - std::pow(q, gamma));
}

}  // namespace

template <class T>
void softmax_focal_loss(const SoftmaxFocalLossProblem& problem, const T* softmax, const T* weight, T* factors,
                        T* grad_input) {
  for (int64_t n = 0; n < problem.N; ++n) {
    const T* const row = softmax + n * problem.C;
    const int32_t target = problem.target[n];
    const double w = target < 0 || weight == nullptr ? 1 : to_f32(weight[target]);
    const auto b = static_cast<float>(target < 0 ? 0 : w * factor(problem, to_f32(row[target])));
    put(b, factors + n);
    for (int64_t c = 0; c < (problem.is_backward ? problem.C : 0); ++c) {
      const double delta = c == target ? 1 : 0;
      put(target < 0 ? 0 : b * (delta - to_f32(row[c])), grad_input + n * problem.C + c);
    }
  }
}

template void softmax_focal_loss(const SoftmaxFocalLossProblem&, const float*, const float*, float*, float*);
template void softmax_focal_loss(const SoftmaxFocalLossProblem&, const Half*, const Half*, Half*, Half*);
template void softmax_focal_loss(const SoftmaxFocalLossProblem&, const BFloat16*, const BFloat16*, BFloat16*,
                                 BFloat16*);

}  // namespace mluop::reference
