// Runs an attempt once for each of its allocations, and lets that allocation fail.
#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "support/api.h"
#include "support/failing_allocator.h"

namespace mluop::test {

struct FaultResult {
  mluOpStatus_t status;
  bool triggered;  // whether the allocation took place, and failed
};

// The status of function() if its n-th allocation fails.
template <class Function>
FaultResult run_with_fault(int64_t n, const Function& function) {
  const FailingAllocation failing(n);
  const mluOpStatus_t status = function();
  return {status, failing.triggered()};
}

// Calls attempt(1), attempt(2), ... until it returns false: there was no n-th allocation. Returns the number of
// allocations.
template <class Attempt>
int64_t for_each_fault_point(const Attempt& attempt) {
  int64_t n = 1;
  while (attempt(n) && !::testing::Test::HasFatalFailure()) ++n;
  return n - 1;
}

// Counts the fault points of a test, and prints and records their number at its end.
class FaultPointCount {
 public:
  FaultPointCount() = default;
  FaultPointCount(const FaultPointCount&) = delete;
  FaultPointCount& operator=(const FaultPointCount&) = delete;
  ~FaultPointCount() {
    ::testing::Test::RecordProperty("fault_points", std::to_string(count_));
    std::cout << "[  FAULTS  ] " << count_ << " fault points\n";
  }

  void add(int64_t points) { count_ += points; }

 private:
  int64_t count_ = 0;
};

}  // namespace mluop::test
