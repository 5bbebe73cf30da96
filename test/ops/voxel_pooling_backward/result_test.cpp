// mluOpOmpVoxelPoolingBackward against the serial loop of its definition, bit for bit, at sizes that its kernels
// treat apart. test/ops/contract_test.cpp has those of every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "case/values.h"
#include "core/caches.h"
#include "support/camera_rig.h"
#include "support/environment.h"
#include "support/operator_call.h"
#include "support/trace.h"
#include "support/values.h"

namespace mluop::test {
namespace {

using cases::Case;

struct Sizes {
  int64_t batch_size, num_points, num_channels, num_voxel_x, num_voxel_y;
};

// Elements of any bits, NaN among them. One point in four has no cell, the others any, also of another batch; the
// last one has none.
Case make(mluOpDataType_t dtype, const Sizes& s, std::mt19937& random) {
  Case made = with_values(make_case("voxel_pooling_backward", dtype,
                                    {{"batch_size", s.batch_size},
                                     {"num_points", s.num_points},
                                     {"num_channels", s.num_channels},
                                     {"num_voxel_x", s.num_voxel_x},
                                     {"num_voxel_y", s.num_voxel_y}}),
                          Values::kAnyBits, static_cast<int32_t>(random() % 1000));
  std::vector<int32_t> memo;
  for (int64_t point = 0; point < s.batch_size * s.num_points; ++point) {
    const bool has_cell = random() % 4 != 0;
    for (const int64_t extent : {s.batch_size, s.num_voxel_y, s.num_voxel_x}) {
      const auto position = static_cast<int32_t>(random() % static_cast<uint64_t>(extent));
      memo.push_back(has_cell ? position : -1);
    }
  }
  std::fill(memo.end() - 3, memo.end(), -1);
  set_values(made, "pos_memo", memo);
  return made;
}

constexpr Sizes kHostileSizes[] = {
    {1, 2, 5000, 2, 2},     // tasks share a row
    {2, 3, 20'011, 3, 1},   // few long rows
    {3, 50, 80, 9, 7},      // several batches
    {5, 1, 33, 4, 4},       // a point a batch
    {1, 4000, 16, 100, 3},  // rows of a cache line in float
    {1, 40'000, 9, 20, 20}  // rows that cross cache lines
};

TEST(OpsVoxelPoolingBackward, HostileSizes) {
  auto random = seeded_random();
  for (const auto dtype : kFloatingDtypes) {
    for (const Sizes& sizes : kHostileSizes) {
      SCOPED_TRACE(product_text({sizes.batch_size, sizes.num_points, sizes.num_channels}));
      const Case made = make(dtype, sizes, random);
      const Oracle oracle(made);
      for (const int count : {1, 2, 3, 7, 64}) {
        const ScopedThreads threads(count);
        expect_oracle(oracle);
      }
    }
  }
}

// An output that bypasses the caches.
Case make_streamed(mluOpDataType_t dtype, int64_t channels, std::mt19937& random) {
  const int64_t row_bytes = channels * static_cast<int64_t>(cases::element_size(dtype));
  return make(dtype, {1, cache_sizes().llc / 4 / row_bytes + 3, channels, 11, 12}, random);
}

// Short and long rows, of whole cache lines and others.
TEST(OpsVoxelPoolingBackward, StreamedOutputs) {
  auto random = seeded_random();
  const ScopedThreads threads(3);
  for (const auto dtype : kFloatingDtypes) {
    for (const int64_t channels : {1, 31, 64, 257, 1024, 9001}) {
      const Case made = make_streamed(dtype, channels, random);
      const Oracle oracle(made);
      for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
        SCOPED_TRACE(channels);
        expect_oracle(oracle, placement);
      }
    }
  }
}

// Tiles of every size; the smallest is shorter than a row.
TEST(OpsVoxelPoolingBackward, TilesOfStreamedOutputs) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  for (const auto dtype : kFloatingDtypes) {
    const Case made = make_streamed(dtype, 531, random);
    const Oracle oracle(made);
    for (const char* kib : {"1", "3", "16", "384", "1024"}) {
      SCOPED_TRACE(kib);
      const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", kib);
      expect_oracle(oracle);
    }
  }
}

TEST(OpsVoxelPoolingBackward, PointsWithoutCell) {
  auto random = seeded_random();
  for (const auto dtype : kFloatingDtypes) {
    Case made = make(dtype, {2, 3000, 20, 7, 5}, random);
    set_values(made, "pos_memo", std::vector<int32_t>(18'000, -1));
    const ScopedThreads threads(3);
    const Handle handle;
    const OperatorCall call(handle, made);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    const std::vector<std::byte> outputs = call.outputs();
    EXPECT_TRUE(std::all_of(outputs.begin(), outputs.end(), [](std::byte byte) { return byte == std::byte{}; }));
  }
}

// The sizes of BEVDepth.
TEST(BigVoxelPoolingBackward, NetworkSize) {
  auto random = seeded_random();
  const auto& s = kBevDepthSizes;
  for (const auto dtype : kFloatingDtypes) {
    const Case made =
        make(dtype, {s.batch_size, s.num_points, s.num_channels, s.num_voxel_x, s.num_voxel_y}, random);
    const Oracle oracle(made);
    for (const int count : {1, 2, 16}) {
      SCOPED_TRACE(count);
      const ScopedThreads threads(count);
      expect_oracle(oracle, Placement::kAgainstEnd);
    }
  }
}

}  // namespace
}  // namespace mluop::test
