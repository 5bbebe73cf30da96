#include "reference/indice_maxpool.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "reference/element.h"

namespace mluop::reference {
namespace {

using Problem = IndiceMaxpoolProblem;

// Calls visit(input, output) for the pairs without a negative index.
template <class Visit>
void for_each_pair(const Problem& p, const Visit& visit) {
  for (int64_t k = 0; k < p.K; ++k) {
    const int32_t* inputs = p.indice_pairs + 2 * k * p.L;
    for (int64_t l = 0; l < p.indice_num[k]; ++l) {
      if (inputs[l] >= 0 && inputs[p.L + l] >= 0) visit(inputs[l], inputs[p.L + l]);
    }
  }
}

}  // namespace

template <class T>
void indice_maxpool_forward(const Problem& p, const T* features, T* features_out) {
  std::fill_n(features_out, p.M * p.C, T{});
  for_each_pair(p, [&](int64_t input, int64_t output) {
    for (int64_t c = 0; c < p.C; ++c) {
      const T feature = features[input * p.C + c];
      T& max = features_out[output * p.C + c];
      if (to_f32(feature) > to_f32(max)) max = feature;
    }
  });
}

template <class T, class Output>
void indice_maxpool_backward(const Problem& p, const T* features, const T* features_out, const T* output_grad,
                             Output* input_grad) {
  using Sum = SumOf<Output>;
  std::vector<Sum> sums(static_cast<size_t>(p.N * p.C));
  for_each_pair(p, [&](int64_t input, int64_t output) {
    for (int64_t c = 0; c < p.C; ++c) {
      if (to_f32(features[input * p.C + c]) != to_f32(features_out[output * p.C + c])) continue;
      sums[static_cast<size_t>(input * p.C + c)] += static_cast<Sum>(to_f32(output_grad[output * p.C + c]));
    }
  });
  put_all(sums, input_grad);
}

template void indice_maxpool_forward(const Problem&, const float*, float*);
template void indice_maxpool_forward(const Problem&, const Half*, Half*);
template void indice_maxpool_forward(const Problem&, const BFloat16*, BFloat16*);
template void indice_maxpool_backward(const Problem&, const float*, const float*, const float*, float*);
template void indice_maxpool_backward(const Problem&, const float*, const float*, const float*, double*);
template void indice_maxpool_backward(const Problem&, const Half*, const Half*, const Half*, Half*);
template void indice_maxpool_backward(const Problem&, const BFloat16*, const BFloat16*, const BFloat16*,
                                      BFloat16*);
template void indice_maxpool_backward(const Problem&, const Half*, const Half*, const Half*, double*);
template void indice_maxpool_backward(const Problem&, const BFloat16*, const BFloat16*, const BFloat16*, double*);

}  // namespace mluop::reference
