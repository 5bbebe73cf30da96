// Highway dispatch to the best instruction set of the machine.
#pragma once

#include <hwy/targets.h>

namespace mluop::perf {

// Returns the function that `dispatch` selects for the best instruction set. Call it during static initialization:
// the library shares Highway's chosen target and later restricts it to MLUOP_OMP_SIMD; the bounds must not depend
// on that.
template <class Dispatch>
auto best_target(const Dispatch& dispatch) {
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return dispatch();
}

}  // namespace mluop::perf
