// mluOpThreeNNForward with tensors of more than 2^31 elements, in half: every element against the oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "large/large_memory.h"
#include "ops/three_nn_forward/call.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

constexpr int64_t kUnknown = 715'900'001, kKnown = 5;
static_assert(kUnknown * 3 > int64_t{1} << 31);

TEST(LargeThreeNNForward, Unknown) {
  MLUOP_REQUIRE_MEMORY(14);
  auto random = seeded_random();
  const ScopedThreads threads(2);
  const LargeBuffer<Half> unknown(kUnknown * 3, Pages::kSparse), dist2(kUnknown * 3, Pages::kDense);
  const LargeBuffer<int32_t> idx(kUnknown * 3, Pages::kDense);
  const auto fraction = [&] { return to_f16(static_cast<float>(random() % 2001) / 1000.0F - 1.0F); };
  std::vector<Half> known(kKnown * 3);
  for (Half& coordinate : known) coordinate = fraction();
  // The last points and others; the remaining points are the origin, in pages without memory.
  for (int64_t n = kUnknown - 1000; n < kUnknown; ++n) {
    for (int64_t i = 0; i < 3; ++i) {
      unknown[n * 3 + i] = fraction();
      unknown[static_cast<int64_t>(random()) % kUnknown * 3 + i] = fraction();
    }
  }
  dist2.poison();
  idx.poison();

  const Handle handle;
  const Descriptor unknown_desc(MLUOP_DTYPE_HALF, {1, kUnknown, 3}), known_desc(MLUOP_DTYPE_HALF, {1, kKnown, 3});
  const Descriptor idx_desc(MLUOP_DTYPE_INT32, {1, kUnknown, 3});
  size_t bytes = 0;
  require(mluOpGetThreeNNForwardWorkspaceSize(handle, known_desc, &bytes));
  std::vector<std::byte> workspace(bytes);
  ASSERT_EQ(mluOpThreeNNForward(handle, unknown_desc, unknown.data(), known_desc, known.data(), workspace.data(),
                                bytes, unknown_desc, dist2.data(), idx_desc, idx.data()),
            MLUOP_STATUS_SUCCESS)
      << mluOpOmpGetLastError();

  const auto holds = [&](int64_t n, int64_t count, const Half* expected_dist2, const int32_t* expected_idx) {
    const auto elements = static_cast<size_t>(count * 3);
    return std::memcmp(dist2.data() + n * 3, expected_dist2, elements * sizeof(Half)) == 0 &&
           std::memcmp(idx.data() + n * 3, expected_idx, elements * sizeof(int32_t)) == 0;
  };
  // Most points are the origin, in whole blocks.
  constexpr int64_t kBlock = 4096;
  const std::vector<Half> zeros(kBlock * 3, to_f16(0.0F));
  std::vector<Half> block_dist2(kBlock * 3);
  std::vector<int32_t> block_idx(kBlock * 3);
  reference::three_nn_forward({1, kBlock, kKnown}, zeros.data(), known.data(), block_dist2.data(),
                              block_idx.data());
  const auto block_holds = [&](int64_t block) {
    const int64_t begin = block * kBlock, count = std::min(kBlock, kUnknown - begin);
    const Half* points = unknown.data() + begin * 3;
    if (all_zero(points, static_cast<size_t>(count) * 3 * sizeof(Half))) {
      return holds(begin, count, block_dist2.data(), block_idx.data());
    }
    std::vector<Half> expected_dist2(kBlock * 3);
    std::vector<int32_t> expected_idx(kBlock * 3);
    reference::three_nn_forward({1, count, kKnown}, points, known.data(), expected_dist2.data(),
                                expected_idx.data());
    return holds(begin, count, expected_dist2.data(), expected_idx.data());
  };
  constexpr int64_t kBlocks = (kUnknown + kBlock - 1) / kBlock;
  EXPECT_EQ(first_violation(kBlocks, block_holds), kBlocks) << "times " << kBlock << " points";
}

}  // namespace
}  // namespace mluop::test
