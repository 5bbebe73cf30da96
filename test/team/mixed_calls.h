// Small calls of all operators and element types, for tests that mix them on several threads. Their results are
// the same bits in both algorithms, in any order of additions. An object may be used by several threads at a time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "support/solved_case.h"

namespace mluop::test {

class MixedCalls {
 public:
  // Runs each call once, on one thread, for the results that later calls must have. `scale` multiplies the bytes.
  explicit MixedCalls(int scale = 1);

  size_t size() const { return calls_.size(); }
  const cases::Operator& op(size_t i) const { return cases::operator_of(calls_[i].made.op_name, {}); }
  // Whether call number i % size() has the result of the first run. No other thread may change the algorithm of
  // the handle meanwhile.
  bool equals_serial(size_t i, mluOpHandle_t handle) const { return calls_[i % size()].solved_by(handle); }
  // equals_serial() of all calls.
  bool all_equal_serial(mluOpHandle_t handle) const;

 private:
  std::vector<SolvedCase> calls_;
};

}  // namespace mluop::test
