#include "reference/adamw.h"

#include <cmath>

namespace mluop::reference {

template <class Grad>
void adamw(const AdamWProblem& problem, const Grad* grad, float* param, float* momentum, float* velocity,
           BFloat16* paramh) {
  const float lr = problem.lr, decay = lr * problem.weight_decay;
  for (int64_t i = 0; i < problem.count; ++i) {
    const float g = to_f32(grad[i]) / problem.scale;
    const float m = momentum[i] + (g - momentum[i]) * (1 - problem.beta1);
    const float v = velocity[i] + (g * g - velocity[i]) * (1 - problem.beta2);
    const float step = lr * m / problem.bias1 / (std::sqrt(v / problem.bias2) + problem.epsilon);
    float p = param[i] - step - decay * param[i];
    if (problem.removes_nan) p = param[i] * (1 - decay) - step;
    if (problem.removes_nan && !std::isfinite(m) && !std::isfinite(v) && !std::isfinite(p)) continue;
    param[i] = p;
    momentum[i] = m;
    velocity[i] = v;
    if (paramh != nullptr) put(double{p}, paramh + i);
  }
}

template void adamw(const AdamWProblem&, const float*, float*, float*, float*, BFloat16*);
template void adamw(const AdamWProblem&, const BFloat16*, float*, float*, float*, BFloat16*);

}  // namespace mluop::reference
