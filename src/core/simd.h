// The instruction set that kernels run on. Highway compiles each kernel for several; this file picks the best that
// the machine has, or the best up to MLUOP_OMP_SIMD. The choice is this library's own: Highway's dispatch for
// other users in the process is not affected.
#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <string_view>

namespace mluop {

// Reads MLUOP_OMP_SIMD (see mlu_op.h) on the first call in the process. Throws Failure, at every call, if the
// variable was invalid.
void configure_simd();

// "AVX-512", "AVX2", "NEON": Highway's names, but for AVX-512, which it calls AVX3 and variants of that.
inline const char* name_of_target(int64_t target) {
  const char* const name = hwy::TargetName(target);
  return std::string_view(name).starts_with("AVX3") ? "AVX-512" : name;
}

// The name of the instruction set of kernels.
const char* simd_name();

const hwy::ChosenTarget& simd_target();

// Whether kernels may use AVX512-BF16: the machine has it, and MLUOP_OMP_SIMD does not exclude it. Highway's
// targets do not tell.
bool has_bf16_dot_products();

// The same of AMX, whose tiles multiply bfloat16; a machine with them has AVX512-BF16 too. The first call asks
// Linux for permission.
bool has_bf16_tiles();

}  // namespace mluop

// The function `FUNCTION`, which HWY_EXPORT has exported, for the chosen instruction set. HWY_DYNAMIC_DISPATCH
// would use the choice that all users of Highway in the process share.
#if HWY_IDE || ((HWY_TARGETS & (HWY_TARGETS - 1)) == 0)
#define MLUOP_DISPATCH(FUNCTION) HWY_STATIC_DISPATCH(FUNCTION)
#else
#define MLUOP_DISPATCH(FUNCTION) (*(HWY_DISPATCH_TABLE(FUNCTION)[mluop::simd_target().GetIndex()]))
#endif
