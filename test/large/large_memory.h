// Memory for tensors of more than 2^31 elements, and loops over them on all processors. Pages that are never
// written take no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "mlu_op.h"

namespace mluop::test {

// Tests have a tensor of more elements.
inline constexpr int64_t kLimit = int64_t{1} << 31;

enum class Pages {
  kSparse,  // zeros, of which a test writes a few rows
  kDense,   // written as a whole: contents are unspecified; destroyed in reverse order of construction
};

class LargeMemory {
 public:
  // A guard page follows. Throws std::bad_alloc.
  LargeMemory(size_t bytes, Pages pages);
  LargeMemory(const LargeMemory&) = delete;
  LargeMemory& operator=(const LargeMemory&) = delete;
  ~LargeMemory();

  std::byte* bytes() const { return end_ - byte_count_; }
  size_t byte_count() const { return byte_count_; }
  // Sets every byte to a value that no test expects.
  void poison() const;

 private:
  Pages pages_;
  size_t byte_count_, mapped_bytes_;
  std::byte* mapping_;
  std::byte* end_;  // the guard page
};

template <class T>
class LargeBuffer : public LargeMemory {
 public:
  LargeBuffer(int64_t count, Pages pages) : LargeMemory(static_cast<size_t>(count) * sizeof(T), pages) {}

  T* data() const { return reinterpret_cast<T*>(bytes()); }
  T& operator[](int64_t i) const { return data()[i]; }
};

// Whether `bytes` bytes at `memory` are 0.
bool all_zero(const void* memory, size_t bytes);

// The first i in [0, count) for which holds(i) is false, or count. Runs on all processors.
int64_t first_violation(int64_t count, const std::function<bool(int64_t)>& holds);

// Whether the machine has `gib` GiB of available memory, including the dense pages of earlier tests.
bool has_memory(int64_t gib);

}  // namespace mluop::test

// Skips a test that writes `gib` GiB of memory where they are not available.
#define MLUOP_REQUIRE_MEMORY(gib) \
  if (!::mluop::test::has_memory(gib)) GTEST_SKIP() << "requires " << (gib) << " GiB of available memory"
