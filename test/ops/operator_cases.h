// A case of each operator, data type and algorithm's way, for tests of what all operators have in common.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/operator_call.h"

namespace mluop::test {

enum class Magnitude {
  kUsual,      // 1
  kSubnormal,  // of results, products or inputs
  kOverflow    // infinities, and values whose sums overflow, among fractions; their sums raise exceptions
};

struct OperatorCase {
  std::string name;
  cases::Case made;
  // Whether the device algorithm with several tasks has the same bits in every run.
  bool device_is_deterministic;

  std::unique_ptr<OperatorCall> make_call(mluOpHandle_t handle) const {
    return std::make_unique<OperatorCall>(handle, made);
  }
};

// Cases large enough for four tasks.
std::vector<OperatorCase> operator_cases(Magnitude magnitude = Magnitude::kUsual);

}  // namespace mluop::test
