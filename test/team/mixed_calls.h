// Small calls of all operators and element types, for tests that mix them on several threads. Their results are
// the same bits in both algorithms, in any order of additions. An object may be used by several threads at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "mlu_op.h"

namespace mluop::test {

class MixedCalls {
 public:
  // Runs each call once, on one thread, for the results that later calls must have. `scale` multiplies the number
  // of points. Seeded by the name of the test.
  explicit MixedCalls(int scale = 1);

  size_t size() const { return calls_.size(); }
  // Whether call number i runs native with both algorithms.
  bool is_native_only(size_t i) const { return calls_[i].native_only; }
  // Whether call number i % size() succeeds on the handle with the result of the first run, and leaves its inputs
  // and the memory around its buffers unchanged. No other thread may change the algorithm of the handle meanwhile.
  bool equals_serial(size_t i, mluOpHandle_t handle) const {
    return calls_[i % calls_.size()].equals_serial(handle);
  }
  // equals_serial() of all calls.
  bool all_equal_serial(mluOpHandle_t handle) const;

 private:
  struct MixedCall {
    std::function<bool(mluOpHandle_t)> equals_serial;
    bool native_only;
  };

  template <class Call>
  void add(const typename Call::Inputs& inputs, bool native_only = false);

  std::vector<MixedCall> calls_;
};

}  // namespace mluop::test
