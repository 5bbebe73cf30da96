// Atomic updates of memory that tasks share, and locks for updates that one atomic cannot express. Relaxed: the
// end of a launch orders them.
#pragma once

#include <cstdint>
#include <thread>

namespace mluop {

// *target += value
inline void atomic_add(float* target, float value) {
#pragma omp atomic update relaxed
  *target += value;
}

// *target = min(*target, value)
inline void atomic_min(int32_t* target, int32_t value) {
  // Most values do not lower the minimum: a read finds that without owning the cache line.
  int32_t current;
#pragma omp atomic read relaxed
  current = *target;
  if (current <= value) return;
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#pragma omp atomic compare relaxed
  if (value < *target) {
    *target = value;
  }
#else
    // Compilers without `atomic compare` of OpenMP 5.1 update under a lock.
#pragma omp critical(mluop_atomic_min)
  {
#pragma omp atomic read relaxed
    current = *target;
    if (value < current) {
#pragma omp atomic write relaxed
      *target = value;
    }
  }
#endif
}

// Returns *counter and increments it: each number goes to one task.
inline int64_t atomic_next(int64_t* counter) {
  int64_t number;
#pragma omp atomic capture relaxed
  {
    number = *counter;
    *counter += 1;
  }
  return number;
}

// The smallest work item that breaks a rule, over all tasks of a launch. Each task reports the first that it
// finds.
class FirstBadItem {
 public:
  void report(int64_t item) {
#pragma omp critical(mluop_first_bad_item)
    if (!found() || item < item_) item_ = item;
  }

  bool found() const { return item_ >= 0; }
  int64_t item() const { return item_; }

 private:
  int64_t item_ = -1;
};

// Holds a lock that tasks share until the end of the scope. For a few hundred instructions at most: other tasks
// spin meanwhile. The lock is an int32_t, initially 0.
class SpinGuard {
 public:
  explicit SpinGuard(int32_t* lock) : lock_(lock) {
    while (exchange(kHeld) == kHeld) {
      contended_ = true;
      // The holder may be waiting for this core.
      std::this_thread::yield();
    }
  }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;
  ~SpinGuard() {
#pragma omp atomic write release
    *lock_ = kFree;
  }

  // Whether another task held the lock.
  bool contended() const { return contended_; }

 private:
  static constexpr int32_t kFree = 0;
  static constexpr int32_t kHeld = 1;

  int32_t exchange(int32_t value) {
    int32_t before;
#pragma omp atomic capture acq_rel
    {
      before = *lock_;
      *lock_ = value;
    }
    return before;
  }

  int32_t* lock_;
  bool contended_ = false;
};

}  // namespace mluop
