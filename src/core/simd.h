// The instruction set that kernels run on. Kernels are compiled for several by Highway, which picks the best
// that the machine has, or the best up to MLUOP_OMP_SIMD.
#pragma once

#include <string>

namespace mluop {

// Takes MLUOP_OMP_SIMD (see mlu_op.h) on its first call in the process. Throws Failure, at every call, if the
// variable had no valid value.
void configure_simd();

// "AVX3" (Highway's name of AVX-512), for the log.
std::string simd_name();

}  // namespace mluop
