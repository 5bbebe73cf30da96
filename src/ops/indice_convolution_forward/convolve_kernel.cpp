#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/indice_convolution_forward/convolve_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/sizes.h"
#include "ops/indice_convolution_forward/chunk_reader-inl.h"
#include "ops/indice_convolution_forward/kernels.h"
#include "ops/indice_convolution_forward/tile.h"
#include "primitives/half-inl.h"
#include "primitives/multiply-inl.h"
#include "primitives/stream-inl.h"
#include "team/atomics.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution_forward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kLanes;
using mluop::HWY_NAMESPACE::kPanel;
using mluop::HWY_NAMESPACE::kRows;
using mluop::HWY_NAMESPACE::load_float;
using mluop::HWY_NAMESPACE::multiply_panel;
using mluop::HWY_NAMESPACE::PanelTag;
using mluop::HWY_NAMESPACE::Product;
using mluop::HWY_NAMESPACE::store_float;
using mluop::HWY_NAMESPACE::stream_copy;

// Some channels of all rows of the output that a task owns.
template <class T>
class Convolution {
 public:
  Convolution(const ConvolveArgs& args, const Tile<T>& tile, int64_t channel)
      : args_(args),
        call_(args.call),
        tile_(tile),
        all_channels_(round_up(call_.Co, kLanes)),
        channel_(channel),
        channels_(std::min(args.tiling.outputs, all_channels_ - channel)) {}

  // Of the tiles [number, end).
  void run(int64_t number, int64_t end) {
    ChunkReader reader(args_, number, end, tile_.seen);
    Chunk chunk = tile_.chunks[0];
    Chunk next = tile_.chunks[1];
    clear();
    for (bool more = reader.read(chunk); more; std::swap(chunk, next)) {
      more = reader.read(next);
      for (; number < chunk.tile; ++number) {
        write(number);
        clear();
      }
      if (!more) next.count = 0;
      add(chunk, RowFetcher(next, call_.features, call_.Ci * int64_t{sizeof(T)}, block_count(chunk.count)));
    }
    for (; number < end; ++number) {
      write(number);
      clear();
    }
  }

 private:
  void clear() const {
    std::memset(tile_.sums, 0, static_cast<size_t>(channels_ << args_.tiling.shift) * sizeof(float));
  }

  // The least number of blocks that the products of as many pairs take.
  int64_t block_count(int64_t pairs) const {
    const auto vectors = static_cast<size_t>(std::min(channels_, kPanel) / kLanes);
    const int64_t products = ceil_div(call_.Ci, args_.tiling.inputs) * std::max(channels_ / kPanel, int64_t{1});
    return products * ceil_div(pairs, int64_t{kRows[vectors - 1]});
  }

  // Adds the products of a chunk; meanwhile fetches rows of the next one.
  void add(const Chunk& chunk, RowFetcher fetcher) const {
    for (int64_t input = 0; input < call_.Ci; input += args_.tiling.inputs) {
      const int64_t width = std::min(args_.tiling.inputs, call_.Ci - input);
      if constexpr (Tile<T>::kConverts) {
        convert_rows(chunk, input, width);
        multiply_panels(chunk, tile_.features, args_.tiling.inputs, tile_.numbers, input, width, fetcher);
      } else {
        const float* features = static_cast<const float*>(call_.features) + input;
        multiply_panels(chunk, features, call_.Ci, chunk.inputs, input, width, fetcher);
      }
    }
  }

  // Adds the products of channels [input, input + width) of the rows `from` of `features`.
  void multiply_panels(const Chunk& chunk, const float* features, int64_t row_stride, const int32_t* from,
                       int64_t input, int64_t width, RowFetcher& fetcher) const {
    const auto first_row = static_cast<int32_t>(chunk.tile << args_.tiling.shift);
    for (int64_t channel = 0; channel < channels_; channel += kPanel) {
      const int64_t panel = std::min(kPanel, channels_ - channel);
      const float* filters =
          args_.packed + (chunk.k * all_channels_ + channel_ + channel) * call_.Ci + input * panel;
      const Product product{filters, width, features, row_stride, tile_.sums + channel, channels_, first_row};
      multiply_panel(panel, product, from, chunk.outputs, chunk.count, [&fetcher] { fetcher.fetch(); });
    }
  }

  // Makes channels [input, input + width) of the chunk's rows float.
  void convert_rows(const Chunk& chunk, int64_t input, int64_t width) const {
    const PanelTag d;
    const int64_t whole = width / kLanes * kLanes;
    // Copies: for all the compiler knows, vectors are stored over members.
    const T* const features = static_cast<const T*>(call_.features) + input;
    const int32_t* const inputs = chunk.inputs;
    const int64_t count = chunk.count, row_stride = call_.Ci, stride = args_.tiling.inputs;
    float* to = tile_.features;
    for (int64_t i = 0; i < count; ++i, to += stride) {
      const T* from = features + inputs[i] * row_stride;
      for (int64_t j = 0; j < whole; j += kLanes) hn::Store(load_float(d, from + j), d, to + j);
      for (int64_t j = whole; j < width; ++j) to[j] = to_float(from[j]);
    }
  }

  void write(int64_t number) const {
    const int64_t first_row = number << args_.tiling.shift;
    const int64_t rows = std::min(int64_t{1} << args_.tiling.shift, call_.M - first_row);
    const int64_t count = std::min(channels_, call_.Co - channel_);
    T* out = static_cast<T*>(call_.features_out) + first_row * call_.Co + channel_;
    if (channels_ == call_.Co) return write_row(tile_.sums, rows * count, out);
    for (int64_t row = 0; row < rows; ++row) {
      write_row(tile_.sums + row * channels_, count, out);
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
    const PanelTag d;
    const auto most = static_cast<int64_t>(Tile<T>::feature_count(args_.tiling));
    T* const halves = tile_.output;
    for (int64_t first = 0; first < count; first += most) {
      const int64_t part = std::min(most, count - first);
      for (int64_t i = 0; i < part; i += kLanes) store_float(hn::LoadU(d, sums + first + i), d, halves + i);
      if (args_.tiling.stream) {
        stream_copy(reinterpret_cast<uint16_t*>(out + first), reinterpret_cast<const uint16_t*>(halves),
                    static_cast<size_t>(part));
      } else {
        std::memcpy(out + first, halves, static_cast<size_t>(part) * sizeof(Half));
      }
    }
  }

  const ConvolveArgs& args_;
  const Args& call_;
  const Tile<T>& tile_;
  int64_t all_channels_;  // of packed filters
  int64_t channel_;       // the first in the tile
  int64_t channels_;      // in the tile
};

template <class T>
void convolve(const ConvolveArgs& args, Task& task) {
  const Tile<T> tile(task.nram, args.tiling);
  // To write a row costs as much as to add some six channels of a pair.
  const ByItems batches{args.buckets.counting, ceil_div(int64_t{6} << args.tiling.shift, args.call.Ci)};
  for (;;) {
    const int64_t batch = atomic_next(args.next_batch);
    if (batch >= args.batch_count) break;
    const Range tiles = batches(args.batch_count, static_cast<int>(batch));
    for (int64_t channel = 0; channel < args.call.Co && tiles.size() > 0; channel += args.tiling.outputs) {
      Convolution<T>(args, tile, channel).run(tiles.begin, tiles.end);
    }
  }
  hwy::FlushStream();
}

void convolve_float(const ConvolveArgs& args, int64_t, int64_t, Task& task) { convolve<float>(args, task); }

void convolve_half(const ConvolveArgs& args, int64_t, int64_t, Task& task) { convolve<Half>(args, task); }

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
