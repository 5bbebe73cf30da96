// A case with the outputs that each call of it must have, bit for bit.
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

// With the outputs of the oracle, of an operator of which it states the bits.
inline SolvedCase solve(const cases::Case& made) {
  const cases::Case own = cases::self_contained(made);
  const Handle handle;
  OperatorCall call(handle, own);
  call.expect();
  return {own, call.outputs()};
}

}  // namespace mluop::test
