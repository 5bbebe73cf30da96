#include "reference/prior_box.h"

#include <cmath>
#include <utility>
#include <vector>

namespace mluop::reference {
namespace {

// Widths and heights of the boxes of a pixel.
std::vector<std::pair<double, double>> sizes_of(const PriorBoxProblem& problem) {
  std::vector<std::pair<double, double>> sizes;
  for (int64_t i = 0; i < problem.m; ++i) {
    const double size = problem.min_sizes[i];
    const double largest = problem.has_max ? std::sqrt(size * static_cast<double>(problem.max_sizes[i])) : 0;
    if (problem.ratios_after_squares) sizes.emplace_back(size, size);
    if (problem.ratios_after_squares && problem.has_max) sizes.emplace_back(largest, largest);
    for (int64_t k = 0; k < problem.r; ++k) {
      const double ratio = problem.aspect_ratios[k];
      if (problem.ratios_after_squares && std::fabs(ratio - 1) < 1e-6) continue;
      sizes.emplace_back(size * std::sqrt(ratio), size / std::sqrt(ratio));
    }
    if (!problem.ratios_after_squares && problem.has_max) sizes.emplace_back(largest, largest);
  }
  return sizes;
}

float limited(float number, bool clips) {
  if (clips && number < 0) return 0;
  return clips && number > 1 ? 1 : number;
}

}  // namespace

void prior_box(const PriorBoxProblem& problem, float* output, float* var) {
  const auto sizes = sizes_of(problem);
  for (int64_t y = 0; y < problem.height; ++y) {
    for (int64_t x = 0; x < problem.width; ++x) {
      const float center_x = (static_cast<float>(x) + problem.offset) * problem.step_w;
      const float center_y = (static_cast<float>(y) + problem.offset) * problem.step_h;
      for (const auto& [width, height] : sizes) {
        const auto half_width = static_cast<float>(width / 2), half_height = static_cast<float>(height / 2);
        for (const float number :
             {(center_x - half_width) / problem.im_width, (center_y - half_height) / problem.im_height,
              (center_x + half_width) / problem.im_width, (center_y + half_height) / problem.im_height}) {
          *output++ = limited(number, problem.clips);
        }
        for (int k = 0; k < 4; ++k) *var++ = problem.variances[k];
      }
    }
  }
}

}  // namespace mluop::reference
