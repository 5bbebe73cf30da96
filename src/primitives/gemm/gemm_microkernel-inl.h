// The GEMM microkernel: MR rows of A times a panel of B, with the sums in registers. Per-target code of Highway:
// include it inside foreach_target.
#if defined(MLUOP_PRIMITIVES_GEMM_MICROKERNEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MLUOP_PRIMITIVES_GEMM_MICROKERNEL_INL_H
#undef MLUOP_PRIMITIVES_GEMM_MICROKERNEL_INL_H
#else
#define MLUOP_PRIMITIVES_GEMM_MICROKERNEL_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/element.h"
#include "primitives/gemm/dot_products.h"
#include "primitives/gemm/matmul.h"

// Whether the target has microkernels for bfloat16. They use AVX512-BF16, which the machine may lack: see
// has_bf16_dot_products(). Microkernels of both types carry the target attribute, without which compilers do not
// use these instructions.
#undef MLUOP_HAS_BF16_MICROKERNEL
#undef MLUOP_BEFORE_MICROKERNEL
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
#define MLUOP_HAS_BF16_MICROKERNEL 1
#define MLUOP_BEFORE_MICROKERNEL() HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512bf16")
#else
#define MLUOP_HAS_BF16_MICROKERNEL 0
#define MLUOP_BEFORE_MICROKERNEL() HWY_BEFORE_NAMESPACE()
#endif

// Replaces MLUOP_SELECT_BY_DTYPE for a template FUNCTION<T, Element> whose microkernels multiply elements of type
// Element.
#undef MLUOP_SELECT_BY_ELEMENT
#define MLUOP_SELECT_BY_ELEMENT(FUNCTION, ARGS)                                                    \
  RangeKernel<ARGS> FUNCTION##_by_dtype(mluOpDataType_t dtype) {                                   \
    return dispatch_element(dtype, [](auto element, auto multiplied) -> RangeKernel<ARGS> {        \
      using Element = std::conditional_t<MLUOP_HAS_BF16_MICROKERNEL, decltype(multiplied), float>; \
      return FUNCTION<decltype(element), Element>;                                                 \
    });                                                                                            \
  }                                                                                                \
  static_assert(true, "a semicolon follows")

MLUOP_BEFORE_MICROKERNEL();
namespace mluop {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using PanelTag = hn::CappedTag<float, kMaxLanes>;

inline constexpr auto kPanelLanes = static_cast<int64_t>(hn::MaxLanes(PanelTag()));

// Vector registers of the target; on x86 the better target has the lower number.
#if (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3) || HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
inline constexpr int kVectorRegisters = 16;
#else
inline constexpr int kVectorRegisters = 32;
#endif

// Register blocking: NR is kNrVectors vectors; MR depends on the vectors of the panel. 16 registers hold the sums,
// a broadcast element of A and the vectors of the panel. 32 registers could hold half as many rows more, but fewer
// sums let the next block start sooner, while the previous block stores its sums.
inline constexpr int kNrVectors = kVectorRegisters == 32 ? 4 : 2;
inline constexpr int64_t kNr = kNrVectors * kPanelLanes;
inline constexpr auto kMr = [](int64_t panel_vectors) -> int64_t {
  constexpr int kOf32Registers[] = {8, 6, 6, 4};
  constexpr int kOf16Registers[] = {12, 6};
  return kVectorRegisters == 32 ? kOf32Registers[panel_vectors - 1] : kOf16Registers[panel_vectors - 1];
};

// sum + a * b of each lane, fused if the target supports it.
template <class Element>
HWY_INLINE hn::Vec<PanelTag> add_products(hn::Vec<PanelTag> a, hn::Vec<PanelTag> b, hn::Vec<PanelTag> sum) {
  return hn::MulAdd(a, b, sum);
}

#if MLUOP_HAS_BF16_MICROKERNEL
// Adds both products of each lane, rounded to nearest even. Subnormal elements count as 0, and subnormal sums
// become 0.
template <>
HWY_INLINE hn::Vec<PanelTag> add_products<BFloat16>(hn::Vec<PanelTag> a, hn::Vec<PanelTag> b,
                                                    hn::Vec<PanelTag> sum) {
  return hn::Vec<PanelTag>{
      _mm512_dpbf16_ps(sum.raw, reinterpret_cast<__m512bh>(a.raw), reinterpret_cast<__m512bh>(b.raw))};
}
#endif

// Broadcasts a lane of elements; any alignment.
template <class Element>
HWY_INLINE hn::Vec<PanelTag> broadcast_lane(const Element* from) {
  float lane;
  std::memcpy(&lane, from, sizeof(lane));
  return hn::Set(PanelTag(), lane);
}

// Shared by the blocks of one panel.
template <class Element>
struct MicrokernelArgs {
  const Element* panel;  // [kc / kStep, panel_vectors * kPanelLanes, kStep]
  int64_t kc;            // elements of a row of A to multiply, in whole steps
  const Element* a;      // the first of these elements in row 0
  int64_t a_stride;
  float* c;  // row first_c_row
  int64_t c_stride;
  int32_t first_c_row;
};

// C[c_rows[r]] += A[a_rows[r]] * panel for kBlockRows rows, in the order of the elements of a row, with fused
// multiply-adds if the target supports them. The rows of C must be distinct.
template <class Element, int kBlockRows, int kBlockVectors>
HWY_NOINLINE void gemm_microkernel(const MicrokernelArgs<Element>& args, const int32_t* HWY_RESTRICT a_rows,
                                   const int32_t* HWY_RESTRICT c_rows) {
  const PanelTag d;
  float* c[kBlockRows];
  hn::Vec<PanelTag> sums[kBlockRows][kBlockVectors];
  HWY_UNROLL(24) for (int r = 0; r < kBlockRows; ++r) {
    c[r] = args.c + (int64_t{c_rows[r]} - args.first_c_row) * args.c_stride;
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) sums[r][v] = hn::LoadU(d, c[r] + v * kPanelLanes);
  }
  const auto* HWY_RESTRICT panel = reinterpret_cast<const float*>(args.panel);
  const Element* a[kBlockRows];
  HWY_UNROLL(24) for (int r = 0; r < kBlockRows; ++r) a[r] = args.a + a_rows[r] * args.a_stride;
  for (int64_t k = 0; k < args.kc; k += kStep<Element>) {
    hn::Vec<PanelTag> b[kBlockVectors];
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) b[v] = hn::LoadU(d, panel + v * kPanelLanes);
    HWY_UNROLL(24) for (int r = 0; r < kBlockRows; ++r) {
      const auto lane = broadcast_lane(a[r] + k);
      HWY_UNROLL(4)
      for (int v = 0; v < kBlockVectors; ++v) sums[r][v] = add_products<Element>(lane, b[v], sums[r][v]);
    }
    panel += kBlockVectors * kPanelLanes;
  }
  HWY_UNROLL(24) for (int r = 0; r < kBlockRows; ++r) {
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) hn::StoreU(sums[r][v], d, c[r] + v * kPanelLanes);
  }
}

template <class Element>
using Microkernel = void (*)(const MicrokernelArgs<Element>&, const int32_t*, const int32_t*);

// The microkernels of 1, 2, ... rows.
template <class Element, int kBlockVectors, int... kBlockRowsMinusOne>
constexpr auto microkernel_table(std::integer_sequence<int, kBlockRowsMinusOne...>) {
  return std::array<Microkernel<Element>, sizeof...(kBlockRowsMinusOne)>{
      gemm_microkernel<Element, kBlockRowsMinusOne + 1, kBlockVectors>...};
}

// Multiplies `count` rows by a panel of kBlockVectors vectors. Calls after_block() after each block.
template <int kBlockVectors, class Element, class AfterBlock>
void gemm_rows(const MicrokernelArgs<Element>& args, const int32_t* a_rows, const int32_t* c_rows, int64_t count,
               const AfterBlock& after_block) {
  constexpr int64_t kBlockRows = kMr(kBlockVectors);
  static constexpr auto kTable =
      microkernel_table<Element, kBlockVectors>(std::make_integer_sequence<int, kBlockRows>());
  for (int64_t i = 0; i < count; i += kBlockRows) {
    kTable[static_cast<size_t>(std::min(kBlockRows, count - i) - 1)](args, a_rows + i, c_rows + i);
    after_block();
  }
}

// The same for a panel of `width` columns (whole vectors).
template <class Element, class AfterBlock>
void gemm_panel(int64_t width, const MicrokernelArgs<Element>& args, const int32_t* a_rows, const int32_t* c_rows,
                int64_t count, const AfterBlock& after_block) {
  const int64_t vectors = width / kPanelLanes;
  if (vectors == 1) return gemm_rows<1>(args, a_rows, c_rows, count, after_block);
  if constexpr (kNrVectors == 4) {
    if (vectors == 2) return gemm_rows<2>(args, a_rows, c_rows, count, after_block);
    if (vectors == 3) return gemm_rows<3>(args, a_rows, c_rows, count, after_block);
  }
  gemm_rows<kNrVectors>(args, a_rows, c_rows, count, after_block);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#endif  // include guard
