// mluOpGetIndicePairs with indice_pairs of more than 2^31 elements: every element against the definition. Every
// cell of the space is a site, in ascending order, so that the row of a site is its place in the space.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "large/large_memory.h"
#include "support/api.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

constexpr int64_t kExtent = 103, kSites = kExtent * kExtent * kExtent;
constexpr int64_t kKernel = 10, kOffsets = kKernel * kKernel * kKernel, kPad = 4;
static_assert(kOffsets * 2 * kSites > int64_t{1} << 31);

// Whether the pairs of offset k of a submanifold convolution are those of the definition.
bool holds(int64_t k, const int32_t* pairs, int64_t count) {
  const std::array<int64_t, 3> shift = {kPad - k / (kKernel * kKernel), kPad - k / kKernel % kKernel,
                                        kPad - k % kKernel};
  int64_t found = 0;
  for (int64_t d = 0; d < kExtent; ++d) {
    for (int64_t h = 0; h < kExtent; ++h) {
      for (int64_t w = 0; w < kExtent; ++w) {
        const int64_t od = d + shift[0], oh = h + shift[1], ow = w + shift[2];
        if (std::min({od, oh, ow}) < 0 || std::max({od, oh, ow}) >= kExtent) continue;
        if (pairs[found] != (d * kExtent + h) * kExtent + w) return false;
        if (pairs[kSites + found] != (od * kExtent + oh) * kExtent + ow) return false;
        ++found;
      }
    }
  }
  const auto unused = [&](const int32_t* rows) {
    return std::all_of(rows + found, rows + kSites, [](int32_t row) { return row == -1; });
  };
  return found == count && unused(pairs) && unused(pairs + kSites);
}

TEST(LargeGetIndicePairs, IndicePairs) {
  MLUOP_REQUIRE_MEMORY(10);
  const ScopedThreads threads(2);
  const LargeBuffer<int32_t> indices(kSites * 4, Pages::kDense), out_indices(kSites * 4, Pages::kDense);
  for (int64_t row = 0; row < kSites; ++row) {
    indices[row * 4] = 0;
    indices[row * 4 + 1] = static_cast<int32_t>(row / (kExtent * kExtent));
    indices[row * 4 + 2] = static_cast<int32_t>(row / kExtent % kExtent);
    indices[row * 4 + 3] = static_cast<int32_t>(row % kExtent);
  }
  const LargeBuffer<int32_t> pairs(kOffsets * 2 * kSites, Pages::kDense), num(kOffsets, Pages::kDense);
  pairs.poison();

  const Handle handle;
  const SparseConvolutionDescriptor convolution;
  constexpr int kSpace[] = {kExtent, kExtent, kExtent}, kFilter[] = {kKernel, kKernel, kKernel};
  constexpr int kPads[] = {kPad, kPad, kPad}, kOnes[] = {1, 1, 1};
  require(mluOpSetSparseConvolutionDescriptor(convolution, 5, 1, kPads, kOnes, kOnes, kSpace, kFilter, kSpace, 1,
                                              0, 0));
  const Descriptor indices_desc(MLUOP_DTYPE_INT32, {kSites, 4});
  const Descriptor pairs_desc(MLUOP_DTYPE_INT32, {kOffsets, 2, kSites});
  const Descriptor num_desc(MLUOP_DTYPE_INT32, {kOffsets});
  size_t bytes = 0;
  require(mluOpGetIndicePairsWorkspaceSize(handle, convolution, indices_desc, pairs_desc, indices_desc, num_desc,
                                           &bytes));
  const LargeMemory workspace(bytes, Pages::kDense);
  ASSERT_EQ(mluOpGetIndicePairs(handle, convolution, indices_desc, indices.data(), workspace.bytes(), bytes,
                                pairs_desc, pairs.data(), indices_desc, out_indices.data(), num_desc, num.data()),
            MLUOP_STATUS_SUCCESS)
      << mluOpOmpGetLastError();
  EXPECT_TRUE(std::equal(indices.data(), indices.data() + kSites * 4, out_indices.data()));
  EXPECT_EQ(first_violation(kOffsets, [&](int64_t k) { return holds(k, pairs.data() + k * 2 * kSites, num[k]); }),
            kOffsets);
}

}  // namespace
}  // namespace mluop::test
