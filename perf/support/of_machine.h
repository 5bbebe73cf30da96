// The machine's best instruction set, for loops that Highway dispatches.
#pragma once

#include <hwy/targets.h>

namespace mluop::perf {

// What `choose` dispatches to. To be called before main(): the library shares Highway's choice and narrows it if
// MLUOP_OMP_SIMD says so, while the limits are the machine's.
template <class Choose>
auto of_machine(const Choose& choose) {
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return choose();
}

}  // namespace mluop::perf
