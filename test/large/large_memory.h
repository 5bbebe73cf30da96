// Memory for tensors of more than 2^31 elements, and loops over them on all processors. Pages that are never
// written take no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace mluop::test {

// Each test has a tensor with more elements.
inline constexpr int64_t kLimit = int64_t{1} << 31;

// The bytes of outputs before a call, which differ from every expected byte.
inline constexpr int kPoison = 0xA5;

enum class Pages {
  kSparse,  // zeros; a test writes a few rows
  kDense,   // written as a whole: contents are unspecified; destroyed before later such blocks exist
};

class LargeMemory {
 public:
  // A guard page follows the memory. Throws std::bad_alloc.
  LargeMemory(size_t bytes, Pages pages);
  LargeMemory(const LargeMemory&) = delete;
  LargeMemory& operator=(const LargeMemory&) = delete;
  ~LargeMemory();

  std::byte* bytes() const { return end_ - byte_count_; }
  // Sets every byte to kPoison.
  void poison() const;

 private:
  Pages pages_;
  size_t byte_count_, mapped_bytes_;
  std::byte* mapping_;
  std::byte* end_;  // the guard page
};

// Whether `bytes` bytes at `memory` have this value.
bool all_bytes(const void* memory, size_t bytes, int value);

// The first i in [0, count) for which holds(i) is false, or count. Runs on all processors.
int64_t first_violation(int64_t count, const std::function<bool(int64_t)>& holds);

// Whether the machine has `gib` GiB of available memory, including the dense pages of earlier tests.
bool has_memory(int64_t gib);

}  // namespace mluop::test

// Skips a test that writes `gib` GiB of memory if the machine does not have them available.
#define MLUOP_REQUIRE_MEMORY(gib) \
  if (!::mluop::test::has_memory(gib)) GTEST_SKIP() << "requires " << (gib) << " GiB of available memory"
