#include "core/workspace_layout.h"

#include <gtest/gtest.h>

#include <new>

namespace mluop::test {
namespace {

TEST(CoreWorkspaceLayout, BuffersAreAlignedAndApart) {
  WorkspaceLayout layout;
  EXPECT_EQ(layout.bytes(), 0U);
  EXPECT_EQ(layout.add<char>(1), 0U);
  EXPECT_EQ(layout.add<double>(8), 64U);     // exactly one boundary
  EXPECT_EQ(layout.add<int32_t>(17), 128U);  // one element more than a boundary
  EXPECT_EQ(layout.add<char>(0), 256U);      // nothing takes no room
  EXPECT_EQ(layout.add<int16_t>(3), 256U);
  EXPECT_EQ(layout.bytes(), 320U);
}

TEST(CoreWorkspaceLayout, At) {
  alignas(kScratchAlignment) std::byte workspace[256];
  WorkspaceLayout layout;
  layout.add<char>(100);
  const size_t numbers = layout.add<int32_t>(3);
  EXPECT_EQ(static_cast<void*>(at<int32_t>(workspace, numbers)), workspace + 128);
}

TEST(CoreWorkspaceLayout, OverflowThrowsAndAddsNothing) {
  WorkspaceLayout layout;
  layout.add<char>(65);
  EXPECT_THROW(layout.add<int64_t>(INT64_MAX / 8 + 1), std::bad_alloc);  // the product
  EXPECT_THROW(layout.add<char>(INT64_MAX - 128), std::bad_alloc);       // the sum
  EXPECT_EQ(layout.bytes(), 128U);
  // The most that fits, and then nothing any more.
  EXPECT_EQ(layout.add<char>(INT64_MAX - 128 - 64), 128U);
  EXPECT_GE(layout.bytes(), static_cast<size_t>(INT64_MAX - 64));
  EXPECT_LE(layout.bytes(), static_cast<size_t>(INT64_MAX));
  EXPECT_THROW(layout.add<char>(64), std::bad_alloc);
}

}  // namespace
}  // namespace mluop::test
