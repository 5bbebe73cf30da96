// A case with the outputs that each of its calls must have, bit for bit.
#pragma once

#include <cstddef>
#include <vector>

#include "case/reduce.h"
#include "support/operator_call.h"

namespace mluop::test {

struct SolvedCase {
  // Whether a call on the handle succeeds with these outputs, and leaves inputs and guard zones unchanged. Several
  // threads may call this at a time.
  bool solved_by(mluOpHandle_t handle) const {
    const OperatorCall call(handle, made);
    return call.run() == MLUOP_STATUS_SUCCESS && call.outputs() == outputs && call.intact();
  }

  cases::Case made;
  std::vector<std::byte> outputs;
};

// The case with the outputs of the oracle; the operator must specify their bits.
inline SolvedCase solve(const cases::Case& made) {
  const cases::Case own = cases::self_contained(made);
  const Handle handle;
  OperatorCall call(handle, own);
  call.expect();
  return {own, call.outputs()};
}

}  // namespace mluop::test
