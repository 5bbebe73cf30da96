#include "reference/bbox_overlaps.h"

#include <cmath>

namespace mluop::reference {
namespace {

// NaN if either number is NaN; b if both are equal.
float larger(float a, float b) { return std::isnan(a) || a > b ? a : b; }
float smaller(float a, float b) { return std::isnan(a) || a < b ? a : b; }

float area(const float* box, float offset) { return (box[2] - box[0] + offset) * (box[3] - box[1] + offset); }

// The length along x (0) or y (1) that two boxes share.
float shared_side(const float* a, const float* b, int axis, float offset) {
  return larger(smaller(a[axis + 2], b[axis + 2]) - larger(a[axis], b[axis]) + offset, 0);
}

float overlap(const BboxOverlapsProblem& problem, const float* a, const float* b) {
  const float offset = problem.offset, area_a = area(a, offset);
  const float shared = shared_side(a, b, 0, offset) * shared_side(a, b, 1, offset);
  const float base = problem.is_over_first ? area_a : area_a + area(b, offset) - shared;
  return shared / larger(base, offset);
}

}  // namespace

void bbox_overlaps(const BboxOverlapsProblem& problem, const float* bbox1, const float* bbox2, float* ious) {
  for (int64_t n = 0; n < problem.N; ++n) {
    const int64_t begin = problem.is_aligned ? n : 0, end = problem.is_aligned ? n + 1 : problem.M;
    for (int64_t m = begin; m < end; ++m) *ious++ = overlap(problem, bbox1 + n * 4, bbox2 + m * 4);
  }
}

}  // namespace mluop::reference
