#include "reference/quadrilaterals.h"

#include <algorithm>
#include <vector>

#include "reference/polygons.h"
#include "reference/suppression.h"

namespace mluop::reference {
namespace {

std::vector<Region> quads_of(const float* numbers, int64_t count, int64_t columns) {
  std::vector<Region> quads;
  for (int64_t i = 0; i < count; ++i) {
    const float* const quad = numbers + i * columns;
    quads.push_back(region_of(points_of(quad, 4), are_finite(quad, 8)));
  }
  return quads;
}

}  // namespace

void box_iou_quadri(const BoxIouRotatedProblem& problem, const float* bbox1, const float* bbox2, float* ious) {
  const std::vector<Region> first = quads_of(bbox1, problem.N, 8), second = quads_of(bbox2, problem.M, 8);
  for (size_t n = 0; n < first.size(); ++n) {
    const size_t begin = problem.is_aligned ? n : 0, end = problem.is_aligned ? n + 1 : second.size();
    for (size_t m = begin; m < end; ++m) *ious++ = overlap(first[n], second[m], problem.is_over_first);
  }
}

void nms_quadri(const NmsRotatedProblem& problem, const float* boxes, const float* scores, int32_t* output,
                int32_t* result_num) {
  const std::vector<Region> all = quads_of(boxes, problem.N, problem.columns);
  suppress(problem.N, scores, output, result_num, [&](size_t kept, size_t other) {
    return overlap(all[kept], all[other], false) > problem.iou_threshold;
  });
}

void poly_nms(int64_t N, float iou_threshold, const float* boxes, int32_t* output, int32_t* output_size) {
  std::vector<float> scores;
  for (int64_t i = 0; i < N; ++i) scores.push_back(boxes[i * 9 + 8]);
  nms_quadri({N, 9, iou_threshold}, boxes, scores.data(), output, output_size);
  std::sort(output, output + *output_size);
}

}  // namespace mluop::reference
