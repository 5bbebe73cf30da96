// Which instruction set kernels run on. The suite is named as the operators' are, so that it runs beside them
// under every MLUOP_OMP_SIMD: it shows that those runs are what their names say.
#include "core/simd.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <string>

#include "core/environment.h"
#include "support/api.h"

namespace mluop::test {
namespace {

// Highway's name of an instruction set; "" for one that this machine lacks.
std::string expected_name(const std::string& wanted) {
  int64_t target = 0;
  if (wanted == "generic") target = HWY_STATIC_TARGET;
#if HWY_ARCH_X86
  if (wanted == "sse4" && __builtin_cpu_supports("sse4.2")) target = HWY_SSE4;
  if (wanted == "avx2" && __builtin_cpu_supports("avx2")) target = HWY_AVX2;
  if (wanted == "avx512" && __builtin_cpu_supports("avx512bw")) target = HWY_AVX3;
#endif
  return target == 0 ? "" : hwy::TargetName(target);
}

TEST(OpsInstructionSet, IsTheOneAskedFor) {
  const std::string wanted = read_environment("MLUOP_OMP_SIMD", "");
  const std::string expected = expected_name(wanted);
  if (expected.empty()) GTEST_SKIP() << "the best that the machine has";
  const Handle handle;
  EXPECT_EQ(simd_name(), expected);
}

}  // namespace
}  // namespace mluop::test
