#include <algorithm>
#include <cstring>

#include "ops/masked_col2im_forward/native/kernels.h"

namespace mluop::masked_col2im_forward::native {
namespace {

// Writes the pixels `part` of kPlanes planes, the first of them `to`, from as many rows of col, the first of them
// `from`. Rows are cleared just before the first chunk of masks that reaches them: with masks in row-major order,
// they are then in L1.
template <int64_t kPlanes, class T>
void write_planes(const ScatterArgs& args, Range part, const T* from, T* to) {
  const Args& call = args.call;
  const int32_t *h = call.mask_h_idx, *w = call.mask_w_idx;
  const int64_t width = call.width, plane = call.plane(), mask_cnt = call.mask_cnt;
  int64_t cleared = part.begin;
  const auto clear_until = [&](int64_t end) {
    if (end <= cleared) return;
    for (int64_t c = 0; c < kPlanes; ++c) {
      std::memset(to + c * plane + cleared, 0, static_cast<size_t>(end - cleared) * sizeof(T));
    }
    cleared = end;
  };
  const auto copy = [&](int64_t k, int64_t pixel) {
#pragma GCC unroll 4
    for (int64_t c = 0; c < kPlanes; ++c) to[c * plane + pixel] = from[c * mask_cnt + k];
  };
  for (int64_t i = 0; i < args.chunks.count(); ++i) {
    const Range masks = args.chunks[i];
    const Range rows = args.chunks.rows[i];
    const Range pixels{rows.begin * width, rows.end * width};
    if (pixels.begin >= part.end || pixels.end <= part.begin) continue;
    clear_until(std::min(pixels.end, part.end));
    if (pixels.begin >= part.begin && pixels.end <= part.end) {
      for (int64_t k = masks.begin; k < masks.end; ++k) copy(k, h[k] * width + w[k]);
    } else {
      for (int64_t k = masks.begin; k < masks.end; ++k) {
        const int64_t pixel = h[k] * width + w[k];
        if (pixel >= part.begin && pixel < part.end) copy(k, pixel);
      }
    }
  }
  clear_until(part.end);
}

// T: an unsigned integer of the size of an element.
template <class T>
void scatter(const ScatterArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  const int64_t plane = call.plane();
  while (begin < end) {
    const int64_t channel = begin / plane;
    const int64_t first = channel * plane;
    const T* from = static_cast<const T*>(call.col) + channel * call.mask_cnt;
    T* to = static_cast<T*>(call.im) + first;
    if (begin == first && end - begin >= kGroup * plane) {
      write_planes<kGroup>(args, {0, plane}, from, to);
      begin += kGroup * plane;
    } else {
      const Range part{begin - first, std::min(end - first, plane)};
      write_planes<1>(args, part, from, to);
      begin += part.size();
    }
  }
}

}  // namespace

RangeKernel<ScatterArgs> scatter_kernel(int32_t element_size) {
  return element_size == 2 ? scatter<uint16_t> : scatter<uint32_t>;
}

}  // namespace mluop::masked_col2im_forward::native
