#include "ops/operator_cases.h"

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
        std::string text = op.name + ", " + std::string(cases::dtype_name(dtype));
        for (const auto& [size, value] : sizes) text += ", " + size + ' ' + std::to_string(value);
        const Case made = of_magnitude(make_case(op.name, dtype, sizes), magnitude, dtype);
        all.push_back({text, self_contained(made)});
      }
    }
  }
  return all;
}

}  // namespace mluop::test
