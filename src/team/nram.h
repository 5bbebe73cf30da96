// Scratch memory of a task. The plan of an operator sizes its tiles with nram_bytes() so that they fit, and the
// kernel then takes those buffers from the Nram of its task.
#pragma once

#include <cassert>
#include <cstddef>

#include "core/aligned_buffer.h"

namespace mluop {

// Bytes that a buffer of `count` elements takes in NRAM: whole cache lines, so that no two buffers share one.
template <class T>
constexpr size_t nram_bytes(size_t count) {
  // Elements may be pointers. NOLINTNEXTLINE(bugprone-sizeof-expression)
  return (count * sizeof(T) + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
}

// A bump arena over memory that the handle owns; reset when a task starts. Not shared between threads.
class Nram {
 public:
  Nram() = default;
  Nram(std::byte* memory, size_t capacity) : memory_(memory), capacity_(capacity) {}

  size_t capacity() const { return capacity_; }

  // A buffer of `count` elements, aligned to kScratchAlignment, not initialised. What the plan has laid out
  // fits; asking for more is a bug.
  template <class T>
  T* take(size_t count) {
    const size_t bytes = nram_bytes<T>(count);
    assert(bytes <= capacity_ - used_);
    T* buffer = reinterpret_cast<T*>(memory_ + used_);
    used_ += bytes;
    return buffer;
  }

 private:
  std::byte* memory_ = nullptr;
  size_t capacity_ = 0;
  size_t used_ = 0;
};

}  // namespace mluop
