#include "reference/stack_group_points.h"

#include <cstddef>
#include <vector>

#include "reference/element.h"

namespace mluop::reference {

using Problem = StackGroupPointsProblem;

template <class T>
void stack_group_points_forward(const Problem& problem, const T* features, T* output) {
  const int32_t* indices = problem.indices;
  for (int64_t b = 0; b < problem.B; ++b) {
    for (int32_t m = 0; m < problem.indices_batch_cnt[b]; ++m) {
      for (int64_t c = 0; c < problem.C; ++c) {
        for (int64_t s = 0; s < problem.S; ++s) *output++ = features[indices[s] * problem.C + c];
      }
      indices += problem.S;
    }
    features += problem.features_batch_cnt[b] * problem.C;
  }
}

template <class T, class Output>
void stack_group_points_backward(const Problem& problem, const T* grad_output, Output* grad_features) {
  using Sum = SumOf<Output>;
  const int32_t* indices = problem.indices;
  for (int64_t b = 0; b < problem.B; ++b) {
    std::vector<Sum> sums(static_cast<size_t>(problem.features_batch_cnt[b] * problem.C));
    for (int32_t m = 0; m < problem.indices_batch_cnt[b]; ++m) {
      for (int64_t c = 0; c < problem.C; ++c) {
        for (int64_t s = 0; s < problem.S; ++s) {
          sums[static_cast<size_t>(indices[s] * problem.C + c)] += static_cast<Sum>(to_f32(*grad_output++));
        }
      }
      indices += problem.S;
    }
    for (const Sum sum : sums) put(sum, grad_features++);
  }
}

template void stack_group_points_forward(const Problem&, const uint16_t*, uint16_t*);
template void stack_group_points_forward(const Problem&, const uint32_t*, uint32_t*);
template void stack_group_points_backward(const Problem&, const float*, float*);
template void stack_group_points_backward(const Problem&, const float*, double*);
template void stack_group_points_backward(const Problem&, const Half*, Half*);
template void stack_group_points_backward(const Problem&, const BFloat16*, BFloat16*);
template void stack_group_points_backward(const Problem&, const Half*, double*);
template void stack_group_points_backward(const Problem&, const BFloat16*, double*);

}  // namespace mluop::reference
