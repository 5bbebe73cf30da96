// CARAFE: the arguments of its kernels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "mlu_op.h"
#include "team/split.h"

namespace mluop::carafe {

// Letters: N images of H x W pixels and C channels in G groups; an output of scale * H x scale * W pixels, each of
// which has a kernel of k x k weights in each group, centered on pixel (h, w) of the input.
struct Args {
  int64_t output_height() const { return H * scale; }
  int64_t output_width() const { return W * scale; }
  int64_t group_channels() const { return C / G; }
  int64_t taps() const { return k * k; }
  // Rows, or columns, of a kernel around `center` that are inside an axis of `extent` pixels.
  Range inside(int64_t center, int64_t extent) const {
    return {std::max<int64_t>(k / 2 - center, 0), std::min(k, extent + k / 2 - center)};
  }
  // The same rows, or columns, as pixels.
  Range pixels(int64_t center, int64_t extent) const {
    return {std::max<int64_t>(center - k / 2, 0), std::min(center + k / 2 + 1, extent)};
  }

  int64_t N, H, W, C, k, G, scale;
  mluOpDataType_t dtype;
  int64_t capacity;         // of the tile
  const void* input;        // [N, H, W, C]
  const void* mask;         // [N, scale * H, scale * W, G, k, k]
  const void* grad_output;  // [N, scale * H, scale * W, C]
  void* output;             // as grad_output
  void* grad_input;         // as input
  void* grad_mask;          // as mask
};

}  // namespace mluop::carafe
