// The microkernel of a sum of outer products, with the sums in registers: multiplies a transposed matrix by a
// matrix whose rows may be anywhere. Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_OUTER_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_OUTER_PRODUCTS_INL_H
#undef MLUOP_PRIMITIVES_OUTER_PRODUCTS_INL_H
#else
#define MLUOP_PRIMITIVES_OUTER_PRODUCTS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <utility>

#include "primitives/gemm/gemm_microkernel-inl.h"

MLUOP_BEFORE_MICROKERNEL();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// MR by the vectors of the panel. Sums take all registers: a block covers all rows of a batch, so that loading and
// storing its sums costs little.
inline constexpr auto kOuterProductMr = [](int64_t panel_vectors) -> int64_t {
  constexpr int kOf32Registers[] = {12, 10, 8, 6};
  constexpr int kOf16Registers[] = {12, 6};
  return kVectorRegisters == 32 ? kOf32Registers[panel_vectors - 1] : kOf16Registers[panel_vectors - 1];
};

// Shared by the blocks of one panel.
struct OuterProductArgs {
  const float* const* a;  // [count], rows
  const float* const* b;  // [count], rows
  int64_t column;         // first column of the panel in the rows of b
  int64_t count;
  bool starts;  // sums start at 0; their memory is not read
  float* sums;
  int64_t sum_stride;
};

// sums[r] += a[i][row + r] * the panel of b[i] for each i in order, for kBlockRows rows. The elements of rows are
// lanes of one float, or of two BFloat16 whose products are added.
template <class Element, int kBlockRows, int kBlockVectors>
HWY_NOINLINE void outer_product_microkernel(const OuterProductArgs& args, int64_t row) {
  const PanelTag d;
  float* const to = args.sums + row * args.sum_stride;
  hn::Vec<PanelTag> sums[kBlockRows][kBlockVectors];
  HWY_UNROLL(12) for (int r = 0; r < kBlockRows; ++r) {
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) {
      sums[r][v] = args.starts ? hn::Zero(d) : hn::LoadU(d, to + r * args.sum_stride + v * kPanelLanes);
    }
  }
  const float* const* const a = args.a;
  const float* const* const b = args.b;
  const int64_t column = args.column;
  for (int64_t i = 0, count = args.count; i < count; ++i) {
    const float* elements = a[i] + row;
    const float* panel = b[i] + column;
    // Otherwise GCC adds row and column to the offset of each element, which takes a register for each.
    asm("" : "+r"(elements), "+r"(panel));
    hn::Vec<PanelTag> columns[kBlockVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kBlockVectors; ++v) columns[v] = hn::LoadU(d, panel + v * kPanelLanes);
    HWY_UNROLL(12) for (int r = 0; r < kBlockRows; ++r) {
      const auto element = hn::Set(d, elements[r]);
      HWY_UNROLL(4)
      for (int v = 0; v < kBlockVectors; ++v) sums[r][v] = add_products<Element>(element, columns[v], sums[r][v]);
    }
  }
  HWY_UNROLL(12) for (int r = 0; r < kBlockRows; ++r) {
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) {
      hn::StoreU(sums[r][v], d, to + r * args.sum_stride + v * kPanelLanes);
    }
  }
}

using OuterProductMicrokernel = void (*)(const OuterProductArgs&, int64_t);

// The microkernels of 1, 2, ... rows.
template <class Element, int kBlockVectors, int... kBlockRowsMinusOne>
constexpr auto outer_product_table(std::integer_sequence<int, kBlockRowsMinusOne...>) {
  return std::array<OuterProductMicrokernel, sizeof...(kBlockRowsMinusOne)>{
      outer_product_microkernel<Element, kBlockRowsMinusOne + 1, kBlockVectors>...};
}

// Computes `rows` rows of sums of a panel of kBlockVectors vectors. Calls after_block() after each block.
template <class Element, int kBlockVectors, class AfterBlock>
void outer_product_rows(const OuterProductArgs& args, int64_t rows, const AfterBlock& after_block) {
  constexpr int64_t kBlockRows = kOuterProductMr(kBlockVectors);
  static constexpr auto kTable =
      outer_product_table<Element, kBlockVectors>(std::make_integer_sequence<int, static_cast<int>(kBlockRows)>());
  for (int64_t row = 0; row < rows; row += kBlockRows) {
    kTable[static_cast<size_t>(std::min(kBlockRows, rows - row) - 1)](args, row);
    after_block();
  }
}

// The same for a panel of `width` columns (whole vectors).
template <class Element, class AfterBlock>
void outer_product_panel(int64_t width, const OuterProductArgs& args, int64_t rows,
                         const AfterBlock& after_block) {
  const int64_t vectors = width / kPanelLanes;
  if (vectors == 1) return outer_product_rows<Element, 1>(args, rows, after_block);
  if constexpr (kNrVectors == 4) {
    if (vectors == 2) return outer_product_rows<Element, 2>(args, rows, after_block);
    if (vectors == 3) return outer_product_rows<Element, 3>(args, rows, after_block);
  }
  outer_product_rows<Element, kNrVectors>(args, rows, after_block);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
