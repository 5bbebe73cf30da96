// A call of each operator and element type, for tests of what all operators have in common.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/api.h"

namespace mluop::test {

// A call in guarded memory.
class OperatorCall {
 public:
  virtual ~OperatorCall() = default;
  virtual mluOpStatus_t run() const = 0;
  // The bytes of inputs and outputs.
  virtual std::vector<std::byte> contents() const = 0;
  // Whether guard zones and inputs are unchanged.
  virtual bool intact() const = 0;
};

// What the values of the inputs are.
enum class Values {
  kFractional,  // of magnitude 1
  kSubnormal,   // results, products or inputs are subnormal
  kSpecial      // infinities, and values whose sums overflow, among fractional ones; their sums raise exceptions
};

struct OperatorCase {
  std::string name;
  // Whether the device algorithm with several tasks has the same bits in every run.
  bool device_is_deterministic;
  // Copies the inputs.
  std::function<std::unique_ptr<OperatorCall>(mluOpHandle_t)> make_call;
};

// Calls large enough for four tasks.
std::vector<OperatorCase> operator_cases(Values values, std::mt19937& random);

}  // namespace mluop::test
