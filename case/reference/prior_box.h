// Prior boxes by their definition: a serial loop in fp32, whose bits the library returns. The oracle of the tests
// and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct PriorBoxProblem {
  int64_t m, r;  // min sizes, ratios
  bool has_max, ratios_after_squares, clips;
  int64_t height, width;
  float im_height, im_width, step_h, step_w, offset;
  const float *min_sizes, *aspect_ratios, *variances, *max_sizes;
};

// output, var: [height, width, P, 4]
void prior_box(const PriorBoxProblem& problem, float* output, float* var);

}  // namespace mluop::reference
