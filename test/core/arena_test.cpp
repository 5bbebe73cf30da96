// Arenas: buffers are aligned and disjoint, sets of buffers are measured as they are taken, sizes are checked.
// Under AddressSanitizer, an access to the memory of an arena outside its buffers is reported.
#include "core/arena.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "core/boundary.h"
#include "support/poisoned.h"

namespace mluop::test {
namespace {

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % kScratchAlignment == 0; }

void expect_failure(mluOpStatus_t status, const std::string& message, const std::function<void()>& body) {
  EXPECT_EQ(run_guarded("example", body), status);
  EXPECT_EQ(last_error(), "[example] " + message);
}

struct Set {
  Set(Arena& arena, int64_t rows, int64_t columns)
      : flag(arena.take<char>("flag", {1})),
        matrix(arena.take<double>("matrix", {rows, columns})),
        last(arena.take<int16_t>("last", {rows})) {}

  char* flag;
  double* matrix;
  int16_t* last;
};

TEST(CoreArena, BuffersAreWholeCacheLines) {
  Arena arena;
  const auto taken = [&](auto element, std::initializer_list<int64_t> shape) {
    const size_t before = arena.used();
    EXPECT_EQ(arena.take<decltype(element)>("buffer", shape), nullptr) << "a measuring arena has no memory";
    return arena.used() - before;
  };
  EXPECT_EQ(taken(char{}, {0}), 0U);
  EXPECT_EQ(taken(char{}, {1}), 64U);
  EXPECT_EQ(taken(char{}, {64}), 64U);
  EXPECT_EQ(taken(char{}, {65}), 128U);
  EXPECT_EQ(taken(int32_t{}, {16}), 64U);
  EXPECT_EQ(taken(int32_t{}, {17}), 128U);
  EXPECT_EQ(taken(double{}, {2, 4}), 64U);
  EXPECT_EQ(taken(double{}, {3, 3}), 128U);
  EXPECT_EQ(taken(double{}, {3, 0, 3}), 0U);
}

TEST(CoreArena, SuccessiveBuffersAreDisjointAndAligned) {
  AlignedBuffer memory;
  memory.reserve(4096);
  Arena arena(memory.data(), 4096);
  EXPECT_EQ(arena.capacity(), 4096U);
  const std::byte* end = memory.data();
  for (const int64_t count : {1, 15, 16, 17, 63, 64, 65, 0, 7}) {
    const auto* buffer = arena.take<int32_t>("buffer", {count});
    EXPECT_TRUE(aligned(buffer));
    EXPECT_GE(reinterpret_cast<const std::byte*>(buffer), end);
    end = reinterpret_cast<const std::byte*>(buffer + count);
  }
  EXPECT_LE(end, memory.data() + arena.used());
}

TEST(CoreArena, SizesThatOverflow) {
  const auto expect_overflow = [](const std::string& shape_text, auto element,
                                  std::initializer_list<int64_t> shape) {
    Arena arena;
    arena.take<char>("before", {65});
    expect_failure(MLUOP_STATUS_BAD_PARAM,
                   "the size in bytes of scratch buffer keys " + shape_text + " exceeds 2^63 - 1",
                   [&] { arena.take<decltype(element)>("keys", shape); });
    EXPECT_EQ(arena.used(), 128U);
  };
  expect_overflow("[4611686018427387904, 2]", char{}, {int64_t{1} << 62, 2});
  expect_overflow("[1152921504606846976]", int64_t{}, {INT64_MAX / 8 + 1});
  // Rounded up to cache lines, and added to the buffer before.
  expect_overflow("[9223372036854775807]", char{}, {INT64_MAX});
  expect_overflow("[9223372036854775744]", char{}, {INT64_MAX - 63});
}

TEST(CoreArena, ExceedingTheCapacity) {
  AlignedBuffer memory;
  memory.reserve(1024);
  Arena arena(memory.data(), 1024);
  arena.take<char>("first", {1});
  expect_failure(MLUOP_STATUS_INTERNAL_ERROR, "scratch buffer second [2, 481] takes 1024 bytes, 960 are left",
                 [&] {
                   arena.take<char>("second", {2, 481});
                 });
  // A failure takes no memory; a buffer of exactly the rest of the capacity succeeds.
  const auto* rest = arena.take<char>("third", {960});
  EXPECT_EQ(reinterpret_cast<const std::byte*>(rest + 960), memory.data() + 1024);
  expect_failure(MLUOP_STATUS_INTERNAL_ERROR, "scratch buffer fourth [1] takes 64 bytes, 0 are left",
                 [&] { arena.take<char>("fourth", {1}); });
  EXPECT_NO_THROW(arena.take<char>("empty", {0}));
}

// The measured size of a set equals the bytes that it takes.
TEST(CoreArena, WorkspaceOfEveryMisalignment) {
  for (const auto& [rows, columns] : {std::pair{0, 9}, {7, 0}, {7, 9}, {32, 8}, {33, 1}}) {
    const size_t bytes = workspace_bytes_of<Set>(rows, columns);
    EXPECT_EQ(bytes, bytes_of<Set>(rows, columns) + kWorkspaceSlack);
    AlignedBuffer memory;
    memory.reserve(bytes + kScratchAlignment);
    for (size_t offset = 0; offset < kScratchAlignment; ++offset) {
      std::byte* const workspace = memory.data() + offset;
      Arena arena = workspace_arena(workspace, bytes);
      const Set set(arena, rows, columns);
      EXPECT_EQ(arena.used(), bytes_of<Set>(rows, columns));
      EXPECT_TRUE(aligned(set.flag) && aligned(set.matrix) && aligned(set.last));
      EXPECT_GE(reinterpret_cast<std::byte*>(set.flag), workspace);
      EXPECT_LE(reinterpret_cast<std::byte*>(set.last + rows), workspace + bytes);
    }
  }
}

// Nothing to align, or less than the alignment skips.
TEST(CoreArena, SmallWorkspaces) {
  EXPECT_EQ(workspace_arena(nullptr, 0).capacity(), 0U);
  AlignedBuffer memory;
  memory.reserve(128);
  EXPECT_EQ(workspace_arena(memory.data() + 1, 62).capacity(), 0U);
  EXPECT_EQ(workspace_arena(memory.data() + 1, 64).capacity(), 1U);
}

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
  // The compiler must not know the index.
  volatile size_t end = 32;
  EXPECT_DEATH(lines[end] = 1, "use-after-poison");
  end = 3;
  EXPECT_DEATH(rest[end] = 1, "use-after-poison");
  arena.release();
  EXPECT_DEATH(lines[0] = 1, "use-after-poison");
}

// The memory before, between and after the buffers; the sizes do not include gaps.
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
