#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/indice_convolution/indice_convolution_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/element.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "ops/indice_convolution/batch_reader-inl.h"
#include "ops/indice_convolution/indice_convolution_native_kernels.h"
#include "primitives/gemm/amx_microkernels-inl.h"
#include "primitives/gemm/gemm_microkernel-inl.h"
#include "primitives/gemm/pack_panel-inl.h"
#include "primitives/memory/prefetch.h"
#include "primitives/memory/stream-inl.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/sum_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::amx_gemm_panel;
using mluop::HWY_NAMESPACE::copy_row;
using mluop::HWY_NAMESPACE::gemm_panel;
using mluop::HWY_NAMESPACE::kMr;
using mluop::HWY_NAMESPACE::kNr;
using mluop::HWY_NAMESPACE::kPanelLanes;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::MatrixColumns;
using mluop::HWY_NAMESPACE::MicrokernelArgs;
using mluop::HWY_NAMESPACE::pack_panel;
using mluop::HWY_NAMESPACE::PanelTag;
using mluop::HWY_NAMESPACE::store_f32;
using mluop::HWY_NAMESPACE::StreamWriter;

// Multiplies panels of Panel, float or BFloat16, in vectors. Rows of features are padded with zeros to multiples
// of kRowStep elements, columns of panels to multiples of kPanelStep.
template <class Panel_>
struct VectorProducts {
  using Panel = Panel_;
  static constexpr int64_t kRowStep = kStep<Panel>, kPanelStep = kStep<Panel>;

  template <class AfterBlock>
  void multiply(int64_t width, const MicrokernelArgs<Panel>& args, const int32_t* a_rows, const int32_t* c_rows,
                int64_t count, const AfterBlock& after_block) {
    gemm_panel(width, args, a_rows, c_rows, count, after_block);
  }
};

// Multiplies in tile registers.
template <class Tiles>
struct AmxProducts {
  using Panel = BFloat16;
  static constexpr int64_t kRowStep = 1, kPanelStep = kAmxStep;

  template <class AfterBlock>
  void multiply(int64_t width, const MicrokernelArgs<Panel>& args, const int32_t* a_rows, const int32_t* c_rows,
                int64_t count, const AfterBlock& after_block) {
    amx_gemm_panel(tiles, width, args, a_rows, c_rows, count, after_block);
  }

  Tiles tiles;
};

// Packs output channels [co, co + outputs), at most kNr, of the filters of offset k.
template <class T, class Products>
void pack_filter_panel(const Args& args, int64_t k, int64_t co, int64_t outputs, typename Products::Panel* to) {
  const FilterStrides& strides = args.strides;
  const T* from = static_cast<const T*>(args.filters) + k * strides.k + co * strides.co;
  const MatrixColumns<T> columns{from, strides.ci, strides.co, args.Ci, outputs};
  if constexpr (Products::kPanelStep == 1) {
    pack_panel(columns, to);
  } else {
    pack_panel(columns, to, Products::kPanelStep);
  }
}

template <class T, class Products>
void pack_filters(const PackArgs& args, int64_t begin, int64_t end, Task&) {
  using Panel = typename Products::Panel;
  const int64_t channels = round_up(args.Co, kPanelLanes), inputs = round_up(args.Ci, Products::kPanelStep);
  const int64_t panels = ceil_div(channels, kNr);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t k = item / panels;
    const int64_t channel = item % panels * kNr;
    pack_filter_panel<T, Products>(args, k, channel, std::min(kNr, args.Co - channel),
                                   static_cast<Panel*>(args.packed_filters) + (k * channels + channel) * inputs);
  }
}

// Calls function(element, products) with the element type of the tensors and the kind of products.
template <class Function>
auto dispatch_products(const Args& args, const Function& function) {
#if MLUOP_HAS_BF16_MICROKERNEL
  if (args.products() == Products::kTiles) return function.template operator()<BFloat16, AmxProducts<AmxTiles>>();
  if (args.products() == Products::kDotProducts)
    return function.template operator()<BFloat16, VectorProducts<BFloat16>>();
#endif
  return dispatch_dtype(args.dtype, [&](auto element) {
    return function.template operator()<decltype(element), VectorProducts<float>>();
  });
}

RangeKernel<PackArgs> select_pack(const Args& args) {
  return dispatch_products(
      args, []<class T, class Products>() -> RangeKernel<PackArgs> { return pack_filters<T, Products>; });
}

// Prefetches the input rows of a batch in `steps` steps: all prefetches at once would exceed the line fill buffers
// and delay subsequent loads.
class RowPrefetcher {
 public:
  RowPrefetcher(const PairBatch& batch, const void* features, int64_t row_bytes, int64_t steps)
      : input_(batch.inputs),
        end_(batch.inputs + batch.count),
        features_(static_cast<const char*>(features)),
        row_bytes_(row_bytes),
        step_rows_(ceil_div(batch.count, steps)) {}

  void prefetch_step() {
    const int32_t* const stop = input_ + std::min<int64_t>(step_rows_, end_ - input_);
    for (; input_ < stop; ++input_) prefetch_row<Use::kRead>(features_ + *input_ * row_bytes_, row_bytes_);
  }

 private:
  const int32_t* input_;
  const int32_t* end_;
  const char* features_;
  int64_t row_bytes_;
  int64_t step_rows_;
};

// The convolution of tiles that hold the output channels from `channel` on.
template <class T, class Products>
class Convolution {
  using Panel = typename Products::Panel;

 public:
  Convolution(const ConvolveArgs& args, Tile<T, Panel>& tile, Products& products, const StreamWriter& stream,
              int64_t channel)
      : args_(args),
        tile_(tile),
        products_(products),
        stream_(stream),
        all_channels_(round_up(args.Co, kPanelLanes)),
        channel_(channel),
        channels_(std::min(args.tiling.output_channels, all_channels_ - channel)) {}

  // Computes the tiles [number, end).
  void compute_tiles(int64_t number, int64_t end) {
    BatchReader reader(args_, number, end, tile_.buffers, tile_.last_batch_of_row);
    PairBatch batch, next;
    clear_sums();
    for (bool more = reader.read(batch); more; std::swap(batch, next)) {
      more = reader.read(next);
      for (; number < batch.tile; ++number) {
        write_tile(number);
        clear_sums();
      }
      if (!more) next.count = 0;
      add_products(batch,
                   RowPrefetcher(next, args_.features, args_.Ci * int64_t{sizeof(T)}, block_count(batch.count)));
    }
    for (; number < end; ++number) {
      write_tile(number);
      clear_sums();
    }
  }

 private:
  void clear_sums() {
    std::memset(tile_.sums, 0, static_cast<size_t>(channels_ << args_.tiling.shift) * sizeof(float));
  }

  // A lower bound of the number of microkernel blocks in the products of `pairs` pairs.
  int64_t block_count(int64_t pairs) const {
    const int64_t panels = ceil_div(args_.Ci, args_.tiling.input_channels) * std::max(channels_ / kNr, int64_t{1});
    return panels * ceil_div(pairs, kMr(std::min(channels_, kNr) / kPanelLanes));
  }

  // Adds the products of a batch to the sums, and prefetches rows of the next batch between blocks.
  void add_products(const PairBatch& batch, RowPrefetcher next_rows) {
    if (args_.tiling.packs && batch.k != packed_k_) pack_panels(batch.k);
    const int64_t inputs = round_up(args_.Ci, Products::kPanelStep);
    const Panel* const filters = args_.tiling.packs ? tile_.filters
                                                    : static_cast<const Panel*>(args_.packed_filters) +
                                                          (batch.k * all_channels_ + channel_) * inputs;
    const auto first_row = static_cast<int32_t>(batch.tile << args_.tiling.shift);
    const int64_t max_width = args_.tiling.input_channels;
    for (int64_t input = 0; input < args_.Ci; input += max_width) {
      const int64_t width = std::min(max_width, args_.Ci - input);
      const bool copies = args_.tiling.copies_rows;
      if (copies) copy_rows(batch, input, width);
      const Panel* features = copies ? tile_.features : static_cast<const Panel*>(args_.features) + input;
      const int64_t feature_stride = copies ? max_width : args_.Ci;
      const int32_t* feature_rows = copies ? tile_.row_numbers : batch.inputs;
      for (int64_t channel = 0; channel < channels_; channel += kNr) {
        const int64_t panel_width = std::min(kNr, channels_ - channel);
        const MicrokernelArgs<Panel> args{filters + channel * inputs + input * panel_width,
                                          round_up(width, Products::kRowStep),
                                          features,
                                          feature_stride,
                                          tile_.sums + channel,
                                          channels_,
                                          first_row};
        products_.multiply(panel_width, args, feature_rows, batch.outputs, batch.count,
                           [&next_rows] { next_rows.prefetch_step(); });
      }
    }
  }

  // Packs the filters of an offset for the tile.
  void pack_panels(int64_t k) {
    packed_k_ = k;
    const int64_t outputs = std::min(channels_, args_.Co - channel_);
    for (int64_t co = 0; co < outputs; co += kNr) {
      pack_filter_panel<T, Products>(args_, k, channel_ + co, std::min(kNr, outputs - co),
                                     tile_.filters + co * round_up(args_.Ci, Products::kPanelStep));
    }
  }

  // Copies channels [input, input + width) of the batch's rows, in fp32 or padded with zeros to whole steps.
  void copy_rows(const PairBatch& batch, int64_t input, int64_t width) {
    const PanelTag d;
    const int64_t whole = width / kPanelLanes * kPanelLanes;
    // Local copies: members would be reloaded after each vector store, which may alias them.
    const T* const features = static_cast<const T*>(args_.features) + input;
    const int32_t* const inputs = batch.inputs;
    const int64_t count = batch.count, row_stride = args_.Ci, stride = args_.tiling.input_channels;
    Panel* to = tile_.features;
    for (int64_t i = 0; i < count; ++i, to += stride) {
      const T* from = features + inputs[i] * row_stride;
      if constexpr (std::is_same_v<Panel, float>) {
        for (int64_t j = 0; j < whole; j += kPanelLanes) hn::Store(load_f32(d, from + j), d, to + j);
        for (int64_t j = whole; j < width; ++j) to[j] = to_f32(from[j]);
      } else {
        copy_row(from, width, round_up(width, Products::kRowStep), to);
      }
    }
  }

  // Writes the sums of a tile to features_out.
  void write_tile(int64_t number) {
    const int64_t first_row = number << args_.tiling.shift;
    const int64_t rows = std::min(args_.tiling.rows(), args_.M - first_row);
    const int64_t count = std::min(channels_, args_.Co - channel_);
    T* out = static_cast<T*>(args_.features_out) + first_row * args_.Co + channel_;
    if (channels_ == args_.Co) return copy_sums(tile_.sums, rows * count, out);
    for (int64_t row = 0; row < rows; ++row) {
      copy_sums(tile_.sums + row * channels_, count, out);
      out += args_.Co;
    }
  }

  void copy_sums(const float* sums, int64_t count, float* out) { copy(out, sums, count); }

  void copy_sums(const float* sums, int64_t count, Element16 auto* out) {
    const PanelTag d;
    const int64_t max = args_.tiling.feature_count();
    T* const rounded = tile_.output;
    for (int64_t first = 0; first < count; first += max) {
      const int64_t converted = std::min(max, count - first);
      for (int64_t i = 0; i < converted; i += kPanelLanes)
        store_f32(hn::LoadU(d, sums + first + i), d, rounded + i);
      copy(reinterpret_cast<uint16_t*>(out + first), reinterpret_cast<const uint16_t*>(rounded), converted);
    }
  }

  template <class Element>
  void copy(Element* out, const Element* from, int64_t count) {
    if (args_.tiling.stream) {
      stream_.copy(out, from, static_cast<size_t>(count));
    } else {
      std::memcpy(out, from, static_cast<size_t>(count) * sizeof(Element));
    }
  }

  const ConvolveArgs& args_;
  Tile<T, Panel>& tile_;
  Products& products_;
  const StreamWriter& stream_;
  int64_t all_channels_;   // channels of the packed filters
  int64_t channel_;        // the first output channel of the tile
  int64_t channels_;       // output channels of the tile
  int64_t packed_k_ = -1;  // the offset whose filters the tile has packed
};

template <class T, class Products>
void convolve(const ConvolveArgs& args, int64_t begin, int64_t end, Task& task) {
  Tile<T, typename Products::Panel> tile(task.nram, args.tiling);
  tile.initialize();
  Products products;
  const StreamWriter stream;
  const int64_t row_tile_count = args.pairs.sort.bucket_count;
  for (int64_t item = begin; item < end;) {
    const int64_t number = item % row_tile_count;
    const int64_t count = std::min(row_tile_count - number, end - item);
    Convolution<T, Products> convolution(args, tile, products, stream,
                                         item / row_tile_count * args.tiling.output_channels);
    convolution.compute_tiles(number, number + count);
    item += count;
  }
}

RangeKernel<ConvolveArgs> select_convolve(const Args& args) {
  return dispatch_products(
      args, []<class T, class Products>() -> RangeKernel<ConvolveArgs> { return convolve<T, Products>; });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::indice_convolution::native {

HWY_EXPORT(select_pack);
HWY_EXPORT(select_convolve);

RangeKernel<PackArgs> pack_kernel(const Args& args) { return MLUOP_DISPATCH(select_pack)(args); }

RangeKernel<ConvolveArgs> convolve_kernel(const Args& args) { return MLUOP_DISPATCH(select_convolve)(args); }

}  // namespace mluop::indice_convolution::native
#endif
