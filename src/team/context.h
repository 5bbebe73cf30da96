// The context behind a handle: the machine that operators run on. Owns the device profile, the scratch memory
// of the tasks and the internal workspace pool; both grow on demand and are reused by every call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>

#include "core/aligned_buffer.h"
#include "mlu_op.h"
#include "team/device_profile.h"
#include "team/nram.h"

// What the last launch did: for tests and for the debug log.
struct TeamRecord {
  int task_dim = 0;
  int threads = 0;
};

// Operators hold `execution` while they run: a handle serves one call at a time, as a queue does.
struct mluOpContext {
  // Reads the environment. Throws mluop::Failure, and changes nothing, if a variable is invalid.
  void configure();

  // The threads that run `task_dim` tasks, if OpenMP gives as many.
  int threads_of(int task_dim) const { return std::min(task_dim, max_threads); }

  // Scratch memory for the threads of `task_dim` tasks. Throws std::bad_alloc.
  void reserve_nram(int task_dim) {
    nram_memory_.reserve(nram_capacity * static_cast<size_t>(threads_of(task_dim)));
  }
  mluop::Nram nram(int thread) const {
    return {nram_memory_.data() + nram_capacity * static_cast<size_t>(thread), nram_capacity};
  }

  // The internal workspace, at least `bytes` long; contents are those of nobody. Throws std::bad_alloc.
  std::byte* reserve_pool(size_t bytes) {
    pool_.reserve(bytes);
    return pool_.data();
  }

  mluop::DeviceProfile device = mluop::kDefaultDevice;
  size_t nram_capacity = 0;
  int max_threads = 1;
  mluOpAtomicsMode_t atomics_mode = MLUOP_ATOMICS_NOT_ALLOWED;
  cnrtQueue_t queue = nullptr;
  std::mutex execution;
  TeamRecord last_launch;

 private:
  mluop::AlignedBuffer nram_memory_;
  mluop::AlignedBuffer pool_;
};

namespace mluop {
using Context = mluOpContext;
}
