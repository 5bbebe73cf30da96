// Memory for tests that detects accesses out of bounds: an inaccessible page on either side, and a pattern in the
// bytes between those pages and the data. An access to a guard page stops the test at once; intact() detects a
// write to the pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace mluop::test {

// The position of the data between the guard pages.
enum class Placement {
  kAligned,     // on a 64-byte boundary
  kMisaligned,  // one element past a 64-byte boundary
  kAgainstEnd,  // the guard page follows the last byte
};
inline constexpr Placement kPlacements[] = {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd};

// The untyped part of a GuardedBuffer.
class GuardedMemory {
 public:
  GuardedMemory(size_t byte_count, size_t element_size, Placement placement);
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory();

  std::byte* bytes() const { return data_; }
  size_t byte_count() const { return byte_count_; }
  // Whether the pattern around the data is unchanged.
  bool intact() const;

 private:
  size_t byte_count_;
  size_t mapped_bytes_;
  std::byte* mapping_;
  std::byte* data_;
};

// `count` elements, initialized with a pattern that no test expects as a result.
template <class T>
class GuardedBuffer : public GuardedMemory {
 public:
  explicit GuardedBuffer(size_t count, Placement placement = Placement::kAligned)
      : GuardedMemory(count * sizeof(T), sizeof(T), placement), count_(count) {}
  explicit GuardedBuffer(const std::vector<T>& values, Placement placement = Placement::kAligned)
      : GuardedBuffer(values.size(), placement) {
    if (count_ > 0) std::memcpy(data(), values.data(), count_ * sizeof(T));
  }

  T* data() const { return reinterpret_cast<T*>(bytes()); }
  size_t size() const { return count_; }
  T& operator[](size_t i) const { return data()[i]; }
  std::vector<T> values() const { return {data(), data() + count_}; }

 private:
  size_t count_;
};

}  // namespace mluop::test
