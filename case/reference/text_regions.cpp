#include "reference/text_regions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <utility>
#include <vector>

namespace mluop::reference {
namespace {

using Pixel = std::pair<int64_t, int64_t>;  // y, x

// The mean of numbers in fp32; their number ends at 2^24.
struct Mean {
  float sum = 0, count = 0;

  void add(float number) {
    sum += number;
    count += 1;
  }
};

bool is_inside(const Pixel& pixel, int64_t H, int64_t W) {
  return pixel.first >= 0 && pixel.first < H && pixel.second >= 0 && pixel.second < W;
}

}  // namespace

void contour_expand(const ContourExpandProblem& problem, const uint8_t* kernel_mask, const int32_t* labels,
                    int32_t* output) {
  const auto [K, H, W, min_kernel_area] = problem;
  std::map<int32_t, int64_t> areas;
  for (int64_t i = 0; i < H * W; ++i) ++areas[labels[i]];
  std::queue<Pixel> queue;
  for (int64_t y = 0; y < H; ++y) {
    for (int64_t x = 0; x < W; ++x) {
      const int32_t label = labels[y * W + x];
      const bool is_kernel = label > 0 && areas[label] >= min_kernel_area;
      output[y * W + x] = is_kernel ? label : 0;
      if (is_kernel) queue.emplace(y, x);
    }
  }
  if (K < 2) return;
  for (; !queue.empty(); queue.pop()) {
    const auto [y, x] = queue.front();
    for (const Pixel& next : {Pixel{y - 1, x}, {y + 1, x}, {y, x - 1}, {y, x + 1}}) {
      const int64_t to = next.first * W + next.second;
      if (!is_inside(next, H, W) || kernel_mask[to] == 0 || output[to] > 0) continue;
      output[to] = output[y * W + x];
      queue.push(next);
    }
  }
}

void pixel_group(const PixelGroupProblem& problem, const PixelGroupInputs& inputs, float* region_score,
                 int32_t* region_pixels, int32_t* text_label) {
  const auto [H, W, C, R, threshold] = problem;
  const auto channels = static_cast<size_t>(C);
  std::map<int32_t, std::vector<Mean>> kernels;
  std::queue<Pixel> queue;
  for (int64_t i = 0; i < H * W; ++i) {
    text_label[i] = std::max(inputs.label[i], 0);
    if (text_label[i] == 0) continue;
    std::vector<Mean>& means = kernels[text_label[i]];
    means.resize(channels);
    for (size_t c = 0; c < channels; ++c) means[c].add(inputs.embedding[static_cast<size_t>(i) * channels + c]);
    if (inputs.contour[i] != 0 && C > 0) queue.emplace(i / W, i % W);
  }
  for (auto& [label, means] : kernels) {
    for (Mean& mean : means) mean.sum /= mean.count;
  }
  const auto is_near = [&, C = C, threshold = threshold](const std::vector<Mean>& means, int64_t pixel) {
    float distance = 0;
    for (int64_t c = 0; c < C; ++c) {
      const float difference = means[static_cast<size_t>(c)].sum - inputs.embedding[pixel * C + c];
      distance = static_cast<float>(double{distance} + std::pow(double{difference}, 2));
      if (distance >= threshold * threshold) return false;
    }
    return true;
  };
  for (; !queue.empty(); queue.pop()) {
    const auto [y, x] = queue.front();
    const int32_t label = text_label[y * W + x];
    for (const Pixel& next : {Pixel{y, x - 1}, {y, x + 1}, {y - 1, x}, {y + 1, x}}) {
      const int64_t to = next.first * W + next.second;
      if (!is_inside(next, H, W) || inputs.mask[to] == 0 || text_label[to] > 0) continue;
      if (!is_near(kernels[label], to)) continue;
      text_label[to] = label;
      queue.push(next);
    }
  }
  std::vector<Mean> scores(static_cast<size_t>(R));
  std::fill_n(region_pixels, R, 0);
  for (int64_t i = 0; i < H * W; ++i) {
    if (text_label[i] == 0) continue;
    scores[static_cast<size_t>(text_label[i])].add(inputs.score[i]);
    ++region_pixels[text_label[i]];
  }
  for (const Mean& mean : scores) *region_score++ = mean.count > 0 ? mean.sum / mean.count : 0;
}

}  // namespace mluop::reference
