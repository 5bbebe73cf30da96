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

struct Choice {
  std::string problem;  // what is wrong with the variable; empty: nothing
  int64_t targets;      // those that kernels may run on
};

// Empty, or what is wrong with the variable.
std::string restrict_targets() {
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

// Made once: the kernels' pointers are those of the instruction set itself, and to ask Highway again for the
// supported targets would make it choose again, from all that the machine has.
const Choice& choice() {
  static const Choice made = [] {
    Choice choice{restrict_targets(), hwy::SupportedTargets()};
    hwy::GetChosenTarget().Update(choice.targets);
    return choice;
  }();
  return made;
}

}  // namespace

void configure_simd() {
  if (!choice().problem.empty()) throw Failure(MLUOP_STATUS_BAD_PARAM, choice().problem);
}

std::string simd_name() {
  const int64_t targets = choice().targets & HWY_TARGETS;
  return hwy::TargetName(targets & -targets);
}

}  // namespace mluop
