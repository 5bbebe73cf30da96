// The instruction set that kernels run on. Highway compiles each kernel for several targets; this file selects the
// best available one, limited by MLUOP_OMP_SIMD. The selection is private to this library: other users of Highway
// in the process are not affected.
#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <string_view>

namespace mluop {

// Reads MLUOP_OMP_SIMD (see mlu_op.h) on the first call in the process. If the variable is invalid, every call
// throws Failure.
void configure_simd();

// "AVX-512", "AVX2", "NEON": the names of Highway, except that its AVX3 variants are called AVX-512.
inline const char* name_of_target(int64_t target) {
  const char* const name = hwy::TargetName(target);
  return std::string_view(name).starts_with("AVX3") ? "AVX-512" : name;
}

// The name of the instruction set of kernels.
const char* simd_name();

const hwy::ChosenTarget& simd_target();

// Whether kernels may use AVX512-BF16: the machine has it, and MLUOP_OMP_SIMD does not exclude it. It is not a
// Highway target.
bool has_bf16_dot_products();

// Whether kernels may use AMX, whose tiles multiply bfloat16; such machines also have AVX512-BF16. The first call
// requests permission from Linux.
bool has_bf16_tiles();

}  // namespace mluop

// The function `FUNCTION`, exported by HWY_EXPORT, for the selected instruction set. HWY_DYNAMIC_DISPATCH would
// use the selection that all users of Highway in the process share.
#if HWY_IDE || ((HWY_TARGETS & (HWY_TARGETS - 1)) == 0)
#define MLUOP_DISPATCH(FUNCTION) HWY_STATIC_DISPATCH(FUNCTION)
#else
#define MLUOP_DISPATCH(FUNCTION) (*(HWY_DISPATCH_TABLE(FUNCTION)[mluop::simd_target().GetIndex()]))
#endif
