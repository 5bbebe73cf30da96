// Atomic updates of rows in GDRAM: a lock for the row, held while a task updates it with vector code. The locks
// are striped: rows that share a lock wait for each other. Counts the update, and whether it had to wait.
#pragma once

#include <array>
#include <cstdint>

#include "core/caches.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop {

class RowLocks {
 public:
  // The lock of the row at this address.
  static int32_t* lock_of(const void* row);

 private:
  static constexpr size_t kCount = 4096;
  struct alignas(kCacheLine) Lock {
    int32_t word;
  };
  static std::array<Lock, kCount> locks_;
};

// Holds the lock of a row until the end of the scope.
class RowGuard {
 public:
  RowGuard(Task& task, const void* row, int64_t elements) : guard_(RowLocks::lock_of(row)) {
    ++task.statistics->atomics;
    task.statistics->atomic_elements += elements;
    if (guard_.contended()) ++task.statistics->contended;
  }

 private:
  SpinGuard guard_;
};

}  // namespace mluop
