// A call that records statistics, and whose result is checked.
#pragma once

#include <vector>

#include "support/environment.h"
#include "support/recorded_run.h"

namespace mluop::test {

// The launches of a call on `thread_count` threads. Its outputs must be those of the oracle.
inline std::vector<Launch> run_with_statistics(const Oracle& oracle, mluOpOmpAlgorithm_t algorithm,
                                               int thread_count) {
  const ScopedThreads threads(thread_count);
  return run_recorded(oracle, algorithm);
}

}  // namespace mluop::test
