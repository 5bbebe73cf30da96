// Indice convolution forward: the microkernel, a block of rows times a panel of packed filters, in registers.
// Per-target code of Highway: include it inside foreach_target.
#if defined(MLUOP_INDICE_CONVOLUTION_MULTIPLY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_INDICE_CONVOLUTION_MULTIPLY_INL_H
#undef MLUOP_INDICE_CONVOLUTION_MULTIPLY_INL_H
#else
#define MLUOP_INDICE_CONVOLUTION_MULTIPLY_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ops/indice_convolution_forward/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution_forward {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kMaxLanes>;

inline constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// Vectors of a panel, and rows of a block by the vectors of its panel: what leaves one register for a broadcast
// feature and those of the filters in flight. Of 32 registers or of 16.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
inline constexpr int kVectors = 4;
inline constexpr int kRows[] = {12, 12, 8, 6};
#else
inline constexpr int kVectors = 2;
inline constexpr int kRows[] = {12, 6};
#endif
inline constexpr int64_t kPanel = kVectors * kLanes;

// What the blocks of a chunk of pairs have in common.
struct Product {
  const float* filters;   // [ci][vectors * lanes]
  int64_t inputs;         // ci
  int64_t first_feature;  // of a row of features
  float* sums;
};

// Rows r of sums, which begin at places[r]: += rows[r] * filters, channel by channel.
template <int kBlockRows, int kBlockVectors>
HWY_NOINLINE void multiply(const Product& product, const float* const* HWY_RESTRICT rows,
                           const uint32_t* HWY_RESTRICT places) {
  const D d;
  hn::Vec<D> sums[kBlockRows][kBlockVectors];
  HWY_UNROLL(24) for (int r = 0; r < kBlockRows; ++r) {
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) {
      sums[r][v] = hn::LoadU(d, product.sums + places[r] + v * kLanes);
    }
  }
  const float* HWY_RESTRICT filters = product.filters;
  const float* features[kBlockRows];
  HWY_UNROLL(24) for (int r = 0; r < kBlockRows; ++r) features[r] = rows[r] + product.first_feature;
  for (int64_t ci = 0; ci < product.inputs; ++ci) {
    hn::Vec<D> filter[kBlockVectors];
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) filter[v] = hn::LoadU(d, filters + v * kLanes);
    HWY_UNROLL(24) for (int r = 0; r < kBlockRows; ++r) {
      const auto feature = hn::Set(d, features[r][ci]);
      HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) {
        sums[r][v] = hn::MulAdd(feature, filter[v], sums[r][v]);
      }
    }
    filters += kBlockVectors * kLanes;
  }
  HWY_UNROLL(24) for (int r = 0; r < kBlockRows; ++r) {
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) {
      hn::StoreU(sums[r][v], d, product.sums + places[r] + v * kLanes);
    }
  }
}

using Multiply = void (*)(const Product&, const float* const*, const uint32_t*);

template <int kBlockVectors, int... kRowsLessOne>
constexpr auto multiply_table(std::integer_sequence<int, kRowsLessOne...>) {
  return std::array<Multiply, sizeof...(kRowsLessOne)>{multiply<kRowsLessOne + 1, kBlockVectors>...};
}

// The rows of a chunk, times a panel.
template <int kBlockVectors>
void multiply_chunk(const Product& product, const float* const* rows, const uint32_t* places, int64_t count) {
  constexpr int64_t kBlock = kRows[kBlockVectors - 1];
  static constexpr auto kMultiply = multiply_table<kBlockVectors>(std::make_integer_sequence<int, kBlock>());
  for (int64_t i = 0; i < count; i += kBlock) {
    kMultiply[static_cast<size_t>(std::min(kBlock, count - i) - 1)](product, rows + i, places + i);
  }
}

using MultiplyChunk = void (*)(const Product&, const float* const*, const uint32_t*, int64_t);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
inline constexpr MultiplyChunk kMultiplyChunk[] = {multiply_chunk<1>, multiply_chunk<2>, multiply_chunk<3>,
                                                   multiply_chunk<4>};
#else
inline constexpr MultiplyChunk kMultiplyChunk[] = {multiply_chunk<1>, multiply_chunk<2>};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution_forward
HWY_AFTER_NAMESPACE();

#endif  // include guard
