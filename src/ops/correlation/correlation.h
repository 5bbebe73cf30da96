// Correlation: the arguments of its kernels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/sizes.h"
#include "mlu_op.h"
#include "team/split.h"

namespace mluop::correlation {

// The pixels of the output that read a pixel of input1 along an axis: `count` of them, each Axis::step before the
// previous one.
struct Readers {
  int64_t first, count;
};

// An axis, height or width.
struct Axis {
  int64_t radius() const { return (patch - 1) / 2 * dilation_patch; }
  // The indices t in [0, count) with start + t * distance in [0, size).
  Range inside(int64_t start, int64_t distance, int64_t count) const {
    const int64_t begin = start < 0 ? ceil_div(-start, distance) : 0;
    const int64_t end = start < size ? std::min(count, ceil_div(size - start, distance)) : 0;
    return {begin, std::max(begin, end)};
  }
  // The elements of the kernel inside of input1 for a pixel of the output, and the pixel of the first element.
  Range elements(int64_t pixel) const { return inside(pixel * stride - pad, dilation, kernel); }
  int64_t position(int64_t pixel, int64_t element) const { return pixel * stride - pad + element * dilation; }
  // The displacements from a pixel that remain inside, and the pixel of a displacement.
  Range displacements(int64_t pixel) const { return inside(pixel - radius(), dilation_patch, patch); }
  int64_t displaced(int64_t pixel, int64_t displacement) const {
    return pixel - radius() + displacement * dilation_patch;
  }

  int64_t kernel, patch, pad, dilation, dilation_patch, stride;
  int64_t size, output_size;
  int64_t step;            // dilation / gcd(dilation, stride)
  const Readers* readers;  // [size]
};

// Letters: N images of H x W pixels and C channels.
struct Args {
  int64_t patch_size() const { return y.patch * x.patch; }
  int64_t plane() const { return y.output_size * x.output_size; }

  int64_t N, C;
  Axis y, x;
  mluOpDataType_t dtype;
  int64_t capacity;         // of the tile
  const void* input1;       // [N, H, W, C]
  const void* input2;       // [N, H, W, C]
  const void* grad_output;  // [N, y.patch, x.patch, y.output_size, x.output_size]
  void* output;             // as grad_output
};

// The gradient of one input: of input1, where the other one is displaced, or of input2.
struct GatherArgs : Args {
  bool is_first;
  const void* other;  // the other input
  void* gradient;     // [N, H, W, C]
};

}  // namespace mluop::correlation
