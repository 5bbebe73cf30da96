// Deformable convolution: the samples of some output pixels in NRAM.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/dcn/dcn.h"
#include "primitives/gemm/matmul.h"

namespace mluop::dcn {

// The samples of some deformable groups and some offsets of the filter.
struct SampleBox {
  int64_t offsets() const { return k_end - k; }
  int64_t count() const { return (d_end - d) * offsets(); }
  // The index of a sample in the box.
  int64_t index(int64_t group, int64_t offset) const { return (group - d) * offsets() + offset - k; }

  int64_t d, d_end;  // deformable groups
  int64_t k, k_end;  // offsets of the filter
};

// The position of a sample: four pixels of the input, and the location between them.
struct Sample {
  // Top left, top right, bottom left, bottom right.
  struct Corners {
    float of[4];
  };
  Corners weights() const {
    const float top = 1 - y, left = 1 - x;
    return {{top * left, top * x, y * left, y * x}};
  }
  Corners slopes_along_y() const { return {{x - 1, -x, 1 - x, x}}; }
  Corners slopes_along_x() const { return {{y - 1, 1 - y, -y, y}}; }

  int32_t pixels[4];  // their rows in the image; -1 outside the image
  float y, x;         // distances from the top left pixel
  float mask;
};

// The samples of `pixels` output pixels, in NRAM.
struct SampleBuffers {
  SampleBuffers(Arena& nram, int64_t pixels, int64_t samples)
      : stride(round_up(samples, kMaxLanes)),
        plane(pixels * stride),
        corners(nram.take<int32_t>("pixels of samples", {4, pixels, stride})),
        positions(nram.take<float>("positions of samples", {3, pixels, stride})),
        origins(nram.take<float>("positions of offsets", {2, stride})),
        offsets(nram.take<float>("offsets", {2, stride})) {}

  // A sample of the row-th pixel.
  Sample sample(int64_t row, int64_t index) const {
    const int64_t i = row * stride + index;
    const int32_t* const corner = corners + i;
    const float* const position = positions + i;
    return {{corner[0], corner[plane], corner[2 * plane], corner[3 * plane]},
            position[0],
            position[plane],
            position[2 * plane]};
  }

  int64_t stride;    // samples of a pixel
  int64_t plane;     // elements from one member of the samples to the next
  int32_t* corners;  // [4, pixels, stride]
  float* positions;  // [3, pixels, stride]: y, x and mask
  float* origins;    // [2, stride]: y and x of the filter offsets, without the tensor's offsets
  float* offsets;    // [2, stride], offsets of a pixel
};

}  // namespace mluop::dcn
