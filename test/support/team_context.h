// Contexts for tests that launch kernels themselves.
#pragma once

#include "support/environment.h"
#include "team/context.h"

namespace mluop::test {

// A context with NRAM for teams of up to `threads` threads, and with that number of threads.
struct TeamContext : Context {
  explicit TeamContext(int threads) : omp_threads_(threads) {
    configure();
    max_threads = threads;
    reserve(0);
  }

 private:
  ScopedThreads omp_threads_;
};

}  // namespace mluop::test
