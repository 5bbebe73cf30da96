#include "reference/assign_score_withk.h"

#include <cstddef>
#include <vector>

#include "reference/element.h"
#include "reference/partial_sums.h"

namespace mluop::reference {
namespace {

using Problem = AssignScoreProblem;

// Calls visit(row, point, center) for each neighbor: its row number, and the offsets of its matrices [M, O].
template <class Visit>
void for_each_neighbor(const Problem& p, const Visit& visit) {
  for (int64_t b = 0; b < p.B; ++b) {
    for (int64_t n = 0; n < p.N1; ++n) {
      const int64_t first = (b * p.N1 + n) * p.K;
      for (int64_t k = 0; k < p.K; ++k) {
        visit(first + k, b * p.N0 + p.knn_idx[first + k], b * p.N0 + p.knn_idx[first]);
      }
    }
  }
}

// The position of channel o of a row in [B, O, N1, K].
int64_t position(const Problem& p, int64_t row, int64_t o) {
  const int64_t rows = p.N1 * p.K;
  return (row / rows * p.O + o) * rows + row % rows;
}

}  // namespace

template <class T>
void assign_score_withk_forward(const Problem& p, const AssignScoreInputs<T>& inputs, T* output) {
  std::vector<float> sums(static_cast<size_t>(p.B * p.O * p.N1 * p.K));
  for_each_neighbor(p, [&](int64_t row, int64_t point, int64_t center) {
    for (int64_t o = 0; o < p.O; ++o) {
      float sum = 0;
      for (int64_t m = 0; m < p.M; ++m) {
        const float difference = to_f32(inputs.points[(point * p.M + m) * p.O + o]) -
                                 to_f32(inputs.centers[(center * p.M + m) * p.O + o]);
        sum += to_f32(inputs.scores[row * p.M + m]) * difference;
      }
      sums[static_cast<size_t>(position(p, row, o))] = sum;
    }
  });
  put_all(sums, output);
}

template <class T>
void assign_score_withk_backward(const Problem& p, const AssignScoreInputs<T>& inputs, const T* grad_output,
                                 T* grad_points, T* grad_centers, T* grad_scores) {
  std::vector<float> points(static_cast<size_t>(p.B * p.N0 * p.M * p.O)), centers(points.size()),
      scores(static_cast<size_t>(p.B * p.N1 * p.K * p.M));
  for_each_neighbor(p, [&](int64_t row, int64_t point, int64_t center) {
    for (int64_t m = 0; m < p.M; ++m) {
      const float score = to_f32(inputs.scores[row * p.M + m]);
      PartialSums sums;
      for (int64_t o = 0; o < p.O; ++o) {
        const auto at_point = static_cast<size_t>((point * p.M + m) * p.O + o);
        const auto at_center = static_cast<size_t>((center * p.M + m) * p.O + o);
        const float gradient = to_f32(grad_output[position(p, row, o)]);
        const float difference = to_f32(inputs.points[at_point]) - to_f32(inputs.centers[at_center]);
        points[at_point] += score * gradient;
        centers[at_center] -= score * gradient;
        sums.add(o, gradient * difference);
      }
      scores[static_cast<size_t>(row * p.M + m)] = sums.total();
    }
  });
  put_all(points, grad_points);
  put_all(centers, grad_centers);
  put_all(scores, grad_scores);
}

template void assign_score_withk_forward(const Problem&, const AssignScoreInputs<float>&, float*);
template void assign_score_withk_forward(const Problem&, const AssignScoreInputs<Half>&, Half*);
template void assign_score_withk_forward(const Problem&, const AssignScoreInputs<BFloat16>&, BFloat16*);
template void assign_score_withk_backward(const Problem&, const AssignScoreInputs<float>&, const float*, float*,
                                          float*, float*);
template void assign_score_withk_backward(const Problem&, const AssignScoreInputs<Half>&, const Half*, Half*,
                                          Half*, Half*);
template void assign_score_withk_backward(const Problem&, const AssignScoreInputs<BFloat16>&, const BFloat16*,
                                          BFloat16*, BFloat16*, BFloat16*);

}  // namespace mluop::reference
