// Memory for tests that catches what strays: an inaccessible page on either side, and a pattern in the bytes
// between those pages and the data. A read or write past a page boundary stops the test at once; one that stays in
// the pattern is found by intact().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace mluop::test {

// Where the data lie between the guard pages.
enum class Placement {
  kAligned,     // on a 64-byte boundary
  kMisaligned,  // one element past a 64-byte boundary
  kAgainstEnd,  // the last byte touches the guard page behind
};

// Untyped part.
class GuardedMemory {
 public:
  GuardedMemory(size_t bytes, size_t element_size, Placement placement);
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory();

  std::byte* data() const { return data_; }
  // Whether the pattern around the data is as it was.
  bool intact() const;

 private:
  size_t bytes_;
  size_t mapped_bytes_;
  std::byte* mapping_;
  std::byte* data_;
};

// `count` elements, which start as a pattern that no test expects as a result.
template <class T>
class GuardedBuffer {
 public:
  explicit GuardedBuffer(size_t count, Placement placement = Placement::kAligned)
      : count_(count), memory_(count * sizeof(T), sizeof(T), placement) {}
  explicit GuardedBuffer(const std::vector<T>& values, Placement placement = Placement::kAligned)
      : GuardedBuffer(values.size(), placement) {
    if (count_ > 0) std::memcpy(data(), values.data(), count_ * sizeof(T));
  }

  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  size_t size() const { return count_; }
  T& operator[](size_t i) const { return data()[i]; }
  bool intact() const { return memory_.intact(); }
  std::vector<T> values() const { return {data(), data() + count_}; }

 private:
  size_t count_;
  GuardedMemory memory_;
};

}  // namespace mluop::test
