// Atomic updates of memory that tasks share, and a lock for what one atomic cannot do: the operators' atomics
// mode. The updates are relaxed: the end of a launch orders them.
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
  // Most values do not lower the minimum: a read tells so without owning the cache line.
  int32_t seen;
#pragma omp atomic read relaxed
  seen = *target;
  if (seen <= value) return;
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#pragma omp atomic compare relaxed
  if (value < *target) {
    *target = value;
  }
#else
    // Compilers without `atomic compare` of OpenMP 5.1 lower it under a lock.
#pragma omp critical(mluop_atomic_min)
  {
#pragma omp atomic read relaxed
    seen = *target;
    if (value < seen) {
#pragma omp atomic write relaxed
      *target = value;
    }
  }
#endif
}

// The value of *counter, which is then one more: hands out numbers, each to one task.
inline int64_t atomic_next(int64_t* counter) {
  int64_t number;
#pragma omp atomic capture relaxed
  {
    number = *counter;
    *counter += 1;
  }
  return number;
}

// Holds a lock that tasks share, until the end of the scope: for a handful of instructions, because others spin
// meanwhile. The lock is a word of their memory, 0 before its first holder.
class SpinGuard {
 public:
  explicit SpinGuard(int32_t* lock) : lock_(lock) {
    int32_t before;
    while ((before = take()) == kHeld) {
      // The holder may be waiting for this core.
      std::this_thread::yield();
    }
    first_ = before == 0;
  }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;
  ~SpinGuard() {
#pragma omp atomic write release
    *lock_ = kReleased;
  }

  // Whether nobody has held the lock before.
  bool first() const { return first_; }

 private:
  static constexpr int32_t kHeld = 1;
  static constexpr int32_t kReleased = 2;

  int32_t take() const {
    int32_t before;
#pragma omp atomic capture acq_rel
    {
      before = *lock_;
      *lock_ = kHeld;
    }
    return before;
  }

  int32_t* lock_;
  bool first_;
};

}  // namespace mluop
