// The algorithms, and a case of each operator, data type and algorithm, for the common tests of all operators.
#pragma once

#include <optional>
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
};

// The distinct algorithms of an operator: without a device algorithm both are the native one.
std::vector<mluOpOmpAlgorithm_t> algorithms_of(const cases::Operator& op);
std::vector<mluOpOmpAlgorithm_t> algorithms_of(const OperatorCase& test);

// The data types of operator `turn`: half and bfloat16 take turns.
std::vector<mluOpDataType_t> dtypes_in_turns(const cases::Operator& op, size_t turn);

// Cases large enough for four tasks, of float, and half or bfloat16 in turns.
std::vector<OperatorCase> operator_cases(Magnitude magnitude = Magnitude::kUsual);

// The first of the cases of an operator, which may have none.
std::optional<OperatorCase> first_case_of(const cases::Operator& op);

// The first of all cases.
OperatorCase first_operator_case();

}  // namespace mluop::test
