// Contour expansion and pixel grouping by their definitions: serial loops with a queue, in the arithmetic of
// mmcv's CPU code, whose bits the library returns. The oracles of the tests and the baselines of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct ContourExpandProblem {
  int64_t K, H, W;
  int64_t min_kernel_area;
};

// kernel_mask [K, H, W]; labels and output [H, W].
void contour_expand(const ContourExpandProblem& problem, const uint8_t* kernel_mask, const int32_t* labels,
                    int32_t* output);

struct PixelGroupProblem {
  int64_t H, W, C, R;
  float distance_threshold;
};

struct PixelGroupInputs {
  const float* score;      // [H, W]
  const uint8_t* mask;     // [H, W]
  const float* embedding;  // [H, W, C]
  const int32_t* label;    // [H, W]
  const uint8_t* contour;  // [H, W]
};

// region_score, region_pixels [R]; text_label [H, W].
void pixel_group(const PixelGroupProblem& problem, const PixelGroupInputs& inputs, float* region_score,
                 int32_t* region_pixels, int32_t* text_label);

}  // namespace mluop::reference
