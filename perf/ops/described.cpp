// The cases of the operators whose descriptions state the sizes of networks (cases::NetworkSize).
#include <memory>
#include <string>

#include "perf/support/operator_case.h"

namespace mluop::perf::described {

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  for (const cases::Operator& op : cases::operators()) {
    const auto make = [&op](const cases::NetworkSize& row, const Variant& variant, double size) {
      cases::Recipe recipe = cases::default_recipe(op, variant.dtype);
      for (const auto& [name, value] : row.sizes) recipe.sizes[name] = value;
      int64_t& amount = recipe.sizes[op.sizes.front().name];
      amount = scaled(amount, size);
      return std::make_unique<OperatorCase>(op.make(recipe), variant.algorithm);
    };
    const size_t first = specs.size();
    for (const mluOpDataType_t dtype : op.dtypes) {
      append_cases(specs, op.name, std::vector{Variant{dtype}}, op.networks, make);
    }
    if (specs.size() > first) specs[first].represents = true;
  }
  return specs;
}

}  // namespace mluop::perf::described
