// A call that records statistics, and whose result is checked.
#pragma once

#include <vector>

#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/operator_call.h"

namespace mluop::test {

// The launches of a call on `thread_count` threads. Its outputs must be those of the oracle.
inline std::vector<Launch> run_with_statistics(const Oracle& oracle, mluOpOmpAlgorithm_t algorithm,
                                               int thread_count, Placement placement = Placement::kAligned) {
  const ScopedThreads threads(thread_count);
  const Handle handle(algorithm);
  require(mluOpOmpSetStatistics(handle, 1));
  const OperatorCall call(handle, oracle.made(), placement);
  require(call.run());
  EXPECT_TRUE(call.intact());
  EXPECT_TRUE(oracle.agrees(call, algorithm));
  return launches_of(handle);
}

}  // namespace mluop::test
