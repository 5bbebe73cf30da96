#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/indice_convolution/backward_filter/multiply_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/caches.h"
#include "core/half.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "ops/indice_convolution/backward_filter/kernels.h"
#include "ops/indice_convolution/backward_filter/outer_products-inl.h"
#include "primitives/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution::backward_filter {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kNr;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::store_f32;

// Pairs whose products are added together: consecutive ones of a segment, less those that are skipped.
struct Chunk {
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

// Longer rows of consecutive pairs share few sets of L1.
constexpr int64_t kMaxInPlaceBytes = 512;

// Not to the first-level cache, which holds the panel of a chunk.
HWY_INLINE void prefetch_to_l2(const void* row, int64_t row_bytes) {
  for (int64_t i = 0; i < row_bytes; i += kCacheLine) __builtin_prefetch(static_cast<const char*>(row) + i, 0, 2);
}

// to[0, width) = from[0, count) in fp32, and zeros; width - count is less than kLanes.
template <class T>
HWY_INLINE void copy_row(const T* from, int64_t count, int64_t width, float* to) {
  const PanelTag d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(load_f32(d, from + i), d, to + i);
  for (; i < count; ++i) to[i] = mluop::to_f32(from[i]);
  for (; i < width; ++i) to[i] = 0;
}

// Rows of a tensor of T, `stride` elements apart, are read in place.
template <class T>
bool is_read_in_place(int64_t stride) {
  return std::is_same_v<T, float> && stride * int64_t{sizeof(float)} <= kMaxInPlaceBytes;
}

// Makes rows[i] the row indices[i] of a tensor from `first` on, whose rows are `stride` elements apart: of `count`
// elements, and zeros up to `width`; in place or in `copies`, whose rows are `copy_stride` elements apart.
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

// to[0, count) = from[0, count), rounded to T.
template <class T>
HWY_INLINE void write_row(const float* from, int64_t count, T* to) {
  const PanelTag d;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store_f32(hn::LoadU(d, from + i), d, to + i);
  for (; i < count; ++i) round_to(from[i], to + i);
}

// The product of a segment for the input channels [row, row + rows) and the output channels [column, column +
// columns).
template <class T>
class Product {
 public:
  Product(const MultiplyArgs& args, const Tile& tile, int64_t item)
      : args_(args),
        call_(args.call),
        tile_(tile),
        segment_(args.segments.segments[item / args.tiling.tiles(args.call)]) {
    const Tiling& tiling = args.tiling;
    const int64_t number = item % tiling.tiles(call_), column_tiles = tiling.column_tiles(call_);
    row_ = number / column_tiles * tiling.rows;
    rows_ = std::min(tiling.rows, call_.Ci - row_);
    column_ = number % column_tiles * tiling.columns;
    columns_ = std::min(tiling.columns, call_.Co - column_);
    width_ = round_up(columns_, kLanes);
    features_ = static_cast<const T*>(call_.features) + row_;
    output_grad_ = static_cast<const T*>(call_.output_grad) + column_;
    feature_in_place_ = is_read_in_place<T>(call_.Ci);
    // Whole vectors.
    grad_in_place_ = is_read_in_place<T>(call_.Co) && columns_ == width_;
    const bool are_written_as_fp32 = segment_.partial != kNone || std::is_same_v<T, float>;
    sums_in_place_ = are_written_as_fp32 && columns_ == width_;
    sums_ = sums_in_place_ ? static_cast<float*>(matrix()) + row_ * call_.Co + column_ : tile.sums;
    sum_stride_ = sums_in_place_ ? call_.Co : width_;
  }

  // Adds the products of the positions [begin, end), which follow those of the call before.
  void run(int64_t begin, int64_t end) {
    int64_t l = begin;
    end_ = end;
    Chunk chunk = read(l, 0);
    for (int side = 1; l < end; side = 1 - side) {
      l += args_.tiling.chunk_pairs;
      const Chunk next = read(l, side);
      pack(chunk);
      multiply(chunk.count, next);
      chunk = next;
    }
    write();
  }

  // Continues from the partial sums.
  void resume() {
    starts_ = false;
    if (sums_in_place_) return;
    const float* from = static_cast<const float*>(matrix());
    for (int64_t r = 0; r < rows_; ++r) {
      copy_row(from + (row_ + r) * call_.Co + column_, columns_, width_, sums_ + r * width_);
    }
  }

 private:
  // The chunk from position l on; `side`: which of the two buffers of indices it may use.
  Chunk read(int64_t l, int side) const {
    if (l >= end_) return {};
    const int64_t max = args_.tiling.chunk_pairs, count = std::min(max, end_ - l);
    const int32_t* from_inputs = call_.inputs(segment_.k) + l;
    const int32_t* from_outputs = call_.outputs(segment_.k) + l;
    if (!any_negative(from_inputs, from_outputs, count)) return {count, from_inputs, from_outputs};
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

  // Finds the rows of a chunk, and copies those that are not read in place.
  void pack(const Chunk& chunk) const {
    const Tiling& tiling = args_.tiling;
    gather(features_, chunk.inputs, chunk.count, call_.Ci, rows_, rows_, feature_in_place_, tile_.features,
           tiling.feature_stride(), tile_.feature_rows);
    gather(output_grad_, chunk.outputs, chunk.count, call_.Co, columns_, width_, grad_in_place_, tile_.grads,
           tiling.grad_stride(), tile_.grad_rows);
  }

  // Adds the products of the packed pairs, and prefetches the rows of the next chunk between blocks.
  void multiply(int64_t pairs, const Chunk& next) {
    const int64_t panels = ceil_div(width_, kNr);
    const int64_t blocks = panels * ceil_div(rows_, kBlockRowsOf(std::min(width_, kNr) / kLanes));
    const int64_t step = ceil_div(next.count, blocks);
    int64_t prefetched = 0;
    const auto prefetch_step = [&] {
      const int64_t end = std::min(prefetched + step, next.count);
      for (; prefetched < end; ++prefetched) {
        prefetch_to_l2(features_ + next.inputs[prefetched] * call_.Ci, rows_ * int64_t{sizeof(T)});
        prefetch_to_l2(output_grad_ + next.outputs[prefetched] * call_.Co, columns_ * int64_t{sizeof(T)});
      }
    };
    for (int64_t column = 0; column < width_; column += kNr) {
      const OuterProducts products{tile_.feature_rows, tile_.grad_rows, column, pairs, starts_,
                                   sums_ + column,     sum_stride_};
      add_outer_products_of_panel(std::min(kNr, width_ - column), products, rows_, prefetch_step);
    }
    starts_ = false;
  }

  // Where the sums of the segment are written: its partial sums, or the filters of its offset, which are T.
  void* matrix() const {
    if (segment_.partial != kNone) return args_.partials + segment_.partial * call_.matrix_count();
    return static_cast<T*>(call_.filters_grad) + segment_.k * call_.matrix_count();
  }

  void write() const {
    if (sums_in_place_) return;
    if (segment_.partial == kNone) {
      write_to(static_cast<T*>(matrix()));
    } else {
      write_to(static_cast<float*>(matrix()));
    }
  }

  template <class Element>
  void write_to(Element* to) const {
    for (int64_t r = 0; r < rows_; ++r) {
      write_row(sums_ + r * width_, columns_, to + (row_ + r) * call_.Co + column_);
    }
  }

  const MultiplyArgs& args_;
  const Args& call_;
  const Tile& tile_;
  const Segment& segment_;
  bool starts_ = true;  // no product has been added
  int64_t end_ = 0;
  int64_t row_, rows_;
  int64_t column_, columns_;
  int64_t width_;  // the columns in whole vectors
  const T *features_, *output_grad_;
  bool feature_in_place_, grad_in_place_;
  bool sums_in_place_;  // in the matrix of the segment
  float* sums_;         // of input channel row_ and output channel column_, whose rows are sum_stride_ apart
  int64_t sum_stride_;
};

// Segments that a task processes in parallel, block by block.
constexpr int64_t kMaxProducts = 64;

// Returns how many work items from `item` on are segments of its group with partial sums, at least 1.
int64_t count_in_group(const MultiplyArgs& args, int64_t item, int64_t end) {
  if (args.tiling.tiles(args.call) > 1) return 1;
  const Segment* const segments = args.segments.segments;
  const auto continues = [&](int64_t i) {
    return segments[i].partial != kNone && segments[i].group == segments[item].group;
  };
  int64_t next = item;
  while (next < end && continues(next)) ++next;
  return std::max<int64_t>(next - item, 1);
}

// The segments of a group, in blocks of rows that remain in the caches. Input rows are expected to ascend; other
// orders are slower, with the same result.
template <class T>
void multiply_group(const MultiplyArgs& args, const Tile& tile, int64_t first, int64_t count) {
  const Args& call = args.call;
  int64_t done[kMaxProducts];
  int64_t limit = call.N;
  for (int64_t i = 0; i < count; ++i) {
    const Segment& segment = args.segments.segments[first + i];
    done[i] = segment.begin;
    limit = std::min(limit, std::max<int64_t>(call.inputs(segment.k)[segment.begin], 0));
  }
  for (int64_t left = count; left > 0;) {
    limit += args.tiling.block_rows;
    left = 0;
    for (int64_t i = 0; i < count; ++i) {
      const Segment& segment = args.segments.segments[first + i];
      const int32_t* inputs = call.inputs(segment.k);
      const int64_t begin = done[i];
      if (begin == segment.end) continue;
      done[i] =
          limit >= call.N ? segment.end : std::lower_bound(inputs + begin, inputs + segment.end, limit) - inputs;
      if (done[i] < segment.end) ++left;
      if (done[i] == begin) continue;
      Product<T> product(args, tile, first + i);
      if (begin > segment.begin) product.resume();
      product.run(begin, done[i]);
    }
  }
}

template <class T>
void multiply(const MultiplyArgs& args, int64_t begin, int64_t end, Task& task) {
  const Tile tile(task.nram, args.tiling);
  for (int64_t item = begin; item < end;) {
    const int64_t count = std::min(count_in_group(args, item, end), kMaxProducts);
    if (count > 1) {
      multiply_group<T>(args, tile, item, count);
    } else {
      const Segment& segment = args.segments.segments[item / args.tiling.tiles(args.call)];
      Product<T>(args, tile, item).run(segment.begin, segment.end);
    }
    item += count;
  }
}

MLUOP_SELECT_BY_DTYPE(multiply, MultiplyArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution::backward_filter
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::indice_convolution::backward_filter {

MLUOP_EXPORT_KERNEL_OF_DTYPE(multiply_kernel, multiply, MultiplyArgs);

}  // namespace mluop::indice_convolution::backward_filter
#endif
