// Microkernels for bfloat16 on tile registers. They compute the same products as gemm_microkernel-inl.h and
// outer_products-inl.h. Tiles: AmxTiles, or an emulation. Per-target code of Highway: include it inside
// foreach_target.
#if defined(MLUOP_PRIMITIVES_AMX_MICROKERNELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_AMX_MICROKERNELS_INL_H
#undef MLUOP_PRIMITIVES_AMX_MICROKERNELS_INL_H
#else
#define MLUOP_PRIMITIVES_AMX_MICROKERNELS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/element.h"
#include "primitives/gemm/amx.h"
#include "primitives/gemm/gemm_microkernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// A panel is at most four tiles wide. Its sums are in registers 0, 1, ..., then a tile of A and one of B.
inline constexpr int64_t kMaxPanelTiles = 4;

// Calls function.operator()<tile>() for tile = 0, 1, ..., kTiles - 1.
template <int kTiles, class Function>
HWY_INLINE void for_each_tile(const Function& function) {
  [&]<int... tile>(std::integer_sequence<int, tile...>) { (function.template operator()<tile>(), ...); }
  (std::make_integer_sequence<int, kTiles>());
}

// Calls function.operator()<tiles>() for the tiles of a panel of `width` columns.
template <class Function>
HWY_INLINE void with_panel_tiles(int64_t width, const Function& function) {
  switch (width / kAmxColumns) {
    case 1: return function.template operator()<1>();
    case 2: return function.template operator()<2>();
    case 3: return function.template operator()<3>();
    default: return function.template operator()<kMaxPanelTiles>();
  }
}

// C[c_rows[r]] += A[a_rows[r]] * panel for `count` rows, at most kAmxRows. Rows are copied and padded with zeros
// before tiles are loaded, so kc need not be a whole number of steps.
template <int kPanelTiles, class Tiles>
void amx_gemm_microkernel(Tiles& tiles, const MicrokernelArgs<BFloat16>& args, const int32_t* a_rows,
                          const int32_t* c_rows, int64_t count) {
  constexpr int kA = kPanelTiles, kB = kPanelTiles + 1;
  constexpr int64_t kPanelBytes = kPanelTiles * kAmxRowBytes;
  alignas(kAmxRowBytes) float sums[kAmxRows][kPanelTiles * kAmxColumns];
  alignas(kAmxRowBytes) BFloat16 a[kAmxRows][kAmxStep];
  if (count < kAmxRows) {
    std::memset(sums[count], 0, static_cast<size_t>((kAmxRows - count) * kPanelBytes));
    std::memset(static_cast<void*>(a[count]), 0, static_cast<size_t>((kAmxRows - count) * kAmxRowBytes));
  }
  const auto c_row = [&](int64_t r) { return args.c + (int64_t{c_rows[r]} - args.first_c_row) * args.c_stride; };
  for (int64_t r = 0; r < count; ++r) std::memcpy(sums[r], c_row(r), sizeof(sums[r]));
  for_each_tile<kPanelTiles>(
      [&]<int tile> { tiles.template load<tile>(sums[0] + tile * kAmxColumns, kPanelBytes); });
  const BFloat16* panel = args.panel;
  for (int64_t k = 0; k < args.kc; k += kAmxStep) {
    const BFloat16* const from = args.a + k;
    if (args.kc - k >= kAmxStep) {
      for (int64_t r = 0; r < count; ++r) std::memcpy(a[r], from + a_rows[r] * args.a_stride, sizeof(a[r]));
    } else {
      for (int64_t r = 0; r < count; ++r) {
        const BFloat16* const row = from + a_rows[r] * args.a_stride;
        std::fill(std::copy(row, row + (args.kc - k), a[r]), a[r] + kAmxStep, BFloat16{});
      }
    }
    tiles.template load<kA>(a, kAmxRowBytes);
    for_each_tile<kPanelTiles>([&]<int tile> {
      tiles.template load<kB>(panel + tile * kAmxStep, kPanelBytes);
      tiles.template multiply_add<tile, kA, kB>();
    });
    panel += kPanelTiles * kAmxRows * kAmxStep;
  }
  for_each_tile<kPanelTiles>(
      [&]<int tile> { tiles.template store<tile>(sums[0] + tile * kAmxColumns, kPanelBytes); });
  for (int64_t r = 0; r < count; ++r) std::memcpy(c_row(r), sums[r], sizeof(sums[r]));
}

// The same for any number of rows and a panel of `width` columns (whole tiles) whose rows are padded with zeros to
// whole steps. Calls after_block() after each block.
template <class Tiles, class AfterBlock>
void amx_gemm_panel(Tiles& tiles, int64_t width, const MicrokernelArgs<BFloat16>& args, const int32_t* a_rows,
                    const int32_t* c_rows, int64_t count, const AfterBlock& after_block) {
  with_panel_tiles(width, [&]<int kPanelTiles> {
    for (int64_t i = 0; i < count; i += kAmxRows) {
      amx_gemm_microkernel<kPanelTiles>(tiles, args, a_rows + i, c_rows + i, std::min(kAmxRows, count - i));
      after_block();
    }
  });
}

// Shared by the blocks of one panel of a sum of outer products. Lanes hold the elements of two rows.
struct AmxOuterProductArgs {
  const float* a;  // [count, a_stride], squares of 16 x 16 lanes, transposed
  int64_t a_stride;
  const float* b;  // [count, b_stride], starting at the panel
  int64_t b_stride;
  int64_t count;  // a multiple of kAmxRows
  bool starts;    // sums start at 0; their memory is not read
  float* sums;    // [rows, sum_stride], rows rounded up to kAmxRows
  int64_t sum_stride;
};

// sums[r] += the products of lane row + r of a and the panel of b, added over all lines, for kAmxRows rows.
template <int kPanelTiles, class Tiles>
void amx_outer_product_microkernel(Tiles& tiles, const AmxOuterProductArgs& args, int64_t row) {
  constexpr int kA = kPanelTiles, kB = kPanelTiles + 1;
  const auto bytes = [](int64_t stride) { return stride * int64_t{sizeof(float)}; };
  float* const sums = args.sums + row * args.sum_stride;
  for_each_tile<kPanelTiles>([&]<int tile> {
    if (args.starts) {
      tiles.template zero<tile>();
    } else {
      tiles.template load<tile>(sums + tile * kAmxColumns, bytes(args.sum_stride));
    }
  });
  for (int64_t i = 0; i < args.count; i += kAmxRows) {
    tiles.template load<kA>(args.a + i * args.a_stride + row, bytes(args.a_stride));
    const float* const panel = args.b + i * args.b_stride;
    for_each_tile<kPanelTiles>([&]<int tile> {
      tiles.template load<kB>(panel + tile * kAmxColumns, bytes(args.b_stride));
      tiles.template multiply_add<tile, kA, kB>();
    });
  }
  for_each_tile<kPanelTiles>(
      [&]<int tile> { tiles.template store<tile>(sums + tile * kAmxColumns, bytes(args.sum_stride)); });
}

// The same for any number of rows and a panel of `width` columns (whole tiles). Calls after_block() after each
// block.
template <class Tiles, class AfterBlock>
void amx_outer_product_panel(Tiles& tiles, int64_t width, const AmxOuterProductArgs& args, int64_t rows,
                             const AfterBlock& after_block) {
  with_panel_tiles(width, [&]<int kPanelTiles> {
    for (int64_t row = 0; row < rows; row += kAmxRows) {
      amx_outer_product_microkernel<kPanelTiles>(tiles, args, row);
      after_block();
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
