// mluOpDynamicPointToVoxelForward against its definition, at sizes and with values that its kernels treat apart:
// exact, sums and means too. test/ops/contract_test.cpp has those of every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <iterator>
#include <vector>

#include "support/environment.h"
#include "support/lidar_map.h"
#include "support/operator_call.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr mluOpReduceMode_t kReduceTypes[] = {MLUOP_REDUCE_DSUM, MLUOP_REDUCE_DMEAN, MLUOP_REDUCE_DMAX};

struct Sizes {
  int64_t points, channels, grid;
};

Case make(const Sizes& sizes, mluOpReduceMode_t reduce_type) {
  return make_case(
      "dynamic_point_to_voxel_forward", MLUOP_DTYPE_FLOAT,
      {{"n", sizes.points}, {"c", sizes.channels}, {"grid", sizes.grid}, {"reduce_type", reduce_type}});
}

// Gives the outputs of voxels another number of rows.
void set_rows(Case& made, int64_t rows) {
  for (const size_t output : {0U, 1U, 3U}) made.outputs[output].dims[0] = rows;
}

// Coordinates and features that draw() returns.
template <class Draw>
void draw_coors(Case& made, const Draw& draw) {
  std::vector<int32_t> coors = int32s_of(made, "coors");
  std::generate(coors.begin(), coors.end(), draw);
  set_values(made, "coors", coors);
}
template <class Draw>
void draw_feats(Case& made, const Draw& draw) {
  std::vector<float> feats = floats_of(made, "feats");
  std::generate(feats.begin(), feats.end(), draw);
  set_values(made, "feats", feats);
}

constexpr Sizes kSizes[] = {
    {40, 300, 2},          // rows longer than what is prefetched
    {3000, 4, 1},          // one voxel for all points
    {20000, 36, 1},        // which tasks share
    {20000, 36, 2},        // few voxels
    {3000, 5, 12},         // about two points per voxel
    {20000, 36, 25},       // voxels of one or two points, in all chunks
    {3000, 5, 1 << 30},    // distinct coordinates, two words of key or more
    {2500, 7, 1500},       // 32 bits of key
    {2500, 7, 2000},       // more
    {9001, 1, 1 << 20},    // parts of several sizes
    {20000, 36, 1 << 20},  // a voxel for each point
    {150000, 1, 3},        // many points, in few voxels
    {150000, 1, 1 << 25},  // many points and voxels
    {700, 0, 4},           // voxel_feats without elements
    {9000, 0, 1},         {9000, 0, 1 << 30},
};

// The size of the workspace is sufficient for every number of threads.
TEST(OpsDynamicPointToVoxelForward, HostileSizes) {
  for (const Sizes& sizes : kSizes) {
    for (const auto reduce_type : kReduceTypes) {
      const Case made = make(sizes, reduce_type);
      const Oracle oracle(made);
      const Handle handle;
      const OperatorCall call(handle, made);
      for (const int count : {1, 2, 3, 7, 100}) {
        SCOPED_TRACE(product_text({sizes.points, sizes.channels, sizes.grid, reduce_type, count}));
        const ScopedThreads threads(count);
        const auto placement = count == 2 ? Placement::kMisaligned : Placement::kAgainstEnd;
        EXPECT_TRUE(expect_contract(oracle, MLUOP_OMP_ALGORITHM_NATIVE, placement)) << mluOpOmpGetLastError();
        size_t bytes = 0;
        require(call.op().query(call.arguments, &bytes));
        EXPECT_EQ(bytes, call.arguments.workspace_size);
      }
    }
  }
}

// An output large enough for nontemporal stores, with rows of whole and of partial cache lines.
TEST(OpsDynamicPointToVoxelForward, StreamedOutput) {
  const ScopedThreads threads(2);
  for (const int channels : {128, 120}) {
    const Case made = make({40000, channels, 70}, MLUOP_REDUCE_DMEAN);
    const Oracle oracle(made);
    for (const auto placement : {Placement::kAligned, Placement::kMisaligned}) expect_oracle(oracle, placement);
  }
}

TEST(OpsDynamicPointToVoxelForward, SmallestNram) {
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "1");
  expect_oracle(make({3000, 20, 12}, MLUOP_REDUCE_DSUM));
}

// The limits of int32 along every axis, in each combination.
TEST(OpsDynamicPointToVoxelForward, LimitsOfCoordinates) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  constexpr int32_t kValues[] = {0, 1, 7, INT_MAX - 1, INT_MAX, -1, INT_MIN};
  Case made = make({1000, 3, 1}, MLUOP_REDUCE_DSUM);
  draw_coors(made, [&] { return kValues[random() % std::size(kValues)]; });
  expect_oracle(made);
  // Extents whose product is 2^32 - 1, the most that one word of a key takes, and next to it.
  for (const int32_t extent : {65536, 65537, 65538}) {
    size_t i = 0;
    draw_coors(made, [&] {
      const bool at_end = random() % 2 == 0;
      switch (i++ % 3) {
        case 0: return 5;
        case 1: return 10 + (at_end ? 65534 : 0);
        default: return 20 + (at_end ? extent - 1 : 0);
      }
    });
    expect_oracle(made);
  }
}

TEST(OpsDynamicPointToVoxelForward, NoPointHasAVoxel) {
  for (const int64_t points : {1, 70, 9000}) {
    Case made = make({points, 9, 5}, MLUOP_REDUCE_DMAX);
    size_t i = 0;
    draw_coors(made, [&] { return i++ % 3 == 0 ? -5 : 2; });
    expect_oracle(made);
    set_rows(made, 0);
    expect_oracle(made);
  }
}

// As many rows as voxels suffice.
TEST(OpsDynamicPointToVoxelForward, RowsForTheVoxelsOnly) {
  Case made = make({900, 12, 6}, MLUOP_REDUCE_DMEAN);
  const Handle handle;
  OperatorCall expected(handle, made);
  expected.expect();
  set_rows(made, expected.int32s("voxel_num")[0]);
  expect_oracle(made, Placement::kAgainstEnd);
}

// NaN loses against every value and zero against none; of zeros of either sign the first remains.
TEST(OpsDynamicPointToVoxelForward, MaximaOfSpecialValues) {
  auto random = seeded_random();
  constexpr float kValues[] = {kNan, -kNan, kInfinity, -kInfinity, 0.0F, -0.0F, -1.0F, 1e-42F};
  for (const auto reduce_type : kReduceTypes) {
    Case made = make({4000, 21, 11}, reduce_type);
    draw_feats(made, [&] { return kValues[random() % std::size(kValues)]; });
    const Oracle oracle(made);
    for (const int count : {1, 3}) {
      const ScopedThreads threads(count);
      expect_oracle(oracle);
    }
  }
}

TEST(OpsDynamicPointToVoxelForward, MaximumOfNanIsMinusInfinity) {
  Case made = make({50, 5, 1}, MLUOP_REDUCE_DMAX);
  draw_feats(made, [] { return kNan; });
  set_rows(made, 1);
  const Handle handle;
  const OperatorCall call(handle, made);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.floats("voxel_feats"), std::vector<float>(5, -kInfinity));
}

// A sum starts at +0.
TEST(OpsDynamicPointToVoxelForward, SumOfNegativeZeros) {
  Case made = make({100, 18, 3}, MLUOP_REDUCE_DSUM);
  draw_feats(made, [] { return -0.0F; });
  expect_oracle(made);
}

// There are no voxels: every row is past the last one. The data of empty tensors and the workspace may be null.
TEST(OpsDynamicPointToVoxelForward, NoPoints) {
  const Handle handle;
  for (const int64_t channels : {0, 8}) {
    for (const int64_t rows : {0, 9}) {
      Case made = make({0, channels, 1}, MLUOP_REDUCE_DMAX);
      set_rows(made, rows);
      const Oracle oracle(made);
      expect_oracle(oracle);
      OperatorCall call(handle, made);
      EXPECT_EQ(call.arguments.workspace_size, 0U);
      for (const char* tensor : {"feats", "coors", "point2voxel_map"}) call[tensor].data = nullptr;
      call.arguments.workspace = nullptr;
      EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_TRUE(oracle.agrees(call, MLUOP_OMP_ALGORITHM_NATIVE));
    }
  }
}

Case lidar_case(int points, int voxels, int rings, int channels, mluOpReduceMode_t reduce_type) {
  Case made = make({points, channels, 1}, reduce_type);
  set_values(made, "coors", lidar_coors(points, voxels, rings));
  return made;
}

TEST(OpsDynamicPointToVoxelForward, NetworkSizes) {
  const ScopedThreads threads(2);
  expect_oracle(lidar_case(17563, 13757, 64, 4, MLUOP_REDUCE_DMEAN));
  expect_oracle(lidar_case(17563, 13757, 64, 64, MLUOP_REDUCE_DMAX));
}

TEST(BigDynamicPointToVoxelForward, LargeScan) {
  const Case made = lidar_case(500000, 100000, 128, 64, MLUOP_REDUCE_DMEAN);
  const Oracle oracle(made);
  for (const int count : {1, 2, 16}) {
    const ScopedThreads threads(count);
    for (const auto placement : {Placement::kAligned, Placement::kAgainstEnd}) expect_oracle(oracle, placement);
  }
}

}  // namespace
}  // namespace mluop::test
