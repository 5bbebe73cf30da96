// Multi-scale deformable attention, native algorithm: samples, tile in NRAM and range kernels.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/ms_deform_attn/ms_deform_attn.h"
#include "primitives/simd/partial_sums.h"
#include "team/launch.h"

namespace mluop::ms_deform_attn::native {

// Work items: queries of all batches. Writes their outputs.
RangeKernel<ForwardArgs> attend_kernel();
// Work items: queries of all batches. Writes the gradients of their locations and weights, which are partial sums
// of channels (primitives/simd/partial_sums.h).
RangeKernel<BackwardArgs> differentiate_kernel();
// Work items: (batch, head, part of the levels, part of the channels), channels fastest. Adds to the gradients of
// their keys.
struct ScatterArgs : BackwardArgs {
  int64_t level_parts() const { return ceil_div(L, part_levels); }
  int64_t channel_parts() const { return ceil_div(D, part_channels); }
  int64_t items() const { return B * M * level_parts() * channel_parts(); }

  int64_t part_levels, part_channels;  // of a part; the last may have fewer
};
RangeKernel<ScatterArgs> scatter_kernel();

// A sample between four pixels: upper left, upper right, lower left, lower right.
struct Sample {
  int64_t number;   // index among the samples of its query and head
  int64_t keys[4];  // -1: the pixel is outside the image
  float of_top, of_bottom, of_left, of_right;
  float weights[4];
  float height, width;
};

// Avoids std::floor(), which is a function call before SSE4.
inline int64_t floor_of(float x) {
  const auto truncated = static_cast<int64_t>(x);
  return truncated - (x < static_cast<float>(truncated) ? 1 : 0);
}

// Writes the samples of a query and head on these levels that lie next to pixels, in order. Returns their number.
inline int64_t find_samples(const Inputs& args, int64_t place, Range levels, Sample* samples) {
  int64_t count = 0;
  const float* location = args.locations + (place * args.L + levels.begin) * args.P * 2;
  for (int64_t l = levels.begin; l < levels.end; ++l) {
    const int64_t height = args.shapes[2 * l], width = args.shapes[2 * l + 1], start = args.starts[l];
    const auto h = static_cast<float>(height), w = static_cast<float>(width);
    for (int64_t p = 0; p < args.P; ++p, location += 2) {
      const float x = location[0] * w - 0.5F, y = location[1] * h - 0.5F;
      // False for NaN too.
      if (!(y > -1 && x > -1 && y < h && x < w)) continue;
      const int64_t row = floor_of(y), column = floor_of(x);
      Sample& sample = samples[count++];
      sample.number = l * args.P + p;
      sample.of_bottom = y - static_cast<float>(row);
      sample.of_right = x - static_cast<float>(column);
      sample.of_top = 1 - sample.of_bottom;
      sample.of_left = 1 - sample.of_right;
      sample.height = h;
      sample.width = w;
      for (int64_t i = 0; i < 4; ++i) {
        const int64_t at_y = row + i / 2, at_x = column + i % 2;
        const bool is_inside = at_y >= 0 && at_y < height && at_x >= 0 && at_x < width;
        sample.keys[i] = is_inside ? start + at_y * width + at_x : -1;
        sample.weights[i] =
            (i < 2 ? sample.of_top : sample.of_bottom) * (i % 2 == 0 ? sample.of_left : sample.of_right);
      }
    }
  }
  return count;
}

struct SampleTile {
  SampleTile(Arena& nram, const Sizes& sizes)
      : samples{nram.take<Sample>("samples", {sizes.samples()}),
                nram.take<Sample>("next samples", {sizes.samples()})},
        zeros(nram.take<float>("zeros", {sizes.D})) {}

  Sample* samples[2];  // [L * P], samples of two queries
  float* zeros;        // [D]: a pixel outside the image
};

// Three sums over channels for each sample: of the gradient times its value and its derivatives along y and x.
struct DifferentiateTile : SampleTile {
  DifferentiateTile(Arena& nram, const Sizes& sizes)
      : SampleTile(nram, sizes),
        partial_sums(
            nram.take<float>("partial sums", {round_up(3 * sizes.samples(), kPartialSums), kPartialSums})),
        totals(nram.take<float>("totals", {round_up(3 * sizes.samples(), kPartialSums)})) {}

  float* partial_sums;  // [L * P, 3, kPartialSums], rows padded to a multiple of kPartialSums
  float* totals;        // [L * P, 3]
};

}  // namespace mluop::ms_deform_attn::native
