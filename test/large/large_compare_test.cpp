// A comparison of tensors of more than 2^31 elements.
#include <gtest/gtest.h>

#include "large/large_memory.h"
#include "support/api.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

TEST(LargeCompare, ElementsBeyond2To31) {
  MLUOP_REQUIRE_MEMORY(2);
  constexpr int64_t kRows = kLimit / 8 + 1, kCount = kRows * 8;
  const LargeMemory found(kCount, Pages::kSparse), expected(kCount, Pages::kSparse);
  for (int64_t row = kRows - 100; row < kRows; ++row) found.bytes()[row * 8 + 3] = std::byte{7};
  found.bytes()[kCount - 5] = std::byte{9};
  const ScopedThreads threads(2);
  const Handle handle;
  const Descriptor desc(MLUOP_DTYPE_INT8, {kRows, 8});
  mluOpOmpComparison_t comparison = nullptr;
  require(mluOpOmpCompare(handle, desc, found.bytes(), desc, expected.bytes(), nullptr, &comparison));
  mluOpOmpDifference_t figures;
  require(mluOpOmpGetDifference(comparison, &figures));
  EXPECT_EQ(figures.elements, kCount);
  EXPECT_EQ(figures.wrong, 100);
  EXPECT_EQ(figures.max_ulp, 9);
  EXPECT_EQ(figures.ulp_histogram[0], kCount - 100);
  mluOpOmpWrongElement_t worst;
  int count = 0;
  require(mluOpOmpGetWrongElements(comparison, 1, &worst, &count));
  EXPECT_EQ(worst.index, kCount - 5);
  EXPECT_STREQ(mluOpOmpGetComparisonPattern(comparison),
               "a tile: [268435357:268435457, 3:4], 100 of its 100 elements");
  require(mluOpOmpDestroyComparison(comparison));
}

}  // namespace
}  // namespace mluop::test
