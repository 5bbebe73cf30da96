#include "team/mixed_calls.h"

#include "support/environment.h"
#include "support/values.h"

namespace mluop::test {

MixedCalls::MixedCalls(int scale) {
  const int64_t bytes = 24 * 1024 * scale;
  const auto highest = [](int64_t, int64_t high) { return high; };
  for (const cases::Operator& op : cases::operators()) {
    for (const mluOpDataType_t dtype : op.dtypes) {
      const cases::Recipe recipe = draw_recipe(op, dtype, highest, bytes);
      const cases::Case made = self_contained(with_values(op.make(recipe), Values::kIntegers, recipe.seed));
      const ScopedThreads one(1);
      const Handle handle;
      const OperatorCall call(handle, made);
      require(call.run());
      calls_.push_back({made, call.outputs()});
    }
  }
}

bool MixedCalls::all_equal_serial(mluOpHandle_t handle) const {
  bool equal = true;
  for (size_t i = 0; i < size(); ++i) equal = equals_serial(i, handle) && equal;
  return equal;
}

}  // namespace mluop::test
