#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/indice_convolution_forward/convolve_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/sizes.h"
#include "ops/indice_convolution_forward/kernels.h"
#include "ops/indice_convolution_forward/multiply-inl.h"
#include "ops/indice_convolution_forward/tile.h"
#include "primitives/half-inl.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution_forward {
namespace HWY_NAMESPACE {
using mluop::HWY_NAMESPACE::load_float;
using mluop::HWY_NAMESPACE::store_float;
using mluop::HWY_NAMESPACE::stream_copy;

HWY_INLINE float widen(float value) { return value; }
HWY_INLINE float widen(Half value) { return to_float(value); }

// to[0, count) = from[0, count), at most kMaxLanes.
template <class T>
HWY_INLINE void copy_block(const T* HWY_RESTRICT from, int64_t count, float* HWY_RESTRICT to) {
  const D d;
  if (count == kMaxLanes) {
    HWY_UNROLL(16) for (int64_t i = 0; i < kMaxLanes; i += kLanes) hn::Store(load_float(d, from + i), d, to + i);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = widen(from[i]);
  }
}

// The work on one tile.
template <class T>
class TileWork {
 public:
  TileWork(const ConvolveArgs& args, const Tile& tile, int64_t number)
      : args_(args),
        call_(args.call),
        tile_(tile),
        first_row_(number << args.tiling.shift),
        rows_(std::min(int64_t{1} << args.tiling.shift, args.call.M - first_row_)),
        begin_(args.buckets.order + args.buckets.counting.starts[number]),
        end_(args.buckets.order + args.buckets.counting.starts[number + 1]) {}

  void run() {
    const int64_t channels = round_up(call_.Co, kLanes);
    for (channel_ = 0; channel_ < call_.Co; channel_ += args_.tiling.outputs) {
      channels_ = std::min(args_.tiling.outputs, channels - channel_);
      std::memset(tile_.sums, 0, static_cast<size_t>(rows_ * channels_) * sizeof(float));
      std::fill_n(tile_.seen, rows_, 0);
      int32_t chunk = 0;
      const int32_t* at = begin_;
      while (at < end_) at = add_chunk(at, ++chunk);
      write();
    }
  }

 private:
  // Adds the pairs from `at` on that are of one offset, fit the tile and name different rows: those could not be
  // in registers at the same time. Returns where it stops.
  const int32_t* add_chunk(const int32_t* at, int32_t chunk) {
    const int32_t* firsts = args_.buckets.first_numbers;
    const int64_t k = std::upper_bound(firsts, firsts + call_.K, *at) - firsts - 1;
    const int32_t* inputs = call_.inputs(k);
    const int32_t* outputs = call_.outputs(k);
    const int32_t* stop = at + std::min<int64_t>(end_ - at, args_.tiling.pairs);
    int64_t count = 0;
    for (const int32_t* pair = at; pair < stop && *pair < firsts[k + 1]; ++pair) {
      const int64_t row = outputs[*pair - firsts[k]] - first_row_;
      if (tile_.seen[row] == chunk) break;
      tile_.seen[row] = chunk;
      tile_.places[count++] = static_cast<uint32_t>(row * channels_);
    }
    for (int64_t input = 0; input < call_.Ci; input += args_.tiling.inputs) {
      const int64_t width = std::min(args_.tiling.inputs, call_.Ci - input);
      for (int64_t i = 0; i < count; ++i) copy_row(inputs[at[i] - firsts[k]], input, width, i);
      multiply_panels(k, input, width, count);
    }
    return at + count;
  }

  // Makes channels [input, input + width) of a row of features row i of the chunk.
  void copy_row(int64_t row, int64_t input, int64_t width, int64_t i) {
    const T* from = static_cast<const T*>(call_.features) + row * call_.Ci + input;
    float* to = tile_.features + i * kMaxLanes;
    for (; width > 0; width -= kMaxLanes) {
      copy_block(from, std::min(width, kMaxLanes), to);
      from += kMaxLanes;
      to += args_.tiling.pairs * kMaxLanes;
    }
  }

  void multiply_panels(int64_t k, int64_t input, int64_t width, int64_t count) {
    const int64_t all_channels = round_up(call_.Co, kLanes);
    for (int64_t channel = 0; channel < channels_; channel += kPanel) {
      const int64_t panel = std::min(kPanel, channels_ - channel);
      const float* filters = args_.packed + (k * all_channels + channel_ + channel) * call_.Ci + input * panel;
      const Product product{filters, width, args_.tiling.pairs * kMaxLanes, tile_.sums + channel};
      kMultiplyChunk[static_cast<size_t>(panel / kLanes - 1)](product, tile_.features, tile_.places, count);
    }
  }

  void write() const {
    const int64_t filled = std::min(channels_, call_.Co - channel_);
    T* out = static_cast<T*>(call_.features_out) + first_row_ * call_.Co + channel_;
    for (int64_t row = 0; row < rows_; ++row) {
      write_row(tile_.sums + row * channels_, filled, out);
      out += call_.Co;
    }
  }

  void write_row(const float* sums, int64_t count, float* out) const {
    if (args_.tiling.stream) {
      stream_copy(out, sums, static_cast<size_t>(count));
    } else {
      std::memcpy(out, sums, static_cast<size_t>(count) * sizeof(float));
    }
  }

  void write_row(const float* sums, int64_t count, Half* out) const {
    const D d;
    for (int64_t i = 0; i < count; i += kLanes) store_float(hn::LoadU(d, sums + i), d, tile_.halves + i);
    if (args_.tiling.stream) {
      stream_copy(reinterpret_cast<uint16_t*>(out), reinterpret_cast<const uint16_t*>(tile_.halves),
                  static_cast<size_t>(count));
    } else {
      std::memcpy(out, tile_.halves, static_cast<size_t>(count) * sizeof(Half));
    }
  }

  const ConvolveArgs& args_;
  const Args& call_;
  const Tile& tile_;
  int64_t first_row_, rows_;
  const int32_t* begin_;
  const int32_t* end_;
  int64_t channel_ = 0;   // the first in the tile
  int64_t channels_ = 0;  // in the tile
};

template <class T>
void convolve(const ConvolveArgs& args, int64_t begin, int64_t end, Task& task) {
  const Tile tile(task.nram, args.tiling);
  for (int64_t number = begin; number < end; ++number) TileWork<T>(args, tile, number).run();
  hwy::FlushStream();
}

void convolve_float(const ConvolveArgs& args, int64_t begin, int64_t end, Task& task) {
  convolve<float>(args, begin, end, task);
}

void convolve_half(const ConvolveArgs& args, int64_t begin, int64_t end, Task& task) {
  convolve<Half>(args, begin, end, task);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution_forward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::indice_convolution_forward {

HWY_EXPORT(convolve_float);
HWY_EXPORT(convolve_half);

RangeKernel<ConvolveArgs> convolve_kernel(mluOpDataType_t dtype) {
  return dtype == MLUOP_DTYPE_HALF ? HWY_DYNAMIC_DISPATCH(convolve_half) : HWY_DYNAMIC_DISPATCH(convolve_float);
}

}  // namespace mluop::indice_convolution_forward
#endif
