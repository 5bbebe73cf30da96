// Products of matrices: a few rows times a panel of a matrix, a block of them at a time in registers. Per-target
// code of Highway: include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_MULTIPLY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_MULTIPLY_INL_H
#undef MLUOP_PRIMITIVES_MULTIPLY_INL_H
#else
#define MLUOP_PRIMITIVES_MULTIPLY_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <utility>

#include "primitives/matmul.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using PanelTag = hn::CappedTag<float, kMaxLanes>;

inline constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(PanelTag()));

// Vectors of a panel, and rows of a block by the vectors of its panel. 16 registers are full with them, a
// broadcast element and the panel's vectors. 32 registers would hold half as many rows again: but a block begins
// while the one before it stores its sums, and does so the earlier the smaller they are.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
inline constexpr int kVectors = 4;
inline constexpr int kRows[] = {8, 6, 6, 4};
#else
inline constexpr int kVectors = 2;
inline constexpr int kRows[] = {12, 6};
#endif
inline constexpr int64_t kPanel = kVectors * kLanes;

// What the blocks of a product have in common.
struct Product {
  const float* panel;  // [inputs][vectors * lanes]
  int64_t inputs;      // elements of a row that take part
  const float* rows;   // the first of them of row 0
  int64_t row_stride;
  float* sums;  // of sum first_sum
  int64_t sum_stride;
  int32_t first_sum;
};

// sum number to[r] += row number from[r] * panel for each r, element by element of the row, by fused multiply-adds
// where there are any. No two have the same sum.
template <int kBlockRows, int kBlockVectors>
HWY_NOINLINE void multiply(const Product& product, const int32_t* HWY_RESTRICT from,
                           const int32_t* HWY_RESTRICT to) {
  const PanelTag d;
  float* places[kBlockRows];
  hn::Vec<PanelTag> sums[kBlockRows][kBlockVectors];
  HWY_UNROLL(24) for (int r = 0; r < kBlockRows; ++r) {
    places[r] = product.sums + (int64_t{to[r]} - product.first_sum) * product.sum_stride;
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) sums[r][v] = hn::LoadU(d, places[r] + v * kLanes);
  }
  const float* HWY_RESTRICT panel = product.panel;
  const float* elements[kBlockRows];
  HWY_UNROLL(24) for (int r = 0; r < kBlockRows; ++r) elements[r] = product.rows + from[r] * product.row_stride;
  for (int64_t i = 0; i < product.inputs; ++i) {
    hn::Vec<PanelTag> column[kBlockVectors];
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) column[v] = hn::LoadU(d, panel + v * kLanes);
    HWY_UNROLL(24) for (int r = 0; r < kBlockRows; ++r) {
      const auto element = hn::Set(d, elements[r][i]);
      HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) {
        sums[r][v] = hn::MulAdd(element, column[v], sums[r][v]);
      }
    }
    panel += kBlockVectors * kLanes;
  }
  HWY_UNROLL(24) for (int r = 0; r < kBlockRows; ++r) {
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) hn::StoreU(sums[r][v], d, places[r] + v * kLanes);
  }
}

using Multiply = void (*)(const Product&, const int32_t*, const int32_t*);

template <int kBlockVectors, int... kRowsLessOne>
constexpr auto multiply_table(std::integer_sequence<int, kRowsLessOne...>) {
  return std::array<Multiply, sizeof...(kRowsLessOne)>{multiply<kRowsLessOne + 1, kBlockVectors>...};
}

// Any number of rows, times a panel. Calls after_block() after each block.
template <int kBlockVectors, class AfterBlock>
void multiply_rows(const Product& product, const int32_t* from, const int32_t* to, int64_t count,
                   const AfterBlock& after_block) {
  constexpr int64_t kBlock = kRows[kBlockVectors - 1];
  static constexpr auto kMultiply = multiply_table<kBlockVectors>(std::make_integer_sequence<int, kBlock>());
  for (int64_t i = 0; i < count; i += kBlock) {
    kMultiply[static_cast<size_t>(std::min(kBlock, count - i) - 1)](product, from + i, to + i);
    after_block();
  }
}

// The same for a panel of `width` columns, whole vectors.
template <class AfterBlock>
void multiply_panel(int64_t width, const Product& product, const int32_t* from, const int32_t* to, int64_t count,
                    const AfterBlock& after_block) {
  switch (width / kLanes) {
    case 1: return multiply_rows<1>(product, from, to, count, after_block);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
    case 2: return multiply_rows<2>(product, from, to, count, after_block);
    case 3: return multiply_rows<3>(product, from, to, count, after_block);
#endif
    default: return multiply_rows<kVectors>(product, from, to, count, after_block);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
