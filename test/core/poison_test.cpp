// Under AddressSanitizer, an access to the memory of an arena outside its buffers is reported.
#include "core/poison.h"

#include <gtest/gtest.h>

#include "core/arena.h"
#include "core/boundary.h"
#include "support/poisoned.h"

namespace mluop::test {
namespace {

class CoreArenaPoison : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kPoisons) GTEST_SKIP() << "built without AddressSanitizer";
  }
};

using CoreArenaDeathTest = CoreArenaPoison;

TEST_F(CoreArenaDeathTest, OverrunIntoTheNextBuffer) {
  AlignedBuffer memory;
  memory.reserve(256 + kArenaGapBytes);
  Arena arena(memory.data(), 256, kArenaGapBytes);
  auto* const lines = arena.take<float>("whole lines", {32});
  auto* const rest = arena.take<float>("less than a line", {3});
  // An index that the compiler does not know.
  volatile size_t end = 32;
  EXPECT_DEATH(lines[end] = 1, "use-after-poison");
  end = 3;
  EXPECT_DEATH(rest[end] = 1, "use-after-poison");
  arena.release();
  EXPECT_DEATH(lines[0] = 1, "use-after-poison");
}

// The memory before, between and after the buffers; sizes are those of an arena without gaps.
TEST_F(CoreArenaPoison, MemoryOutsideBuffers) {
  constexpr size_t kCapacity = 640;
  AlignedBuffer memory;
  memory.reserve(kCapacity + kArenaGapBytes);
  Arena arena(memory.data(), kCapacity, kArenaGapBytes);
  EXPECT_EQ(poisoned_bytes(memory.data(), kCapacity), kCapacity);
  EXPECT_EQ(arena.capacity(), kCapacity);
  for (const int64_t count : {1, 7, 8, 63, 64, 65, 128}) {
    const auto* const buffer = arena.take<char>("buffer", {count});
    const auto bytes = static_cast<size_t>(count);
    EXPECT_TRUE(accessible(buffer, bytes)) << count;
    EXPECT_GE(poisoned_bytes(buffer + bytes, 64), 64U) << count;
  }
  EXPECT_EQ(arena.used(), size_t{5 * 64 + 128 + 128});
  EXPECT_NO_THROW(arena.take<char>("rest", {64}));
  EXPECT_THROW(arena.take<char>("more", {1}), Failure);
}

// More buffers than gaps.
TEST_F(CoreArenaPoison, ManyBuffers) {
  constexpr int64_t kBuffers = 200;
  AlignedBuffer memory;
  memory.reserve(kBuffers * 64 + kArenaGapBytes);
  Arena arena(memory.data(), kBuffers * 64, kArenaGapBytes);
  for (int64_t i = 0; i < kBuffers; ++i) {
    const auto* const buffer = arena.take<char>("buffer", {60});
    EXPECT_TRUE(accessible(buffer, 60));
    EXPECT_LE(buffer + 60, reinterpret_cast<const char*>(memory.data() + memory.capacity()));
    EXPECT_GE(poisoned_bytes(buffer + 60, 4), 4U);
  }
}

}  // namespace
}  // namespace mluop::test
