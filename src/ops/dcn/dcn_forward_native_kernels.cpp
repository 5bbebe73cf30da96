#include "ops/dcn/dcn_forward_native_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dcn/dcn_forward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <numeric>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/dcn/columns-inl.h"
#include "ops/dcn/samples-inl.h"
#include "primitives/gemm/gemm_microkernel-inl.h"
#include "primitives/gemm/pack_panel-inl.h"
#include "primitives/simd/sum_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dcn::forward {
namespace HWY_NAMESPACE {
using dcn::HWY_NAMESPACE::Sampler;
using dcn::HWY_NAMESPACE::write_columns;
using mluop::HWY_NAMESPACE::copy_row;
using mluop::HWY_NAMESPACE::gemm_panel;
using mluop::HWY_NAMESPACE::kNr;
using mluop::HWY_NAMESPACE::kPanelLanes;
using mluop::HWY_NAMESPACE::MatrixColumns;
using mluop::HWY_NAMESPACE::MicrokernelArgs;
using mluop::HWY_NAMESPACE::pack_panel;
using mluop::HWY_NAMESPACE::round_row;

// T, here and below: the element type of the tensors; Element: the type in which they are multiplied.
template <class T, class Element>
void pack(const PackArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t outputs = args.group_outputs(), columns = args.group_columns();
  const int64_t padded_columns = round_up(columns, kStep<Element>);
  const int64_t panels = ceil_div(outputs, kNr);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t group = item / panels, output = item % panels * kNr;
    const T* const from = static_cast<const T*>(args.filter) + (group * outputs + output) * columns;
    const MatrixColumns<T> matrix{from, 1, columns, columns, std::min(kNr, outputs - output)};
    pack_panel(matrix, static_cast<Element*>(args.packed_filters) +
                           (group * padded_outputs(args) + output) * padded_columns);
  }
}

MLUOP_SELECT_BY_ELEMENT(pack, PackArgs);

// The convolution of a tile of output pixels.
template <class T, class Element>
class TileConvolution {
 public:
  TileConvolution(const ConvolveArgs& args, Tile<T, Element>& tile, int64_t first, int64_t count)
      : args_(args), tile_(tile), first_(first), count_(count) {}

  // Computes the output channels [output, output + outputs) of a group over all columns.
  void compute(const SampleBox& box, int64_t group, int64_t output, int64_t outputs) const {
    const int64_t columns = args_.group_columns(), width = round_up(outputs, kPanelLanes);
    start_sums(group * args_.group_outputs() + output, outputs, width);
    const Element* const filters = static_cast<const Element*>(args_.packed_filters) +
                                   (group * padded_outputs(args_) + output) * padded(columns);
    for (int64_t column = 0; column < columns; column += args_.tiling.columns) {
      const int64_t end = std::min(column + args_.tiling.columns, columns);
      const int64_t pieces = find_pieces(args_, box, group, column, end, tile_.pieces);
      for (int64_t row = 0; row < count_; row += args_.tiling.batch) {
        const int64_t rows = std::min(args_.tiling.batch, count_ - row);
        for (int64_t i = 0; i < rows; ++i) {
          Element* const to = tile_.columns + i * args_.tiling.columns;
          write_columns(tile_.samples, row + i, image_of(row + i), args_.Ci, tile_.zeros, tile_.pieces, pieces,
                        to);
          std::fill(to + (end - column), to + padded(end - column), Element{});
        }
        multiply(filters, column, end - column, row, rows, width);
      }
    }
    write_sums(group * args_.group_outputs() + output, outputs);
  }

 private:
  static constexpr int64_t padded(int64_t columns) { return round_up(columns, kStep<Element>); }

  const T* image_of(int64_t row) const {
    return static_cast<const T*>(args_.input) +
           (first_ + row) / args_.image_pixels() * args_.H * args_.W * args_.Ci;
  }

  float* sums_of(int64_t row) const { return tile_.sums + row * args_.tiling.outputs; }

  // Starts the sums with the bias.
  void start_sums(int64_t output, int64_t outputs, int64_t width) const {
    for (int64_t row = 0; row < count_; ++row) {
      if (args_.bias == nullptr) {
        std::fill_n(sums_of(row), width, 0.0F);
      } else {
        copy_row(static_cast<const T*>(args_.bias) + output, outputs, width, sums_of(row));
      }
    }
  }

  // Adds the products of the columns [column, column + columns) of the pixels [row, row + rows).
  void multiply(const Element* filters, int64_t column, int64_t columns, int64_t row, int64_t rows,
                int64_t width) const {
    for (int64_t output = 0; output < width; output += kNr) {
      const int64_t panel_width = std::min(kNr, width - output);
      const MicrokernelArgs<Element> args{filters + output * padded(args_.group_columns()) + column * panel_width,
                                          padded(columns),
                                          tile_.columns,
                                          args_.tiling.columns,
                                          sums_of(row) + output,
                                          args_.tiling.outputs,
                                          0};
      gemm_panel(panel_width, args, tile_.rows, tile_.rows, rows, [] {});
    }
  }

  void write_sums(int64_t output, int64_t outputs) const {
    T* to = static_cast<T*>(args_.output) + first_ * args_.Co + output;
    for (int64_t row = 0; row < count_; ++row, to += args_.Co) round_row(sums_of(row), outputs, to);
  }

  const ConvolveArgs& args_;
  Tile<T, Element>& tile_;
  int64_t first_, count_;  // output pixels
};

template <class T, class Element>
void convolve(const ConvolveArgs& args, int64_t begin, int64_t end, Task& task) {
  Tile<T, Element> tile(task.nram, args, args.tiling);
  std::fill_n(tile.zeros, args.tiling.columns, T{});
  std::iota(tile.rows, tile.rows + args.tiling.batch, 0);
  const SampleBox box{0, args.deformable_groups, 0, args.K()};
  const Sampler<T> sampler(args, box, tile.samples);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t first = item * args.tiling.pixels, count = std::min(args.tiling.pixels, args.pixels() - first);
    for (int64_t row = 0; row < count; ++row) sampler.find(row, first + row);
    TileConvolution<T, Element> convolution(args, tile, first, count);
    for (int64_t group = 0; group < args.groups; ++group) {
      for (int64_t output = 0; output < args.group_outputs(); output += args.tiling.outputs) {
        convolution.compute(box, group, output, std::min(args.tiling.outputs, args.group_outputs() - output));
      }
    }
  }
}

MLUOP_SELECT_BY_ELEMENT(convolve, ConvolveArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dcn::forward
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dcn::forward {

MLUOP_EXPORT_KERNEL_OF_DTYPE(pack_kernel, pack, PackArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(convolve_kernel, convolve, ConvolveArgs);

}  // namespace mluop::dcn::forward
#endif
