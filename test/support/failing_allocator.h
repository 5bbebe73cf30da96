// Allocations that fail on request. The test executable replaces all global operators new and delete; they call
// malloc and free. A FailingAllocation lets one allocation of any thread fail: new throws std::bad_alloc, the
// nothrow variants return nullptr.
//
//   FailingAllocation third(3);
//   const mluOpStatus_t status = mluOpCreate(&handle);
//   const bool failed = third.triggered();
//
// GoogleTest allocates too: place assertions after the scope. ThreadSanitizer defines the operators itself;
// with it, nothing is replaced, and no allocation counts or fails.
#pragma once

#include <cstdint>

#include "support/sanitizers.h"

namespace mluop::test {

// Counts the allocations of all threads in its scope, and lets the n-th fail; n = 0: none fails. At most one
// object may exist at a time.
class FailingAllocation {
 public:
  static constexpr bool kSupported = !kThreadSanitizer;

  explicit FailingAllocation(int64_t n);
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  ~FailingAllocation();

  // Allocations since construction, including the failing one.
  int64_t count() const;
  // Whether the n-th allocation has failed.
  bool triggered() const { return n_ > 0 && count() >= n_; }

 private:
  int64_t n_;
};

}  // namespace mluop::test
