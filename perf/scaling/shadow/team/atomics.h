// In place of src/team/atomics.h where accesses are counted: the same updates in words that the compiler reports,
// which it does not do for updates by OpenMP's atomic.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace mluop {

namespace perf {
// Until it is the turn of the calling task: see turns.h.
void wait_for_turn();
}  // namespace perf

inline void atomic_add(float* target, float value) {
  std::atomic_ref<float>(*target).fetch_add(value, std::memory_order_relaxed);
}

inline void atomic_min(int32_t* target, int32_t value) {
  const std::atomic_ref<int32_t> atomic(*target);
  int32_t seen = atomic.load(std::memory_order_relaxed);
  while (value < seen && !atomic.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

inline int64_t atomic_next(int64_t* counter) {
  perf::wait_for_turn();
  return std::atomic_ref<int64_t>(*counter).fetch_add(1, std::memory_order_relaxed);
}

class SpinGuard {
 public:
  explicit SpinGuard(int32_t* lock) : lock_(*lock) {
    int32_t before;
    while ((before = lock_.exchange(kHeld, std::memory_order_acq_rel)) == kHeld) std::this_thread::yield();
    first_ = before == 0;
  }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;
  ~SpinGuard() { lock_.store(kReleased, std::memory_order_release); }

  bool first() const { return first_; }

 private:
  static constexpr int32_t kHeld = 1;
  static constexpr int32_t kReleased = 2;

  std::atomic_ref<int32_t> lock_;
  bool first_;
};

}  // namespace mluop
