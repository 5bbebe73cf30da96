// Atomic updates of memory shared by tasks, and locks for updates that need more than one atomic. Relaxed: the end
// of a launch orders them.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace mluop {

// *target = min(*target, value). Uses neither `atomic compare` of OpenMP 5.1, which clang 14 lacks, nor
// `critical`, because the locks of libomp 14 fail if several host threads have teams.
template <class Integer>
void atomic_min(Integer* target, Integer value) {
  // Most values do not lower the minimum, which a read detects without owning the cache line.
  const std::atomic_ref<Integer> shared(*target);
  Integer current = shared.load(std::memory_order_relaxed);
  while (value < current && !shared.compare_exchange_weak(current, value, std::memory_order_relaxed)) {
  }
}

// *target |= bits
inline void atomic_or(uint64_t* target, uint64_t bits) {
  // A read detects bits that are already set without owning the cache line.
  uint64_t current;
#pragma omp atomic read relaxed
  current = *target;
  if ((current & bits) == bits) return;
#pragma omp atomic update relaxed
  *target |= bits;
}

// Stores `value` if *place is `free`. Returns the previous value of *place.
inline int64_t atomic_claim(int64_t* place, int64_t free, int64_t value) {
  const std::atomic_ref<int64_t> shared(*place);
  int64_t held = shared.load(std::memory_order_relaxed);
  if (held == free) shared.compare_exchange_strong(held, value, std::memory_order_relaxed);
  return held;
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

// The smallest work item that violates a rule, over all tasks of a launch. Each task reports the first that it
// finds.
class FirstBadItem {
 public:
  void report(int64_t item) { atomic_min(&item_, item); }

  bool found() const { return item_ != kNone; }
  int64_t item() const { return item_; }

 private:
  static constexpr int64_t kNone = INT64_MAX;
  int64_t item_ = kNone;
};

// Holds a lock shared by tasks until the end of the scope, for a few hundred instructions at most, because other
// tasks spin meanwhile. The lock is an int32_t, initially 0.
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
