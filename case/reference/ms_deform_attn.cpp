#include "reference/ms_deform_attn.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "reference/partial_sums.h"

namespace mluop::reference {
namespace {

struct Pixel {
  int64_t row;  // row (b, key, m) of value; -1 outside the image
  float weight;
};

// A sample that is used.
struct Sample {
  int64_t place, number;  // index of (b, q, m), and of (b, q, m, l, p)
  float below, right;     // distances from the upper left pixel
  float height, width;
  std::array<Pixel, 4> pixels;  // upper left, upper right, lower left, lower right
};

template <class Visit>
void for_each_sample(const MsDeformAttnProblem& a, const Visit& visit) {
  const int64_t places = a.B * a.Q * a.M, samples = a.L * a.P;
  for (int64_t i = 0; i < places * samples; ++i) {
    const int64_t place = i / samples, level = i % samples / a.P, m = place % a.M, b = place / a.M / a.Q;
    const int32_t* shape = a.shapes + 2 * level;
    const auto height = static_cast<float>(shape[0]), width = static_cast<float>(shape[1]);
    const float x = a.locations[2 * i] * width - 0.5F, y = a.locations[2 * i + 1] * height - 0.5F;
    const bool is_used = x > -1 && y > -1 && x < width && y < height;
    if (!is_used) continue;
    const float top = std::floor(y), left = std::floor(x), below = y - top, right = x - left;
    Sample sample{place, i, below, right, height, width, {}};
    const float of_y[] = {1 - below, below}, of_x[] = {1 - right, right};
    for (const int j : {0, 1, 2, 3}) {
      const int64_t row = static_cast<int64_t>(top) + j / 2, column = static_cast<int64_t>(left) + j % 2;
      const bool is_inside = row >= 0 && row < shape[0] && column >= 0 && column < shape[1];
      const int64_t key = a.starts[level] + row * shape[1] + column;
      sample.pixels[static_cast<size_t>(j)] = {is_inside ? (b * a.K + key) * a.M + m : -1,
                                               of_y[j / 2] * of_x[j % 2]};
    }
    visit(sample);
  }
}

std::array<float, 4> values_of(const MsDeformAttnProblem& a, const Sample& sample, int64_t d) {
  std::array<float, 4> values{};
  for (size_t j = 0; j < 4; ++j) {
    const int64_t row = sample.pixels[j].row;
    if (row >= 0) values[j] = a.value[row * a.D + d];
  }
  return values;
}

float interpolated(const Sample& sample, const std::array<float, 4>& v) {
  const auto& p = sample.pixels;
  return p[0].weight * v[0] + p[1].weight * v[1] + p[2].weight * v[2] + p[3].weight * v[3];
}

}  // namespace

void ms_deform_attn(const MsDeformAttnProblem& a, float* output) {
  std::fill_n(output, a.B * a.Q * a.M * a.D, 0.0F);
  for_each_sample(a, [&](const Sample& sample) {
    for (int64_t d = 0; d < a.D; ++d) {
      output[sample.place * a.D + d] += a.weights[sample.number] * interpolated(sample, values_of(a, sample, d));
    }
  });
}

void ms_deform_attn_backward(const MsDeformAttnProblem& a, const float* grad_output, float* grad_value,
                             float* grad_locations, float* grad_weights) {
  const int64_t samples = a.B * a.Q * a.M * a.L * a.P;
  std::fill_n(grad_value, a.B * a.K * a.M * a.D, 0.0F);
  std::fill_n(grad_locations, 2 * samples, 0.0F);
  std::fill_n(grad_weights, samples, 0.0F);
  for_each_sample(a, [&](const Sample& sample) {
    const float* grad = grad_output + sample.place * a.D;
    const float weight = a.weights[sample.number], above = 1 - sample.below, left = 1 - sample.right;
    PartialSums of_value, along_y, along_x;
    for (int64_t d = 0; d < a.D; ++d) {
      const std::array<float, 4> v = values_of(a, sample, d);
      of_value.add(d, grad[d] * interpolated(sample, v));
      along_y.add(d, grad[d] * (left * (v[2] - v[0]) + sample.right * (v[3] - v[1])));
      along_x.add(d, grad[d] * (above * (v[1] - v[0]) + sample.below * (v[3] - v[2])));
      for (const Pixel& pixel : sample.pixels) {
        if (pixel.row >= 0) grad_value[pixel.row * a.D + d] += pixel.weight * (weight * grad[d]);
      }
    }
    grad_weights[sample.number] = of_value.total();
    grad_locations[2 * sample.number] = sample.width * (weight * along_x.total());
    grad_locations[2 * sample.number + 1] = sample.height * (weight * along_y.total());
  });
}

}  // namespace mluop::reference
