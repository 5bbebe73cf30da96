#include "ops/dcn/dcn_backward_weight_native_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dcn/dcn_backward_weight_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/dcn/columns-inl.h"
#include "ops/dcn/samples-inl.h"
#include "primitives/gemm/outer_products-inl.h"
#include "primitives/gemm/pack_panel-inl.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "primitives/simd/sum_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dcn::backward_weight {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using dcn::HWY_NAMESPACE::Sampler;
using dcn::HWY_NAMESPACE::write_columns;
using mluop::HWY_NAMESPACE::add_rows;
using mluop::HWY_NAMESPACE::copy_row;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::interleave_rows;
using mluop::HWY_NAMESPACE::kNr;
using mluop::HWY_NAMESPACE::kPanelLanes;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::outer_product_panel;
using mluop::HWY_NAMESPACE::OuterProductArgs;
using mluop::HWY_NAMESPACE::round_row;
using mluop::HWY_NAMESPACE::store_f32;

// The product of a segment and a tile of the filters. T, here and below: the element type of the tensors; Element:
// the type in which they are multiplied.
template <class T, class Element>
class TileProduct {
 public:
  TileProduct(const MultiplyArgs& args, const Tile<T, Element>& tile, int64_t item)
      : args_(args),
        tile_(tile),
        segment_(item / args.tiling.tiles(args)),
        filters_(args.tiling.tile(args, item % args.tiling.tiles(args))),
        columns_(filters_.column_end - filters_.column),
        width_(round_up(columns_, kPanelLanes)) {}

  void compute() {
    const SampleBox box = filters_.samples(args_);
    const Sampler<T> sampler(args_, box, tile_.samples);
    const Range range = args_.segments.pixels(args_, segment_);
    for (int64_t first = range.begin; first < range.end; first += args_.tiling.batch()) {
      const int64_t count = std::min(args_.tiling.batch(), range.end - first);
      for (int64_t row = 0; row < count; ++row) sampler.find(row, first + row);
      for (int64_t group = filters_.group; group < filters_.group_end; ++group) {
        write_rows(box, group, first, count);
        multiply(group, count, first == range.begin);
      }
    }
    for (int64_t group = filters_.group; group < filters_.group_end; ++group) write_sums(group);
  }

 private:
  float* sums_of(int64_t group) const {
    return tile_.sums + (group - filters_.group) * args_.tiling.outputs * args_.tiling.columns;
  }

  // Writes the columns and the gradients of a batch of output pixels.
  void write_rows(const SampleBox& box, int64_t group, int64_t first, int64_t count) const {
    const int64_t pieces = find_pieces(args_, box, group, filters_.column, filters_.column_end, tile_.pieces);
    const int64_t image_elements = args_.H * args_.W * args_.Ci, outputs = filters_.output_end - filters_.output;
    const T* const grads = static_cast<const T*>(args_.grad_output) + first * args_.Co +
                           group * args_.group_outputs() + filters_.output;
    const auto write = [&](int64_t row, Element* to) HWY_ATTR {
      const T* const image =
          static_cast<const T*>(args_.input) + (first + row) / args_.image_pixels() * image_elements;
      write_columns(tile_.samples, row, image, args_.Ci, tile_.zeros, tile_.pieces, pieces, to);
    };
    float *columns = tile_.columns, *grad = tile_.grads;
    for (int64_t row = 0; row < count; row += kStep<Element>) {
      if constexpr (std::is_same_v<Element, float>) {
        write(row, columns);
        std::fill(columns + columns_, columns + width_, 0.0F);
        copy_row(grads + row * args_.Co, outputs, outputs, grad);
      } else {
        const Element *column_pair[2] = {}, *grad_pair[2] = {};
        for (int64_t i = 0; i < std::min<int64_t>(count - row, 2); ++i) {
          Element* const to = tile_.pair + i * args_.tiling.columns;
          write(row + i, to);
          column_pair[i] = to;
          grad_pair[i] = grads + (row + i) * args_.Co;
        }
        interleave_rows(column_pair, columns_, width_, columns);
        interleave_rows(grad_pair, outputs, outputs, grad);
      }
      tile_.column_rows[row / kStep<Element>] = columns;
      tile_.grad_rows[row / kStep<Element>] = grad;
      columns += args_.tiling.column_stride();
      grad += args_.tiling.grad_stride();
    }
  }

  // Adds the products of a batch.
  void multiply(int64_t group, int64_t count, bool starts) const {
    for (int64_t column = 0; column < width_; column += kNr) {
      const OuterProductArgs args{
          tile_.grad_rows,         tile_.column_rows,   column, ceil_div(count, kStep<Element>), starts,
          sums_of(group) + column, args_.tiling.columns};
      outer_product_panel<Element>(std::min(kNr, width_ - column), args, filters_.output_end - filters_.output,
                                   [] {});
    }
  }

  void write_sums(int64_t group) const {
    const int64_t all_columns = args_.group_columns();
    const int64_t first = (group * args_.group_outputs() + filters_.output) * all_columns + filters_.column;
    const auto write = [&](auto* to) {
      for (int64_t output = filters_.output; output < filters_.output_end; ++output, to += all_columns) {
        round_row(sums_of(group) + (output - filters_.output) * args_.tiling.columns, columns_, to);
      }
    };
    if (args_.segments.count == 1) {
      write(static_cast<T*>(args_.grad_filter) + first);
    } else {
      write(args_.segments.partials + segment_ * args_.filter_count() + first);
    }
  }

  const MultiplyArgs& args_;
  const Tile<T, Element>& tile_;
  int64_t segment_;
  FilterTile filters_;
  int64_t columns_;
  int64_t width_;  // columns, rounded up to whole vectors
};

template <class T, class Element>
void multiply(const MultiplyArgs& args, int64_t begin, int64_t end, Task& task) {
  const Tile<T, Element> tile(task.nram, args.tiling);
  std::fill_n(tile.zeros, args.tiling.columns, T{});
  for (int64_t item = begin; item < end; ++item) TileProduct<T, Element>(args, tile, item).compute();
}

MLUOP_SELECT_BY_ELEMENT(multiply, MultiplyArgs);

template <class T>
void combine(const CombineArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t item = begin; item < end; ++item) {
    const int64_t first = item * kCombinedElements;
    add_rows(args.segments.partials + first, args.segments.count, args.filter_count(),
             std::min(kCombinedElements, args.filter_count() - first), static_cast<T*>(args.grad_filter) + first);
  }
}

MLUOP_SELECT_BY_DTYPE(combine, CombineArgs);

// out[0, count) = the sum of all rows of grad_output.
template <class T>
HWY_INLINE void add_pixels(const BackwardWeightArgs& args, const T* grads, int64_t count, T* out) {
  for_each_vector(count, [&](auto d, int64_t c) HWY_ATTR {
    auto sum = hn::Zero(d);
    for (int64_t pixel = 0; pixel < args.pixels(); ++pixel) {
      sum = hn::Add(sum, load_f32(d, grads + pixel * args.Co + c));
    }
    store_f32(sum, d, out + c);
  });
}

template <class T>
void add_bias(const BackwardWeightArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t first = begin * kMaxLanes;
  add_pixels(args, static_cast<const T*>(args.grad_output) + first, std::min(end * kMaxLanes, args.Co) - first,
             static_cast<T*>(args.grad_bias) + first);
}

MLUOP_SELECT_BY_DTYPE(add_bias, BackwardWeightArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dcn::backward_weight
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dcn::backward_weight {

MLUOP_EXPORT_KERNEL_OF_DTYPE(multiply_kernel, multiply, MultiplyArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(combine_kernel, combine, CombineArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(add_bias_kernel, add_bias, BackwardWeightArgs);

}  // namespace mluop::dcn::backward_weight
#endif
