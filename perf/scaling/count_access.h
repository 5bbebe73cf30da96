// The counters of a thread, for the functions that the compiler calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "perf/scaling/count.h"

namespace mluop::perf {

class Accesses {
 public:
  Accesses() = default;
  // Scratch memory is that of the arguments, and the stack from here on.
  Accesses(const void* nram, size_t nram_bytes)
      : nram_(reinterpret_cast<uintptr_t>(nram)),
        nram_bytes_(nram_bytes),
        stack_(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) - kStackBytes) {}

  void read(const volatile void* address, size_t bytes) {
    (is_scratch(address) ? counts.scratch_bytes : counts.read_bytes) += static_cast<int64_t>(bytes);
  }
  void write(const volatile void* address, size_t bytes) {
    (is_scratch(address) ? counts.scratch_bytes : counts.written_bytes) += static_cast<int64_t>(bytes);
  }

  Counts counts;

 private:
  static constexpr uintptr_t kStackBytes = 1 << 20;

  bool is_scratch(const volatile void* pointer) const {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    return address - nram_ < nram_bytes_ || address - stack_ < kStackBytes;
  }

  uintptr_t nram_ = 0, nram_bytes_ = 0, stack_ = 0;
};

extern thread_local Accesses accesses;

}  // namespace mluop::perf
