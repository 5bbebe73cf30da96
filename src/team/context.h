// The context of a handle: the machine that operators run on. Owns the device profile, the NRAM of the tasks
// and the pool, an internal workspace; NRAM and pool grow on demand and are reused by later calls.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>

#include "core/aligned_buffer.h"
#include "core/arena.h"
#include "core/float_environment.h"
#include "mlu_op.h"
#include "recording/case_settings.h"
#include "recording/statistics.h"
#include "team/device_profile.h"

// The last launch, for tests.
struct TeamRecord {
  int task_dim = 0;
  int threads = 0;
};

// Operators hold `execution` while they run: a handle serves one call at a time, as a queue does.
struct mluOpContext {
  // Reads the environment. Throws mluop::Failure, and changes nothing, if a variable is invalid.
  void configure();

  // The number of threads that run `task_dim` tasks, if OpenMP provides as many.
  int thread_count(int task_dim) const;

  // Reserves the NRAM of the largest team that a launch may use, and `pool_bytes` bytes of pool, which it returns
  // with unspecified contents. An operator calls it once, before it writes an output; launches do not allocate.
  // Throws std::bad_alloc.
  mluop::Arena reserve(size_t pool_bytes);

  // Frees NRAM, pool and statistics. A later call allocates them again.
  void release_memory();

  // The NRAM of a thread. Throws mluop::Failure (INTERNAL_ERROR) if it is not reserved.
  mluop::Arena nram(int thread) const;

  // Ends a call's use of the pool: AddressSanitizer reports accesses from here on.
  void end_call();

  mluop::DeviceProfile device = mluop::kDefaultDevice;
  size_t nram_capacity = 0;
  // MLUOP_OMP_MAX_THREADS; if unset, the number of processors, which limits only the native algorithm.
  int max_threads = 1;
  bool max_threads_is_set = false;
  mluOpOmpAlgorithm_t algorithm = MLUOP_OMP_ALGORITHM_NATIVE;
  mluOpAtomicsMode_t atomics_mode = MLUOP_ATOMICS_NOT_ALLOWED;
  std::optional<mluOpQuantizeRoundMode_t> round_mode;  // if it was set
  cnrtQueue_t queue = nullptr;
  std::mutex execution;
  // The floating-point environment of the thread that calls the operator.
  mluop::FloatEnvironment caller_environment = mluop::FloatEnvironment::current();
  TeamRecord last_launch;
  mluop::CallStatistics statistics;
  std::string trace_file;  // MLUOP_OMP_TRACE; empty: no trace
  mluop::CaseSettings cases;

 private:
  mluop::AlignedBuffer nram_memory_;
  mluop::AlignedBuffer pool_;
};

namespace mluop {
using Context = mluOpContext;
}
