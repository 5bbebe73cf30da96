// mluOpVoxelPoolingForward against the serial loop of its definition, at sizes and with values that its kernels
// distinguish. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <string>
#include <vector>

#include "support/environment.h"
#include "support/half_sums.h"
#include "support/labels.h"
#include "support/recorded_run.h"
#include "support/scenes.h"
#include "support/sized_case.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

// batch_size, num_points, num_channels, num_voxel_x, num_voxel_y, num_voxel_z
using Sizes = std::vector<int64_t>;

Case make(mluOpDataType_t dtype, const Sizes& sizes) { return sized_case("voxel_pooling_forward", dtype, sizes); }

// Points of one batch in the only cell, with these features of one or more channels.
Case one_cell(mluOpDataType_t dtype, const std::vector<float>& features, int64_t channels) {
  const int64_t points = static_cast<int64_t>(features.size()) / channels;
  Case made = make(dtype, {1, points, channels, 1, 1});
  set_values(made, "geom_xyz", std::vector<int32_t>(static_cast<size_t>(points) * 3));
  set_values(made, "input_features", features);
  return made;
}

TEST(OpsVoxelPoolingForward, WorkedExample) {
  for (const auto dtype : kFloatingDtypes) {
    Case made = make(dtype, {2, 2, 2, 3, 2, 2});
    set_values(made, "geom_xyz", std::vector<int32_t>{2, 1, 0, 0, 0, 1, 2, 1, 1, 3, 0, 0});
    set_values(made, "input_features", std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
    for (const auto algorithm : kAlgorithms) {
      const Handle handle(algorithm);
      const OperatorCall call(handle, made);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_EQ(call.floats("output_features"), (std::vector<float>{3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2,  //
                                                                    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 6}));
      EXPECT_EQ(call.int32s("pos_memo"), (std::vector<int32_t>{0, 1, 2, 0, 0, 0, 1, 1, 2, -1, -1, -1}));
    }
  }
}

const Sizes kHostileSizes[] = {
    {1, 5000, 3, 7, 5, 3},       // many points per cell, fewer channels than a vector
    {1, 40, 4, 100, 90, 2},      // more cells than points
    {7, 131, 80, 13, 11, 1},     // the channels of the network; tiles across batches
    {1, 64, 1025, 2, 2, 1},      // several blocks of channels
    {2, 300, 128, 1, 1, 1},      // one cell for all points
    {1, 3001, 7, 1, 999, 1},     // a grid of one column
    {1, 200, 9, 3, 3, INT_MAX},  // the largest z extent
    {1, 4000, 3, 150, 151, 1},   // several blocks of cells
    {2, 30000, 5, 12, 10, 1},    // many points
    {1, 50, 3000, 3, 2, 1},      // many channels
};

TEST(OpsVoxelPoolingForward, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  for (const auto dtype : kFloatingDtypes) {
    for (const Sizes& sizes : kHostileSizes) {
      SCOPED_TRACE(::testing::PrintToString(sizes));
      const Case made = make(dtype, sizes);
      const Oracle oracle(made);
      for (const int count : {1, 3}) {
        const ScopedThreads threads(count);
        expect_oracle(oracle);
      }
    }
  }
}

// Outputs large enough for nontemporal stores of pos_memo.
TEST(OpsVoxelPoolingForward, StreamedOutputs) {
  MLUOP_LABELS(kSlow);
  const ScopedThreads threads(2);
  const Case made = make(MLUOP_DTYPE_FLOAT, {1, 40000, 67, 63, 65});
  const Oracle oracle(made);
  for (const auto placement : kPlacements) expect_oracle(oracle, placement);
}

// Overflow to infinity, subnormal sums, ties, and a sum that would stay at 2048 in half.
TEST(OpsVoxelPoolingForwardHalf, RoundsOnceToNearestEven) {
  std::vector<HalfSum> sums = half_sums();
  sums.push_back({std::vector<double>(20000, 1), 1, 20000});
  const ScopedThreads threads(2);
  for (const auto& [addends, factor, sum] : sums) {
    if (factor == 0x1p-11) continue;  // half does not represent the products
    SCOPED_TRACE(sum);
    std::vector<float> features;
    for (const double addend : addends) features.push_back(static_cast<float>(addend * factor));
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(text_of(algorithm));
      const Handle handle(algorithm);
      const OperatorCall call(handle, one_cell(MLUOP_DTYPE_HALF, features, 1));
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_EQ(call.floats("output_features")[0], sum);
    }
  }
}

// Coordinates near the limits of int32 must not overflow into the grid; no point in range.
TEST(OpsVoxelPoolingForward, ExtremeCoordinates) {
  Case made = make(MLUOP_DTYPE_FLOAT, {1, 64, 3, 5, 4, 2});
  const int32_t extremes[] = {INT_MIN, INT_MIN + 1, -1, 0, 1, 3, INT_MAX - 1, INT_MAX};
  std::vector<int32_t> geometry;
  for (const int32_t x : extremes) {
    for (const int32_t y : extremes) geometry.insert(geometry.end(), {x, y, (x ^ y) & 1});
  }
  set_values(made, "geom_xyz", geometry);
  expect_oracle(made);
  for (size_t i = 0; i < geometry.size(); i += 3) geometry[i] = i % 2 == 0 ? -1 : INT_MAX;
  set_values(made, "geom_xyz", geometry);
  expect_oracle(made);
}

// The cell x, y = 3, 4 has nine points in ten.
TEST(OpsVoxelPoolingForwardSharedCells, SerialBits) {
  MLUOP_LABELS(kSlow);
  constexpr int32_t kCell[] = {3, 4, 0};
  auto random = seeded_random();
  for (const auto dtype : kFloatingDtypes) {
    for (const int channels : {1, 17, 33, 80, 83}) {
      Case made = make(dtype, {1, 6000, channels, 20, 30});
      std::vector<int32_t> geometry = int32s_of(made, "geom_xyz");
      for (auto point = geometry.begin(); point != geometry.end(); point += 3) {
        if (random() % 10 != 0) std::copy_n(kCell, 3, point);
      }
      set_values(made, "geom_xyz", geometry);
      const Oracle oracle(made);
      for (const int count : {1, 2, 3, 7, 64}) {
        SCOPED_TRACE(product_text({channels, count}));
        const ScopedThreads threads(count);
        expect_oracle(oracle, count == 2 ? Placement::kMisaligned : Placement::kAgainstEnd);
      }
    }
  }
}

// Tasks share the channels of the only cell. A sum starts at +0: the sum of points of -0 is +0.
TEST(OpsVoxelPoolingForwardSharedCells, NegativeZero) {
  for (const auto dtype : kFloatingDtypes) {
    const Case made = one_cell(dtype, std::vector<float>(size_t{12000} * 40, -0.0F), 40);
    const Launch launch = run_recorded(Oracle(made), MLUOP_OMP_ALGORITHM_NATIVE, 2).back();
    ASSERT_EQ(launch.task_dim, 2);
    for (const auto& task : launch.tasks) EXPECT_GT(task.item_count, 0);
  }
}

TEST(BigVoxelPoolingForward, NetworkSize) {
  const auto& s = kBevDepthSizes;
  for (const auto dtype : kFloatingDtypes) {
    Case made = make(dtype, {s.batch_size, s.num_points, s.num_channels, s.num_voxel_x, s.num_voxel_y});
    for (const auto& geometry : {camera_geometry(s.batch_size), uniform_geometry(s, 17)}) {
      set_values(made, "geom_xyz", geometry);
      const Oracle oracle(made);
      const ScopedThreads threads(dtype == MLUOP_DTYPE_FLOAT ? 16 : 1);
      expect_oracle(oracle, Placement::kAgainstEnd);
    }
  }
}

}  // namespace
}  // namespace mluop::test
