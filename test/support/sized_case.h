// Cases whose sizes are in the order of the operator's description.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "case/reduce.h"
#include "support/operator_call.h"
#include "support/values.h"

namespace mluop::test {

// The other sizes have their defaults. The case stores all elements, so that its calls do not generate them again.
inline cases::Case sized_case(std::string_view op_name, mluOpDataType_t dtype, const std::vector<int64_t>& sizes,
                              Values values = Values::kFractions) {
  const cases::Operator& op = cases::operator_of(std::string(op_name), {});
  std::map<std::string, int64_t> named;
  for (size_t i = 0; i < sizes.size(); ++i) named[op.sizes.at(i).name] = sizes[i];
  return cases::self_contained(with_values(make_case(op_name, dtype, named), values, 1));
}

}  // namespace mluop::test
