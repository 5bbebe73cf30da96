#include "reference/bev_pool.h"

#include <cstddef>
#include <vector>

#include "reference/element.h"
#include "reference/partial_sums.h"

namespace mluop::reference {
namespace {

using Problem = BevPoolProblem;

// Calls visit(element of depth, row of features, cell) for the points that are not skipped.
template <class Visit>
void for_each_point(const Problem& problem, const Visit& visit) {
  for (int64_t p = 0; p < problem.P; ++p) {
    if (problem.ranks_bev[p] == -1) continue;
    visit(int64_t{problem.ranks_depth[p]}, int64_t{problem.ranks_feat[p]}, int64_t{problem.ranks_bev[p]});
  }
}

}  // namespace

template <class T>
void bev_pool_forward(const Problem& problem, const T* depth, const T* features, T* output) {
  const int64_t C = problem.C;
  std::vector<float> sums(static_cast<size_t>(problem.M * C));
  for_each_point(problem, [&](int64_t element, int64_t row, int64_t cell) {
    for (int64_t c = 0; c < C; ++c) {
      sums[static_cast<size_t>(cell * C + c)] += to_f32(depth[element]) * to_f32(features[row * C + c]);
    }
  });
  put_all(sums, output);
}

template <class T>
void bev_pool_backward(const Problem& problem, const T* grad_output, const T* depth, const T* features,
                       T* grad_depth, T* grad_features) {
  const int64_t C = problem.C;
  std::vector<float> of_depth(static_cast<size_t>(problem.D)), of_features(static_cast<size_t>(problem.F * C));
  for_each_point(problem, [&](int64_t element, int64_t row, int64_t cell) {
    PartialSums product;
    for (int64_t c = 0; c < C; ++c) {
      const float gradient = to_f32(grad_output[cell * C + c]);
      of_features[static_cast<size_t>(row * C + c)] += to_f32(depth[element]) * gradient;
      product.add(c, gradient * to_f32(features[row * C + c]));
    }
    of_depth[static_cast<size_t>(element)] += product.total();
  });
  put_all(of_depth, grad_depth);
  put_all(of_features, grad_features);
}

template void bev_pool_forward(const Problem&, const float*, const float*, float*);
template void bev_pool_forward(const Problem&, const Half*, const Half*, Half*);
template void bev_pool_forward(const Problem&, const BFloat16*, const BFloat16*, BFloat16*);
template void bev_pool_backward(const Problem&, const float*, const float*, const float*, float*, float*);
template void bev_pool_backward(const Problem&, const Half*, const Half*, const Half*, Half*, Half*);
template void bev_pool_backward(const Problem&, const BFloat16*, const BFloat16*, const BFloat16*, BFloat16*,
                                BFloat16*);

}  // namespace mluop::reference
