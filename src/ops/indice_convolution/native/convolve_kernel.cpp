#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/indice_convolution/native/convolve_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/simd.h"
#include "core/sizes.h"
#include "ops/indice_convolution/native/chunk_reader-inl.h"
#include "ops/indice_convolution/native/kernels.h"
#include "ops/indice_convolution/native/pack-inl.h"
#include "primitives/gemm_microkernel-inl.h"
#include "primitives/half-inl.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::gemm_panel;
using mluop::HWY_NAMESPACE::kMr;
using mluop::HWY_NAMESPACE::MicrokernelArgs;
using mluop::HWY_NAMESPACE::store_f32;
using mluop::HWY_NAMESPACE::StreamWriter;

// The convolution of tiles that hold the output channels from `channel` on.
template <class T>
class Convolution {
 public:
  Convolution(const ConvolveArgs& args, Tile<T>& tile, const StreamWriter& stream, int64_t channel)
      : args_(args),
        call_(args.call),
        tile_(tile),
        stream_(stream),
        all_channels_(round_up(call_.Co, kLanes)),
        channel_(channel),
        channels_(std::min(args.tiling.output_channels, all_channels_ - channel)) {}

  // Computes the tiles [number, end).
  void run(int64_t number, int64_t end) {
    ChunkReader reader(args_, number, end, tile_.buffers, tile_.last_chunk_of_row);
    Chunk chunk, next;
    clear();
    for (bool more = reader.read(chunk); more; std::swap(chunk, next)) {
      more = reader.read(next);
      for (; number < chunk.tile; ++number) {
        write(number);
        clear();
      }
      if (!more) next.count = 0;
      add(chunk, RowPrefetcher(next, call_.features, call_.Ci * int64_t{sizeof(T)}, block_count(chunk.count)));
    }
    for (; number < end; ++number) {
      write(number);
      clear();
    }
  }

 private:
  void clear() {
    std::memset(tile_.sums, 0, static_cast<size_t>(channels_ << args_.tiling.shift) * sizeof(float));
  }

  // A lower bound of the number of microkernel blocks in the products of `pairs` pairs.
  int64_t block_count(int64_t pairs) const {
    const int64_t panels = ceil_div(call_.Ci, args_.tiling.input_channels) * std::max(channels_ / kNr, int64_t{1});
    return panels * ceil_div(pairs, kMr(std::min(channels_, kNr) / kLanes));
  }

  // Adds the products of a chunk to the sums, and prefetches rows of the next chunk between blocks.
  void add(const Chunk& chunk, RowPrefetcher next_rows) {
    if (args_.tiling.packs) pack(chunk.k);
    const int64_t max_width = args_.tiling.input_channels;
    for (int64_t input = 0; input < call_.Ci; input += max_width) {
      const int64_t width = std::min(max_width, call_.Ci - input);
      if constexpr (Tile<T>::kConverts) {
        convert_rows(chunk, input, width);
        multiply_panels(chunk, tile_.features, max_width, tile_.row_numbers, input, width, next_rows);
      } else {
        const float* features = static_cast<const float*>(call_.features) + input;
        multiply_panels(chunk, features, call_.Ci, chunk.inputs, input, width, next_rows);
      }
    }
  }

  // Packs the filters of an offset, unless they are the last packed.
  void pack(int64_t k) {
    if (k == packed_k_) return;
    packed_k_ = k;
    pack_panels<T>(call_, {k, 0, call_.Ci, channel_, std::min(channels_, call_.Co - channel_)}, tile_.filters);
  }

  // The packed filters of offset k from input channel `input` and channel `channel` of the tile on.
  const float* panel_of(int64_t k, int64_t input, int64_t channel, int64_t panel_width) const {
    const float* filters =
        args_.tiling.packs ? tile_.filters : args_.packed_filters + (k * all_channels_ + channel_) * call_.Ci;
    return filters + channel * call_.Ci + input * panel_width;
  }

  // Adds the products of input channels [input, input + width); feature_rows are the chunk's rows in `features`.
  void multiply_panels(const Chunk& chunk, const float* features, int64_t feature_stride,
                       const int32_t* feature_rows, int64_t input, int64_t width, RowPrefetcher& next_rows) {
    const auto first_row = static_cast<int32_t>(chunk.tile << args_.tiling.shift);
    for (int64_t channel = 0; channel < channels_; channel += kNr) {
      const int64_t panel_width = std::min(kNr, channels_ - channel);
      const MicrokernelArgs args{panel_of(chunk.k, input, channel, panel_width),
                                 width,
                                 features,
                                 feature_stride,
                                 tile_.sums + channel,
                                 channels_,
                                 first_row};
      gemm_panel(panel_width, args, feature_rows, chunk.outputs, chunk.count,
                 [&next_rows] { next_rows.prefetch_step(); });
    }
  }

  // Converts channels [input, input + width) of the chunk's rows to fp32.
  void convert_rows(const Chunk& chunk, int64_t input, int64_t width) {
    const PanelTag d;
    const int64_t whole = width / kLanes * kLanes;
    // Local copies: members would be loaded again after each vector store, which may alias them.
    const T* const features = static_cast<const T*>(call_.features) + input;
    const int32_t* const inputs = chunk.inputs;
    const int64_t count = chunk.count, row_stride = call_.Ci, stride = args_.tiling.input_channels;
    float* to = tile_.features;
    for (int64_t i = 0; i < count; ++i, to += stride) {
      const T* from = features + inputs[i] * row_stride;
      for (int64_t j = 0; j < whole; j += kLanes) hn::Store(load_f32(d, from + j), d, to + j);
      for (int64_t j = whole; j < width; ++j) to[j] = mluop::f16_to_f32(from[j]);
    }
  }

  // Writes the sums of a tile to features_out.
  void write(int64_t number) {
    const int64_t first_row = number << args_.tiling.shift;
    const int64_t rows = std::min(args_.tiling.rows(), call_.M - first_row);
    const int64_t count = std::min(channels_, call_.Co - channel_);
    T* out = static_cast<T*>(call_.features_out) + first_row * call_.Co + channel_;
    if (channels_ == call_.Co) return write_row(tile_.sums, rows * count, out);
    for (int64_t row = 0; row < rows; ++row) {
      write_row(tile_.sums + row * channels_, count, out);
      out += call_.Co;
    }
  }

  void write_row(const float* sums, int64_t count, float* out) { copy_out(out, sums, count); }

  void write_row(const float* sums, int64_t count, Half* out) {
    const PanelTag d;
    const int64_t max = args_.tiling.feature_count();
    T* const halves = tile_.output;
    for (int64_t first = 0; first < count; first += max) {
      const int64_t part = std::min(max, count - first);
      for (int64_t i = 0; i < part; i += kLanes) store_f32(hn::LoadU(d, sums + first + i), d, halves + i);
      copy_out(reinterpret_cast<uint16_t*>(out + first), reinterpret_cast<const uint16_t*>(halves), part);
    }
  }

  template <class Element>
  void copy_out(Element* out, const Element* from, int64_t count) {
    if (args_.tiling.stream) {
      stream_.copy(out, from, static_cast<size_t>(count));
    } else {
      std::memcpy(out, from, static_cast<size_t>(count) * sizeof(Element));
    }
  }

  const ConvolveArgs& args_;
  const Args& call_;
  Tile<T>& tile_;
  const StreamWriter& stream_;
  int64_t all_channels_;   // of the packed filters
  int64_t channel_;        // the first output channel of the tile
  int64_t channels_;       // output channels of the tile
  int64_t packed_k_ = -1;  // the offset whose filters the tile has packed
};

template <class T>
void convolve(const ConvolveArgs& args, int64_t begin, int64_t end, Task& task) {
  Tile<T> tile(task.nram, args.tiling);
  tile.initialize();
  const StreamWriter stream;
  const int64_t row_tiles = args.pairs.sort.bucket_count;
  for (int64_t item = begin; item < end;) {
    const int64_t number = item % row_tiles;
    const int64_t count = std::min(row_tiles - number, end - item);
    Convolution<T>(args, tile, stream, item / row_tiles * args.tiling.output_channels).run(number, number + count);
    item += count;
  }
}

MLUOP_SELECT_BY_DTYPE(convolve, ConvolveArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::indice_convolution::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(convolve_kernel, convolve, ConvolveArgs);

}  // namespace mluop::indice_convolution::native
#endif
