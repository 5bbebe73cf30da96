#include "ops/operator_cases.h"

#include <map>
#include <stdexcept>

#include "case/reduce.h"
#include "case/values.h"
#include "support/values.h"

namespace mluop::test {
namespace {

using cases::Case;

Case of_magnitude(const Case& made, Magnitude magnitude, mluOpDataType_t dtype) {
  const bool is_half = dtype == MLUOP_DTYPE_HALF;
  switch (magnitude) {
    case Magnitude::kUsual: break;
    case Magnitude::kSubnormal:
      return cases::operator_of(made.op_name, {}).multiplies ? scaled(made, is_half ? 0x1p-8 : 0x1p-65)
                                                             : scaled(made, is_half ? 0x1p-14 : 0x1p-130);
    case Magnitude::kOverflow: return with_overflows(made);
  }
  return made;
}

OperatorCase made_case(const cases::Operator& op, const std::map<std::string, int64_t>& sizes,
                       mluOpDataType_t dtype, Magnitude magnitude) {
  std::string text = op.name + ", " + std::string(cases::dtype_name(dtype));
  for (const auto& [size, value] : sizes) text += ", " + size + ' ' + std::to_string(value);
  return {text, self_contained(of_magnitude(make_case(op.name, dtype, sizes), magnitude, dtype))};
}

}  // namespace

std::vector<mluOpOmpAlgorithm_t> algorithms_of(const cases::Operator& op) {
  if (op.has_device_algorithm) return {MLUOP_OMP_ALGORITHM_NATIVE, MLUOP_OMP_ALGORITHM_DEVICE};
  return {MLUOP_OMP_ALGORITHM_NATIVE};
}

std::vector<mluOpOmpAlgorithm_t> algorithms_of(const OperatorCase& test) {
  return algorithms_of(cases::operator_of(test.made.op_name, {}));
}

std::vector<mluOpDataType_t> dtypes_in_turns(const cases::Operator& op, size_t turn) {
  std::vector<mluOpDataType_t> dtypes = op.dtypes;
  std::erase(dtypes, turn % 2 == 0 ? MLUOP_DTYPE_BFLOAT16 : MLUOP_DTYPE_HALF);
  return dtypes;
}

std::vector<OperatorCase> operator_cases(Magnitude magnitude) {
  std::vector<OperatorCase> all;
  size_t turn = 0;
  for (const cases::Operator& op : cases::operators()) {
    for (const auto& sizes : op.parallel_sizes) {
      for (const mluOpDataType_t dtype : dtypes_in_turns(op, turn++)) {
        all.push_back(made_case(op, sizes, dtype, magnitude));
      }
    }
  }
  return all;
}

std::optional<OperatorCase> first_case_of(const cases::Operator& op) {
  if (op.parallel_sizes.empty()) return std::nullopt;
  return made_case(op, op.parallel_sizes.front(), op.dtypes.front(), Magnitude::kUsual);
}

OperatorCase first_operator_case() {
  for (const cases::Operator& op : cases::operators()) {
    if (const auto test = first_case_of(op)) return *test;
  }
  throw std::logic_error("no operator has a case");
}

}  // namespace mluop::test
