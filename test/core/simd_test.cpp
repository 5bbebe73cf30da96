// The instruction set of the kernels. The suite has the prefix of the operators: ctest runs it with every
// MLUOP_OMP_SIMD, to check that each entry uses the instruction set in its name.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/simd_test.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <string>

#include "core/environment.h"
#include "core/simd.h"
#include "mlu_op_omp.h"
#include "support/api.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::test {
namespace HWY_NAMESPACE {

// The instruction set of a kernel.
int64_t running_target() { return HWY_TARGET; }

}  // namespace HWY_NAMESPACE
}  // namespace mluop::test
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::test {
namespace {

HWY_EXPORT(running_target);

std::string name_of(int64_t target) {
  const std::string name = hwy::TargetName(target);
  return name.starts_with("AVX3") ? "AVX-512" : name;
}

// The name of an instruction set; "" if the machine does not support it.
std::string expected_name(const std::string& wanted) {
  int64_t target = 0;
  if (wanted == "generic") target = HWY_STATIC_TARGET;
#if HWY_ARCH_X86
  if (wanted == "sse4" && __builtin_cpu_supports("sse4.2")) target = HWY_SSE4;
  if (wanted == "avx2" && __builtin_cpu_supports("avx2")) target = HWY_AVX2;
  if (wanted.starts_with("avx512") && __builtin_cpu_supports("avx512bw")) target = HWY_AVX3;
#endif
  return target == 0 ? "" : name_of(target);
}

TEST(OpsInstructionSet, IsTheRequestedOne) {
  const std::string wanted = read_environment("MLUOP_OMP_SIMD", "");
  const std::string expected = expected_name(wanted);
  if (expected.empty()) GTEST_SKIP() << "no instruction set is requested";
  const Handle handle;
  EXPECT_EQ(mluOpOmpGetInstructionSet(), expected);
}

// mluOpOmpGetInstructionSet() does not change the dispatch.
TEST(OpsInstructionSet, IsThatOfKernels) {
  const Handle handle;
  EXPECT_EQ(mluOpOmpGetInstructionSet(), name_of(MLUOP_DISPATCH(running_target)()));
  EXPECT_EQ(mluOpOmpGetInstructionSet(), name_of(MLUOP_DISPATCH(running_target)()));
}

// Other users of Highway in the process run on the best instruction set of the machine, at any value of
// MLUOP_OMP_SIMD.
TEST(OpsInstructionSet, LeavesTheDispatchOfHighwayAlone) {
  const Handle handle;
#if HWY_ARCH_X86
  EXPECT_EQ((hwy::SupportedTargets() & HWY_AVX2) != 0, __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ((hwy::SupportedTargets() & HWY_AVX3) != 0, __builtin_cpu_supports("avx512bw") != 0);
#endif
  const int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  EXPECT_EQ(HWY_DYNAMIC_DISPATCH(running_target)(), targets & -targets);
}

}  // namespace
}  // namespace mluop::test
#endif
