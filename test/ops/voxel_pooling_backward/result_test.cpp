// mluOpOmpVoxelPoolingBackward against the serial loop of its definition, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/caches.h"
#include "ops/voxel_pooling_backward/call.h"
#include "support/camera_rig.h"
#include "support/environment.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

std::string name_of(const VoxelPoolingBackwardSizes& s) {
  return std::to_string(s.batch_size) + " x " + std::to_string(s.num_points) + " x " +
         std::to_string(s.num_channels) + ", cells " + std::to_string(s.num_voxel_y) + " x " +
         std::to_string(s.num_voxel_x);
}

template <class T>
void expect_reference(const VoxelPoolingBackwardInputs<T>& inputs, Placement placement = Placement::kAligned) {
  const Handle handle;
  const VoxelPoolingBackwardCall<T> call(handle, inputs, placement);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  // EXPECT_EQ would print megabytes.
  EXPECT_TRUE(call.grad_input_buffer.values() == voxel_pooling_backward_reference(inputs));
  EXPECT_TRUE(call.intact());
}

// uint16_t represents half, uint32_t represents float.
template <class T>
class OpsVoxelPoolingBackward : public ::testing::Test {
 protected:
  std::mt19937 random_ = seeded_random();
};

using ElementTypes = ::testing::Types<uint16_t, uint32_t>;
TYPED_TEST_SUITE(OpsVoxelPoolingBackward, ElementTypes);

constexpr VoxelPoolingBackwardSizes kHostileSizes[] = {
    {1, 1, 1, 1, 1},        // one of everything
    {1, 1, 5000, 2, 2},     // one point: tasks share its row
    {2, 3, 20'011, 3, 1},   // few long rows
    {1, 7, 3, 1, 1},        // one cell
    {3, 50, 80, 9, 7},      // several batches
    {1, 1000, 1, 40, 30},   // one channel
    {2, 999, 13, 1, 50},    // a grid of one column
    {2, 999, 13, 50, 1},    // a grid of one row
    {5, 1, 33, 4, 4},       // a point a batch
    {1, 4000, 16, 100, 3},  // rows of a cache line in float
    {1, 40'000, 9, 20, 20}  // rows that cross cache lines
};

TYPED_TEST(OpsVoxelPoolingBackward, HostileSizes) {
  for (const VoxelPoolingBackwardSizes& sizes : kHostileSizes) {
    const auto inputs = random_voxel_pooling_backward<TypeParam>(sizes, this->random_);
    for (const int count : {1, 2, 3, 7, 64}) {
      SCOPED_TRACE(name_of(sizes) + ", threads " + std::to_string(count));
      const ScopedThreads threads(count);
      expect_reference(inputs);
    }
  }
}

// Rows of every length around those of vectors, which end at a guard page.
TYPED_TEST(OpsVoxelPoolingBackward, Tails) {
  const ScopedThreads threads(2);
  for (int64_t channels = 1; channels <= 140; ++channels) {
    SCOPED_TRACE(channels);
    const auto inputs = random_voxel_pooling_backward<TypeParam>({2, 37, channels, 3, 3}, this->random_);
    expect_reference(inputs, Placement::kAgainstEnd);
  }
}

// The number of points of an output that bypasses the caches.
template <class T>
int64_t streamed_points(int64_t channels) {
  return cache_sizes().llc / 4 / (channels * static_cast<int64_t>(sizeof(T))) + 3;
}

// Outputs that bypass the caches: short and long rows, of whole cache lines and others. The last row is of a point
// without a cell.
TYPED_TEST(OpsVoxelPoolingBackward, LargeOutputs) {
  const ScopedThreads threads(3);
  for (const int64_t channels : {1, 31, 64, 257, 1024, 9001}) {
    const VoxelPoolingBackwardSizes sizes = {1, streamed_points<TypeParam>(channels), channels, 11, 12};
    auto inputs = random_voxel_pooling_backward<TypeParam>(sizes, this->random_);
    std::fill(inputs.pos_memo.end() - 3, inputs.pos_memo.end(), -1);
    for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
      SCOPED_TRACE(name_of(sizes));
      expect_reference(inputs, placement);
    }
  }
}

TYPED_TEST(OpsVoxelPoolingBackward, Placements) {
  const ScopedThreads threads(2);
  for (const VoxelPoolingBackwardSizes& sizes :
       {VoxelPoolingBackwardSizes{2, 700, 80, 20, 20}, {1, 3000, 7, 5, 3}}) {
    const auto inputs = random_voxel_pooling_backward<TypeParam>(sizes, this->random_);
    for (const auto placement : {Placement::kMisaligned, Placement::kAgainstEnd}) {
      SCOPED_TRACE(name_of(sizes));
      expect_reference(inputs, placement);
    }
  }
}

// Tiles of every size; the smallest is shorter than a row.
TYPED_TEST(OpsVoxelPoolingBackward, NramSizes) {
  const ScopedThreads threads(2);
  constexpr int64_t kChannels = 531;
  const auto inputs = random_voxel_pooling_backward<TypeParam>(
      {1, streamed_points<TypeParam>(kChannels), kChannels, 40, 40}, this->random_);
  for (const char* kib : {"1", "3", "16", "384", "1024"}) {
    SCOPED_TRACE(kib);
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
    expect_reference(inputs);
  }
}

TYPED_TEST(OpsVoxelPoolingBackward, PointsWithoutCell) {
  const ScopedThreads threads(3);
  auto inputs = random_voxel_pooling_backward<TypeParam>({2, 3000, 20, 7, 5}, this->random_);
  std::fill(inputs.pos_memo.begin(), inputs.pos_memo.end(), -1);
  ASSERT_EQ(voxel_pooling_backward_reference(inputs), std::vector<TypeParam>(size_t{120'000}));
  expect_reference(inputs);
}

// Quiet and signaling NaN, infinities, zeros of both signs and subnormals are copied unchanged.
TYPED_TEST(OpsVoxelPoolingBackward, NanPayloadsAndInfinity) {
  auto inputs = random_voxel_pooling_backward<TypeParam>({1, 500, 37, 7, 5}, this->random_);
  constexpr auto kInfinity = static_cast<TypeParam>(sizeof(TypeParam) == 2 ? 0x7C00U : 0x7F800000U);
  constexpr auto kSign = static_cast<TypeParam>(TypeParam{1} << (sizeof(TypeParam) * 8 - 1));
  for (size_t i = 0; i < inputs.grad_output.size(); ++i) {
    const auto low = static_cast<TypeParam>(i % 3);
    const auto high = static_cast<TypeParam>((i % 2 == 0 ? kInfinity : 0) | (i % 5 == 0 ? kSign : 0));
    inputs.grad_output[i] = static_cast<TypeParam>(high | low);
  }
  expect_reference(inputs);
}

template <class T>
class BigVoxelPoolingBackward : public OpsVoxelPoolingBackward<T> {};
TYPED_TEST_SUITE(BigVoxelPoolingBackward, ElementTypes);

// The sizes of BEVDepth.
TYPED_TEST(BigVoxelPoolingBackward, NetworkSize) {
  const auto& forward = kBevDepthSizes;
  const VoxelPoolingBackwardSizes sizes = {forward.batch_size, forward.num_points, forward.num_channels,
                                           forward.num_voxel_x, forward.num_voxel_y};
  const auto inputs = random_voxel_pooling_backward<TypeParam>(sizes, this->random_);
  for (const int count : {1, 2, 16}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    expect_reference(inputs, Placement::kAgainstEnd);
  }
}

}  // namespace
}  // namespace mluop::test
