// Memory that grows on demand and is reused: the NRAM and the pool of a handle.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace mluop {

// Alignment of every scratch buffer: a cache line, and the widest vector.
inline constexpr size_t kScratchAlignment = 64;

struct AlignedDelete {
  std::align_val_t alignment{kScratchAlignment};
  void operator()(std::byte* memory) const { ::operator delete(memory, alignment); }
};

class AlignedBuffer {
 public:
  // Ensures a capacity of `bytes`. Growth discards the contents; the buffer never shrinks. If the allocation
  // fails, throws std::bad_alloc and keeps the present memory. Does not touch the pages: the task that first
  // writes a page places it.
  void reserve(size_t bytes);

  std::byte* data() const { return data_.get(); }
  size_t capacity() const { return capacity_; }

 private:
  std::unique_ptr<std::byte[], AlignedDelete> data_;
  size_t capacity_ = 0;
};

}  // namespace mluop
