#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/indice_convolution/indice_convolution_backward_filter_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/caches.h"
#include "core/element.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "ops/indice_convolution/indice_convolution_backward_filter_native_kernels.h"
#include "primitives/gemm/amx_microkernels-inl.h"
#include "primitives/gemm/gemm_microkernel-inl.h"
#include "primitives/gemm/outer_products-inl.h"
#include "primitives/gemm/pack_panel-inl.h"
#include "primitives/simd/sum_rows-inl.h"
#include "primitives/simd/transpose_square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution::backward_filter {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::add_rows;
using mluop::HWY_NAMESPACE::amx_outer_product_panel;
using mluop::HWY_NAMESPACE::AmxOuterProductArgs;
using mluop::HWY_NAMESPACE::copy_row;
using mluop::HWY_NAMESPACE::interleave_rows;
using mluop::HWY_NAMESPACE::interleave_vectors;
using mluop::HWY_NAMESPACE::kNr;
using mluop::HWY_NAMESPACE::kOuterProductMr;
using mluop::HWY_NAMESPACE::kPanelLanes;
using mluop::HWY_NAMESPACE::load_transposed;
using mluop::HWY_NAMESPACE::outer_product_panel;
using mluop::HWY_NAMESPACE::OuterProductArgs;
using mluop::HWY_NAMESPACE::PanelTag;
using mluop::HWY_NAMESPACE::round_row;

// Returns the first of `count` pairs with an index out of bounds, or `count`.
HWY_INLINE int64_t find_bad_pair(const Args& args, const int32_t* inputs, const int32_t* outputs, int64_t count) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int64_t kMaxIndex = std::numeric_limits<int32_t>::max();
  const auto max_input = static_cast<int32_t>(std::min(args.N - 1, kMaxIndex));
  const auto max_output = static_cast<int32_t>(std::min(args.M - 1, kMaxIndex));
  const auto max_inputs = hn::Set(d, max_input), max_outputs = hn::Set(d, max_output);
  int64_t l = 0;
  for (; l + lanes <= count; l += lanes) {
    const auto input = hn::LoadU(d, inputs + l), output = hn::LoadU(d, outputs + l);
    const auto too_large = hn::Or(hn::Gt(input, max_inputs), hn::Gt(output, max_outputs));
    const auto negative = hn::Lt(hn::Or(input, output), hn::Zero(d));
    if (!hn::AllFalse(d, hn::AndNot(negative, too_large))) break;
  }
  for (; l < count; ++l) {
    if ((inputs[l] | outputs[l]) >= 0 && (inputs[l] > max_input || outputs[l] > max_output)) return l;
  }
  return count;
}

void check_pairs(const CheckArgs& args, int64_t begin, int64_t end, Task&) {
  int64_t k = std::upper_bound(args.first_pairs, args.first_pairs + args.K, begin) - args.first_pairs - 1;
  for (int64_t pair = begin; pair < end; ++k) {
    const int64_t l = pair - args.first_pairs[k];
    const int64_t count = std::min(end, args.first_pairs[k + 1]) - pair;
    const int64_t bad = find_bad_pair(args, args.inputs(k) + l, args.outputs(k) + l, count);
    if (bad < count) {
      args.first_bad.report(pair + bad);
      return;
    }
    pair += count;
  }
}

// Pairs whose products are added together: consecutive pairs of a segment, without skipped pairs.
struct PairBatch {
  int64_t count = 0;
  const int32_t* inputs = nullptr;
  const int32_t* outputs = nullptr;
};

HWY_INLINE bool any_negative(const int32_t* a, const int32_t* b, int64_t count) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto all = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) all = hn::Or(all, hn::Or(hn::LoadU(d, a + i), hn::LoadU(d, b + i)));
  int32_t rest = 0;
  for (; i < count; ++i) rest |= a[i] | b[i];
  return rest < 0 || !hn::AllFalse(d, hn::Lt(all, hn::Zero(d)));
}

// Longer rows of consecutive pairs compete for few sets of L1.
constexpr int64_t kMaxInPlaceBytes = 512;

// Prefetches to L2, because L1 holds the panel of a batch.
HWY_INLINE void prefetch_to_l2(const void* row, int64_t row_bytes) {
  for (int64_t i = 0; i < row_bytes; i += kCacheLine) __builtin_prefetch(static_cast<const char*>(row) + i, 0, 2);
}

// Whether rows of a tensor of T, `stride` elements apart, are read in place.
template <class T>
bool is_read_in_place(int64_t stride) {
  return std::is_same_v<T, float> && stride * int64_t{sizeof(float)} <= kMaxInPlaceBytes;
}

// Sets rows[i] to row indices[i] of a tensor, starting at column `first`, with rows `stride` elements apart:
// `count` elements and zeros up to `width`; in place, or in `copies`, whose rows are `copy_stride` elements apart.
template <class T>
HWY_INLINE void gather(const T* first, const int32_t* indices, int64_t row_count, int64_t stride, int64_t count,
                       int64_t width, bool in_place, float* copies, int64_t copy_stride, const float** rows) {
  if constexpr (std::is_same_v<T, float>) {
    if (in_place) {
      for (int64_t i = 0; i < row_count; ++i) rows[i] = first + indices[i] * stride;
      return;
    }
  }
  for (int64_t i = 0; i < row_count; ++i, copies += copy_stride) {
    copy_row(first + indices[i] * stride, count, width, copies);
    rows[i] = copies;
  }
}

// Multiplies rows of lanes in vectors. A lane holds a float, or the BFloat16 of two pairs (the first at an even
// position of the segment); skipped pairs are zeros. Batches are whole steps of pairs, so that sums do not depend
// on the batches.
template <class Element_>
struct VectorProducts {
  using Element = Element_;
  static constexpr bool kAreTiles = false;
  static constexpr int64_t kPairs = kStep<Element>;
};

// Multiplies in tile registers.
template <class Tiles>
struct AmxProducts {
  using Element = BFloat16;
  static constexpr bool kAreTiles = true;
  static constexpr int64_t kPairs = kAmxStep;

  Tiles tiles;
};

// The product of a segment for the input channels [row, row + rows) and the output channels [column, column +
// columns).
template <class T, class Products>
class TileProduct {
  using Element = typename Products::Element;

 public:
  TileProduct(const MultiplyArgs& args, const Tile& tile, Products& products, int64_t item)
      : args_(args),
        tile_(tile),
        products_(products),
        segment_(args.segments.segments[item / args.tiling.tiles(args)]) {
    const Tiling& tiling = args.tiling;
    const int64_t number = item % tiling.tiles(args_), column_tiles = tiling.column_tiles(args_);
    row_ = number / column_tiles * tiling.rows;
    rows_ = std::min(tiling.rows, args_.Ci - row_);
    column_ = number % column_tiles * tiling.columns;
    columns_ = std::min(tiling.columns, args_.Co - column_);
    width_ = round_up(columns_, kPanelLanes);
    features_ = static_cast<const T*>(args_.features) + row_;
    output_grad_ = static_cast<const T*>(args_.output_grad) + column_;
    feature_in_place_ = is_read_in_place<T>(args_.Ci);
    // Reads whole vectors of a row.
    grad_in_place_ = is_read_in_place<T>(args_.Co) && columns_ == width_;
    const bool are_written_as_fp32 = segment_.partial != kNone || std::is_same_v<T, float>;
    padded_rows_ = Products::kAreTiles ? round_up(rows_, kAmxRows) : rows_;
    sums_in_place_ = are_written_as_fp32 && columns_ == width_ && rows_ == padded_rows_;
    sums_ = sums_in_place_ ? static_cast<float*>(matrix()) + row_ * args_.Co + column_ : tile.sums;
    sum_stride_ = sums_in_place_ ? args_.Co : width_;
  }

  // Adds the products of the positions [begin, end), which follow the positions of the previous call.
  void add_pairs(int64_t begin, int64_t end) {
    int64_t l = begin;
    PairBatch batch = read(l, end, 0);
    for (int side = 1; l < end; side = 1 - side) {
      l += batch_pairs();
      const PairBatch next = read(l, end, side);
      find_rows(batch);
      multiply_batch(batch.count, next);
      batch = next;
    }
    write_sums();
  }

  // Continues from the partial sums.
  void resume() {
    starts_ = false;
    if (sums_in_place_) return;
    const float* from = static_cast<const float*>(matrix());
    for (int64_t r = 0; r < rows_; ++r) {
      copy_row(from + (row_ + r) * args_.Co + column_, columns_, width_, sums_ + r * width_);
    }
  }

 private:
  static constexpr int64_t kLanePairs = kStep<Element>;

  int64_t batch_pairs() const { return kLanePairs * args_.tiling.batch_pairs; }

  // The batch from position l on, up to position `end`; `side`: which of the two index buffers it may use.
  PairBatch read(int64_t l, int64_t end, int side) const {
    if (l >= end) return {};
    const int64_t max = batch_pairs(), count = std::min(max, end - l);
    const int32_t* from_inputs = args_.inputs(segment_.k) + l;
    const int32_t* from_outputs = args_.outputs(segment_.k) + l;
    if (kLanePairs > 1 || !any_negative(from_inputs, from_outputs, count))
      return {count, from_inputs, from_outputs};
    int32_t* const inputs = tile_.indices + int64_t{2} * side * max;
    int32_t* const outputs = inputs + max;
    int64_t valid = 0;
    for (int64_t i = 0; i < count; ++i) {
      inputs[valid] = from_inputs[i];
      outputs[valid] = from_outputs[i];
      valid += (from_inputs[i] | from_outputs[i]) >= 0 ? 1 : 0;
    }
    return {valid, inputs, outputs};
  }

  // Finds the rows of a batch, and copies rows that are not read in place.
  void find_rows(const PairBatch& batch) const {
    const Tiling& tiling = args_.tiling;
    if constexpr (kLanePairs > 1) return interleave(batch);
    gather(features_, batch.inputs, batch.count, args_.Ci, rows_, rows_, feature_in_place_, tile_.features,
           tiling.feature_stride(), tile_.feature_rows);
    gather(output_grad_, batch.outputs, batch.count, args_.Co, columns_, width_, grad_in_place_, tile_.grads,
           tiling.grad_stride(), tile_.grad_rows);
  }

  // Interleaves the rows of two pairs each.
  void interleave(const PairBatch& batch) const {
    const int64_t feature_stride = args_.tiling.feature_stride(), grad_stride = args_.tiling.grad_stride();
    float *features = tile_.features, *grads = tile_.grads;
    const bool are_vectors = rows_ % kPanelLanes == 0 && columns_ == width_;
    // Tile registers multiply whole tiles.
    const int64_t padded = Products::kAreTiles ? round_up(batch.count, Products::kPairs) : batch.count;
    for (int64_t i = 0; i < padded; i += 2, features += feature_stride, grads += grad_stride) {
      tile_.feature_rows[i / 2] = features;
      tile_.grad_rows[i / 2] = grads;
      const int32_t *inputs = batch.inputs + i, *outputs = batch.outputs + i;
      if (are_vectors && i + 1 < batch.count && (inputs[0] | inputs[1] | outputs[0] | outputs[1]) >= 0) {
        interleave_vectors(features_ + inputs[0] * args_.Ci, features_ + inputs[1] * args_.Ci, rows_, features);
        interleave_vectors(output_grad_ + outputs[0] * args_.Co, output_grad_ + outputs[1] * args_.Co, columns_,
                           grads);
        continue;
      }
      const T *feature_rows[2] = {}, *grad_rows[2] = {};
      for (int64_t j = 0; j < std::min<int64_t>(batch.count - i, 2); ++j) {
        if ((inputs[j] | outputs[j]) < 0) continue;
        feature_rows[j] = features_ + inputs[j] * args_.Ci;
        grad_rows[j] = output_grad_ + outputs[j] * args_.Co;
      }
      interleave_rows(feature_rows, rows_, padded_rows_, features);
      interleave_rows(grad_rows, columns_, width_, grads);
    }
    if constexpr (Products::kAreTiles) transpose_features(padded / 2);
  }

  // Transposes the squares of features in place: a row of a tile then holds the lanes of a channel.
  void transpose_features(int64_t lanes) const {
    const PanelTag d;
    const int64_t stride = args_.tiling.feature_stride();
    for (int64_t i = 0; i < lanes; i += kPanelLanes) {
      for (int64_t row = 0; row < padded_rows_; row += kPanelLanes) {
        float* const square = tile_.features + i * stride + row;
        hn::Vec<PanelTag> columns[kPanelLanes];
        load_transposed(d, square, stride, columns);
        HWY_UNROLL(16) for (int64_t j = 0; j < kPanelLanes; ++j) hn::Store(columns[j], d, square + j * stride);
      }
    }
  }

  // Adds the products of the rows found, and prefetches the rows of the next batch between blocks.
  void multiply_batch(int64_t pairs, const PairBatch& next) {
    const int64_t panels = ceil_div(width_, kNr);
    const int64_t blocks = panels * ceil_div(rows_, kOuterProductMr(std::min(width_, kNr) / kPanelLanes));
    const int64_t step = ceil_div(next.count, blocks);
    int64_t prefetched = 0;
    const auto prefetch_step = [&] {
      // Interleaving already has many short rows in flight.
      if (kLanePairs > 1 && rows_ * int64_t{sizeof(T)} < kCacheLine) return;
      const int64_t end = std::min(prefetched + step, next.count);
      for (; prefetched < end; ++prefetched) {
        if ((next.inputs[prefetched] | next.outputs[prefetched]) < 0) continue;
        prefetch_to_l2(features_ + next.inputs[prefetched] * args_.Ci, rows_ * int64_t{sizeof(T)});
        prefetch_to_l2(output_grad_ + next.outputs[prefetched] * args_.Co, columns_ * int64_t{sizeof(T)});
      }
    };
    if constexpr (Products::kAreTiles) {
      for (int64_t column = 0; column < width_; column += kNr) {
        const AmxOuterProductArgs args{tile_.features,
                                       args_.tiling.feature_stride(),
                                       tile_.grads + column,
                                       args_.tiling.grad_stride(),
                                       round_up(ceil_div(pairs, kLanePairs), kAmxRows),
                                       starts_,
                                       sums_ + column,
                                       sum_stride_};
        amx_outer_product_panel(products_.tiles, std::min(kNr, width_ - column), args, rows_, prefetch_step);
      }
      starts_ = false;
      return;
    }
    for (int64_t column = 0; column < width_; column += kNr) {
      const OuterProductArgs args{
          tile_.feature_rows, tile_.grad_rows, column, ceil_div(pairs, kLanePairs), starts_,
          sums_ + column,     sum_stride_};
      outer_product_panel<Element>(std::min(kNr, width_ - column), args, rows_, prefetch_step);
    }
    starts_ = false;
  }

  // Where the sums of the segment are written: its partial sums, or the filters of its offset, which have type T.
  void* matrix() const {
    if (segment_.partial != kNone) return args_.partials + segment_.partial * args_.matrix_count();
    return static_cast<T*>(args_.filters_grad) + segment_.k * args_.matrix_count();
  }

  void write_sums() const {
    if (sums_in_place_) return;
    const auto round_rows = [&](auto* to) {
      for (int64_t r = 0; r < rows_; ++r) {
        round_row(sums_ + r * width_, columns_, to + (row_ + r) * args_.Co + column_);
      }
    };
    if (segment_.partial == kNone) {
      round_rows(static_cast<T*>(matrix()));
    } else {
      round_rows(static_cast<float*>(matrix()));
    }
  }

  const MultiplyArgs& args_;
  const Tile& tile_;
  Products& products_;
  const Segment& segment_;
  bool starts_ = true;  // no product has been added
  int64_t row_, rows_;
  int64_t column_, columns_;
  int64_t width_;        // columns, rounded up to whole vectors
  int64_t padded_rows_;  // rows, rounded up to whole tiles
  const T *features_, *output_grad_;
  bool feature_in_place_, grad_in_place_;
  bool sums_in_place_;  // sums are in the matrix of the segment
  float* sums_;         // sums from input channel row_, output channel column_; rows sum_stride_ apart
  int64_t sum_stride_;
};

// Maximum number of segments that a task interleaves.
constexpr int64_t kMaxInterleaved = 64;

// Returns how many work items from `item` on are segments of its group with partial sums, at least 1.
int64_t count_in_group(const MultiplyArgs& args, int64_t item, int64_t end) {
  if (args.tiling.tiles(args) > 1) return 1;
  const Segment* const segments = args.segments.segments;
  const auto continues = [&](int64_t i) {
    return segments[i].partial != kNone && segments[i].group == segments[item].group;
  };
  int64_t next = item;
  while (next < end && continues(next)) ++next;
  return std::max<int64_t>(next - item, 1);
}

// Computes the segments of a group in runs of rows that stay in the caches. Input rows are expected to ascend;
// other orders are slower but give the same result.
template <class T, class Products>
void interleave_segments(const MultiplyArgs& args, const Tile& tile, Products& products, int64_t first,
                         int64_t count) {
  int64_t done[kMaxInterleaved];
  int64_t limit = args.N;
  for (int64_t i = 0; i < count; ++i) {
    const Segment& segment = args.segments.segments[first + i];
    done[i] = segment.begin;
    limit = std::min(limit, std::max<int64_t>(args.inputs(segment.k)[segment.begin], 0));
  }
  for (int64_t left = count; left > 0;) {
    limit += args.tiling.run_rows;
    left = 0;
    for (int64_t i = 0; i < count; ++i) {
      const Segment& segment = args.segments.segments[first + i];
      const int32_t* inputs = args.inputs(segment.k);
      const int64_t begin = done[i];
      if (begin == segment.end) continue;
      done[i] =
          limit >= args.N ? segment.end : std::lower_bound(inputs + begin, inputs + segment.end, limit) - inputs;
      if (done[i] < segment.end) done[i] -= (done[i] - begin) % Products::kPairs;
      if (done[i] < segment.end) ++left;
      if (done[i] == begin) continue;
      TileProduct<T, Products> product(args, tile, products, first + i);
      if (begin > segment.begin) product.resume();
      product.add_pairs(begin, done[i]);
    }
  }
}

template <class T, class Products>
void multiply(const MultiplyArgs& args, int64_t begin, int64_t end, Task& task) {
  const Tile tile(task.nram, args.tiling);
  Products products;
  for (int64_t item = begin; item < end;) {
    const int64_t count = std::min(count_in_group(args, item, end), kMaxInterleaved);
    if (count > 1) {
      interleave_segments<T>(args, tile, products, item, count);
    } else {
      const Segment& segment = args.segments.segments[item / args.tiling.tiles(args)];
      TileProduct<T, Products>(args, tile, products, item).add_pairs(segment.begin, segment.end);
    }
    item += count;
  }
}

RangeKernel<MultiplyArgs> select_multiply(mluOpDataType_t dtype, [[maybe_unused]] Products products) {
#if MLUOP_HAS_BF16_MICROKERNEL
  if (products == Products::kTiles) return multiply<BFloat16, AmxProducts<AmxTiles>>;
  if (products == Products::kDotProducts) return multiply<BFloat16, VectorProducts<BFloat16>>;
#endif
  return dispatch_dtype(dtype, [](auto element) -> RangeKernel<MultiplyArgs> {
    return multiply<decltype(element), VectorProducts<float>>;
  });
}

template <class T>
void combine(const CombineArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t elements = args.matrix_count();
  const int64_t runs = ceil_div(elements, kCombinedElements);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t k = item / runs;
    const int64_t first = item % runs * kCombinedElements;
    const int64_t count = std::min(kCombinedElements, elements - first);
    const int64_t terms = args.segments.division.segments_of(args.indice_num[k]);
    T* const out = static_cast<T*>(args.filters_grad) + k * elements + first;
    if (terms == 0) {
      std::memset(static_cast<void*>(out), 0, static_cast<size_t>(count) * sizeof(T));
    } else if (terms > 1) {
      add_rows(args.partials + args.segments.first_partials[k] * elements + first, terms, elements, count, out);
    }
  }
}

MLUOP_SELECT_BY_DTYPE(combine, CombineArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution::backward_filter
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::indice_convolution::backward_filter {

MLUOP_EXPORT_KERNEL(check_kernel, check_pairs, CheckArgs);
HWY_EXPORT(select_multiply);
RangeKernel<MultiplyArgs> multiply_kernel(mluOpDataType_t dtype, Products products) {
  return MLUOP_DISPATCH(select_multiply)(dtype, products);
}

MLUOP_EXPORT_KERNEL_OF_DTYPE(combine_kernel, combine, CombineArgs);

}  // namespace mluop::indice_convolution::backward_filter
#endif
