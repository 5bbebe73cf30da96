#include "core/simd.h"

#include <hwy/highway.h>

#include <utility>

#include "core/boundary.h"
#include "core/environment.h"
#include "core/text.h"

namespace mluop {
namespace {

// Highway numbers its targets so that of two sets of one architecture the better has the lower bit.
constexpr std::pair<const char*, int64_t> kInstructionSets[] = {
    {"generic", HWY_STATIC_TARGET},
#if HWY_ARCH_X86
    {"sse4", HWY_SSE4},
    {"avx2", HWY_AVX2},
    {"avx512", HWY_AVX3},
#endif
};

// Empty, or what is wrong with the variable.
std::string apply() {
  const std::string wanted = read_environment("MLUOP_OMP_SIMD", "");
  if (wanted.empty()) return {};
  std::string known;
  for (const auto& [name, target] : kInstructionSets) {
    if (wanted == name) {
      hwy::DisableTargets(target - 1);
      return {};
    }
    known += text(known.empty() ? "" : ", ", name);
  }
  return text("MLUOP_OMP_SIMD is \"", wanted, "\", expected one of: ", known);
}

}  // namespace

void configure_simd() {
  static const std::string problem = [] {
    std::string found = apply();
    // Chosen here, once, so that the kernels' pointers are those of the instruction set itself.
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return found;
  }();
  if (!problem.empty()) throw Failure(MLUOP_STATUS_BAD_PARAM, problem);
}

std::string simd_name() {
  const int64_t supported = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(supported & -supported);
}

}  // namespace mluop
