// Small calls of all operators and element types, for tests that mix them on several threads. Their results are
// the same bits in both algorithms, in any order of additions. An object may be used by several threads at a time.
#pragma once

#include <cstddef>
#include <vector>

#include "case/model.h"

namespace mluop::test {

class MixedCalls {
 public:
  // Runs each call once, on one thread, for the results that later calls must have. `scale` multiplies the bytes.
  explicit MixedCalls(int scale = 1);

  size_t size() const { return calls_.size(); }
  // Whether call number i runs native with both algorithms.
  bool is_native_only(size_t i) const { return calls_[i].native_only; }
  // Whether call number i % size() succeeds on the handle with the result of the first run, and leaves its inputs
  // and the memory around its buffers unchanged. No other thread may change the algorithm of the handle meanwhile.
  bool equals_serial(size_t i, mluOpHandle_t handle) const;
  // equals_serial() of all calls.
  bool all_equal_serial(mluOpHandle_t handle) const;

 private:
  struct MixedCall {
    cases::Case made;
    std::vector<std::byte> expected;  // outputs
    bool native_only;
  };

  std::vector<MixedCall> calls_;
};

}  // namespace mluop::test
