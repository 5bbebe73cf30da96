#include "core/simd.h"

#include <hwy/targets.h>

#if HWY_ARCH_X86
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <utility>

#include "core/boundary.h"
#include "core/environment.h"
#include "core/text.h"

namespace mluop {
namespace {

#if HWY_ARCH_X86
// AVX-512 with AVX512-BF16, without and with AMX.
constexpr const char* kWithBFloat16 = "avx512bf16";
constexpr const char* kWithAmx = "amx";

// Whether the machine has AMX with bfloat16 tiles. Linux grants their state on request, once for all threads of
// the process. The request is made only when a call needs them, because it requires more space on signal stacks.
bool request_amx() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kAmxBf16 = 1U << 22, kAmxTile = 1U << 24;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  if ((edx & kAmxBf16) == 0 || (edx & kAmxTile) == 0) return false;
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

// In Highway, the better of two targets of one architecture has the lower bit.
constexpr std::pair<const char*, int64_t> kInstructionSets[] = {
    {"generic", HWY_STATIC_TARGET},
#if HWY_ARCH_X86
    {"sse4", HWY_SSE4},
    {"avx2", HWY_AVX2},
    {"avx512", HWY_AVX3},
    {kWithBFloat16, HWY_AVX3},
    {kWithAmx, HWY_AVX3},
#endif
};

// The targets that kernels may run on, and the error in MLUOP_OMP_SIMD (empty: none).
class Choice {
 public:
  Choice() : supported_(hwy::SupportedTargets()) {
    const std::string requested = read_environment("MLUOP_OMP_SIMD", "");
    if (!requested.empty()) limit_to(requested);
    target_.Update(supported_);
#if HWY_ARCH_X86
    allows_amx_ = best() <= HWY_AVX3 && (requested.empty() || requested == kWithAmx);
    has_bf16_ = best() <= HWY_AVX3 && (allows_amx_ || requested == kWithBFloat16) &&
                __builtin_cpu_supports("avx512bf16") != 0;
#endif
  }

  const hwy::ChosenTarget& target() const { return target_; }
  int64_t best() const {
    const int64_t targets = supported_ & HWY_TARGETS;
    return targets & -targets;
  }
  bool has_bf16() const { return has_bf16_; }
  bool allows_amx() const { return allows_amx_; }
  const std::string& problem() const { return problem_; }

 private:
  void limit_to(const std::string& requested) {
    std::string known;
    for (const auto& [name, target] : kInstructionSets) {
      if (requested == name) {
        supported_ &= ~(target - 1);
        return;
      }
      known += text(known.empty() ? "" : ", ", name);
    }
    problem_ = text("MLUOP_OMP_SIMD is \"", requested, "\", expected one of: ", known);
  }

  int64_t supported_;
  hwy::ChosenTarget target_;
  bool has_bf16_ = false;
  bool allows_amx_ = false;
  std::string problem_;
};

// Never destroyed: handles may be created while the process exits.
const Choice& choice() {
  static const auto* const made = new Choice();
  return *made;
}

}  // namespace

void configure_simd() {
  if (!choice().problem().empty()) throw Failure(MLUOP_STATUS_BAD_PARAM, choice().problem());
}

const char* simd_name() { return name_of_target(choice().best()); }

const hwy::ChosenTarget& simd_target() { return choice().target(); }

bool has_bf16_dot_products() { return choice().has_bf16(); }

bool has_bf16_tiles() {
#if HWY_ARCH_X86
  static const bool has = choice().has_bf16() && choice().allows_amx() && request_amx();
  return has;
#else
  return false;
#endif
}

}  // namespace mluop
