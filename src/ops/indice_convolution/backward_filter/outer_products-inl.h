// Indice convolution backward filter: the microkernel, a sum of outer products with the sums in registers.
// Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_INDICE_CONVOLUTION_BACKWARD_FILTER_OUTER_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_INDICE_CONVOLUTION_BACKWARD_FILTER_OUTER_PRODUCTS_INL_H
#undef MLUOP_INDICE_CONVOLUTION_BACKWARD_FILTER_OUTER_PRODUCTS_INL_H
#else
#define MLUOP_INDICE_CONVOLUTION_BACKWARD_FILTER_OUTER_PRODUCTS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <utility>

#include "primitives/gemm_microkernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution::backward_filter {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kLanes;
using mluop::HWY_NAMESPACE::kNrVectors;
using mluop::HWY_NAMESPACE::kVectorRegisters;
using mluop::HWY_NAMESPACE::PanelTag;

// The rows of a block by the vectors of its panel. A block covers all pairs of a chunk, so that loading and
// storing its sums costs little: they take all registers.
inline constexpr auto kBlockRowsOf = [](int64_t panel_vectors) -> int64_t {
  constexpr int kOf32Registers[] = {12, 10, 8, 6};
  constexpr int kOf16Registers[] = {12, 6};
  return kVectorRegisters == 32 ? kOf32Registers[panel_vectors - 1] : kOf16Registers[panel_vectors - 1];
};

// What the blocks of one panel have in common.
struct OuterProducts {
  const float* const* features;  // [pairs], the rows of features
  const float* const* grads;     // [pairs], the rows of output_grad
  int64_t column;                // of the panel in these rows
  int64_t pairs;
  bool starts;  // the sums are 0 before, whatever their memory holds
  float* sums;
  int64_t sum_stride;
};

// sums[r] += features[p][row + r] * the panel of grads[p] for each pair p in order, of kRows rows.
template <int kRows, int kVectors>
HWY_NOINLINE void add_outer_products(const OuterProducts& args, int64_t row) {
  const PanelTag d;
  float* const to = args.sums + row * args.sum_stride;
  hn::Vec<PanelTag> sums[kRows][kVectors];
  HWY_UNROLL(12) for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = args.starts ? hn::Zero(d) : hn::LoadU(d, to + r * args.sum_stride + v * kLanes);
    }
  }
  const float* const* const features = args.features;
  const float* const* const grads = args.grads;
  const int64_t column = args.column;
  for (int64_t p = 0, pairs = args.pairs; p < pairs; ++p) {
    const float* feature = features[p] + row;
    const float* panel = grads[p] + column;
    // Keeps GCC from adding row and column to the offset of each element instead, which takes a register for each.
    asm("" : "+r"(feature), "+r"(panel));
    hn::Vec<PanelTag> b[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) b[v] = hn::LoadU(d, panel + v * kLanes);
    HWY_UNROLL(12) for (int r = 0; r < kRows; ++r) {
      const auto element = hn::Set(d, feature[r]);
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(element, b[v], sums[r][v]);
    }
  }
  HWY_UNROLL(12) for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4) for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(sums[r][v], d, to + r * args.sum_stride + v * kLanes);
    }
  }
}

using OuterProductsKernel = void (*)(const OuterProducts&, int64_t);

// The kernels of 1, 2, ... rows.
template <int kVectors, int... kRowsMinusOne>
constexpr auto outer_products_table(std::integer_sequence<int, kRowsMinusOne...>) {
  return std::array<OuterProductsKernel, sizeof...(kRowsMinusOne)>{
      add_outer_products<kRowsMinusOne + 1, kVectors>...};
}

// `rows` rows of sums. Calls after_block() after each block.
template <int kVectors, class AfterBlock>
void add_outer_products_of_rows(const OuterProducts& args, int64_t rows, const AfterBlock& after_block) {
  constexpr int64_t kBlockRows = kBlockRowsOf(kVectors);
  static constexpr auto kTable =
      outer_products_table<kVectors>(std::make_integer_sequence<int, static_cast<int>(kBlockRows)>());
  for (int64_t row = 0; row < rows; row += kBlockRows) {
    kTable[static_cast<size_t>(std::min(kBlockRows, rows - row) - 1)](args, row);
    after_block();
  }
}

// The same for a panel of `width` columns, whole vectors.
template <class AfterBlock>
void add_outer_products_of_panel(int64_t width, const OuterProducts& args, int64_t rows,
                                 const AfterBlock& after_block) {
  const int64_t vectors = width / kLanes;
  if (vectors == 1) return add_outer_products_of_rows<1>(args, rows, after_block);
  if constexpr (kNrVectors == 4) {
    if (vectors == 2) return add_outer_products_of_rows<2>(args, rows, after_block);
    if (vectors == 3) return add_outer_products_of_rows<3>(args, rows, after_block);
  }
  add_outer_products_of_rows<kNrVectors>(args, rows, after_block);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution::backward_filter
HWY_AFTER_NAMESPACE();

#endif  // include guard
