// Memory that grows and is reused: what scratch arenas and the handle's pool are made of.
#pragma once

#include <cstddef>
#include <memory>

namespace mluop {

// Every scratch buffer starts on such a boundary: a cache line, and the widest vector there is.
inline constexpr size_t kScratchAlignment = 64;

class AlignedBuffer {
 public:
  // Makes room for `bytes`. Contents are lost when it grows; it never shrinks. Throws std::bad_alloc, and
  // keeps what it had, if memory does not suffice. Pages are not touched: the task that writes first does.
  void reserve(size_t bytes);

  std::byte* data() const { return data_.get(); }
  size_t capacity() const { return capacity_; }

 private:
  struct Release {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte[], Release> data_;
  size_t capacity_ = 0;
};

}  // namespace mluop
