// mluOpDynamicPointToVoxelForward against its definition, at sizes and with values that its kernels distinguish;
// sums and means are exact too. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <iterator>
#include <vector>

#include "support/compare.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/recorded_run.h"
#include "support/scenes.h"
#include "support/sized_case.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr auto kSum = MLUOP_REDUCE_DSUM, kMean = MLUOP_REDUCE_DMEAN, kMax = MLUOP_REDUCE_DMAX;

// n, c, grid, reduce_type
Case make(const std::vector<int64_t>& sizes) {
  return sized_case("dynamic_point_to_voxel_forward", MLUOP_DTYPE_FLOAT, sizes);
}

void expect_voxels(const Oracle& oracle, Placement placement = Placement::kAligned) {
  EXPECT_TRUE(expect_contract(oracle, MLUOP_OMP_ALGORITHM_NATIVE, placement)) << mluOpOmpGetLastError();
}

// Sets another number of rows in the outputs of voxels.
void set_rows(Case& made, int64_t rows) {
  for (const size_t output : {0U, 1U, 3U}) made.outputs[output].dims[0] = rows;
}

// Sets the coordinates to the values that draw() returns.
template <class Draw>
void draw_coors(Case& made, const Draw& draw) {
  std::vector<int32_t> coors = int32s_of(made, "coors");
  std::generate(coors.begin(), coors.end(), draw);
  set_values(made, "coors", coors);
}

// NaN loses against every value, the first of two zeros of different signs remains, and a sum starts at +0.
TEST(OpsDynamicPointToVoxelForward, WorkedExample) {
  const struct {
    mluOpReduceMode_t reduce_type;
    std::vector<float> voxel_feats;
  } kRows[] = {{kSum, {kNan, -2, 6, 0}}, {kMean, {kNan, -1, 3, 0}}, {kMax, {-kInfinity, 2, 5, -0.0F}}};
  for (const auto& [reduce_type, voxel_feats] : kRows) {
    SCOPED_TRACE(reduce_type);
    Case made = make({5, 2, 1, reduce_type});
    set_rows(made, 2);
    set_values(made, "coors", std::vector<int32_t>{1, 0, 2, -1, 5, 5, 0, 3, 1, 1, 0, 2, 0, 3, 1});
    set_values(made, "feats", std::vector<float>{1, -0.0F, 7, 7, kNan, 2, 5, -0.0F, kNan, -4});
    const Handle handle;
    const OperatorCall call(handle, made);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(same_bits(call.floats("voxel_feats"), voxel_feats));
    EXPECT_EQ(call.int32s("voxel_coors"), (std::vector<int32_t>{0, 3, 1, 1, 0, 2}));
    EXPECT_EQ(call.int32s("point2voxel_map"), (std::vector<int32_t>{1, -1, 0, 1, 0}));
    EXPECT_EQ(call.int32s("voxel_points_count"), (std::vector<int32_t>{2, 2}));
    EXPECT_EQ(call.int32s("voxel_num"), std::vector<int32_t>{2});
    EXPECT_EQ(call.int32s("coors"), (std::vector<int32_t>{1, 0, 2, -1, -1, -1, 0, 3, 1, 1, 0, 2, 0, 3, 1}));
  }
}

// Sorting and reductions are independent, so that not every combination is tested.
TEST(OpsDynamicPointToVoxelForward, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const std::vector<int64_t> kSizes[] = {
      {40, 300, 2, kSum},           // rows longer than what is prefetched
      {40, 300, 2, kMax},           //
      {3000, 4, 1, kMean},          // one voxel for all points
      {20000, 36, 2, kMax},         // few voxels
      {3000, 5, 12, kSum},          // about two points per voxel
      {3000, 5, 12, kMean},         //
      {3000, 5, 12, kMax},          //
      {20000, 36, 25, kMean},       // voxels of one or two points, in all chunks
      {3000, 5, 1 << 30, kSum},     // distinct coordinates, two words of key or more
      {2500, 7, 1500, kMax},        // 32 bits of key
      {2500, 7, 2000, kMean},       // more
      {9001, 1, 1 << 20, kSum},     // parts of several sizes
      {20000, 36, 1 << 20, kMax},   // a voxel for each point
      {150000, 1, 3, kSum},         // many points, in few voxels
      {150000, 1, 1 << 25, kMean},  // many points and voxels
      {700, 0, 4, kMax},            // voxel_feats without elements
      {9000, 0, 1, kSum},           //
      {9000, 0, 1, kMax},           //
      {9000, 0, 1 << 30, kMean},    //
  };
  for (const auto& sizes : kSizes) {
    const Case made = make(sizes);
    const Oracle oracle(made);
    // One count exceeds the number of parts into which the points are divided for sorting.
    for (const int count : {1, 3, 100}) {
      SCOPED_TRACE(::testing::PrintToString(sizes) + ", threads " + std::to_string(count));
      const ScopedThreads threads(count);
      expect_voxels(oracle, count == 3 ? Placement::kMisaligned : Placement::kAgainstEnd);
    }
  }
}

// An output large enough for nontemporal stores, with rows of whole and of partial cache lines.
TEST(OpsDynamicPointToVoxelForward, StreamedOutput) {
  MLUOP_LABELS(kSlow);
  const ScopedThreads threads(2);
  for (const int channels : {128, 120}) {
    const Case made = make({21000, channels, 70, kMean});
    const Oracle oracle(made);
    for (const auto placement : {Placement::kAligned, Placement::kMisaligned}) expect_voxels(oracle, placement);
  }
}

// The limits of int32 along every axis, in each combination.
TEST(OpsDynamicPointToVoxelForward, LimitsOfCoordinates) {
  auto random = seeded_random();
  const ScopedThreads threads(2);
  constexpr int32_t kValues[] = {0, 1, 7, INT_MAX - 1, INT_MAX, -1, INT_MIN};
  Case made = make({1000, 3, 1, kSum});
  draw_coors(made, [&] { return kValues[random() % std::size(kValues)]; });
  expect_voxels(made);
  // Extents whose product is 2^32 - 1, the most that one word of a key holds, and next to it.
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
    expect_voxels(made);
  }
}

TEST(OpsDynamicPointToVoxelForward, NoPointHasAVoxel) {
  for (const int64_t points : {1, 70, 9000}) {
    Case made = make({points, 9, 5, kMax});
    size_t i = 0;
    draw_coors(made, [&] { return i++ % 3 == 0 ? -5 : 2; });
    expect_voxels(made);
    set_rows(made, 0);
    expect_voxels(made);
  }
}

// Outputs with as many rows as voxels are accepted.
TEST(OpsDynamicPointToVoxelForward, RowsForTheVoxelsOnly) {
  Case made = make({900, 12, 6, kMean});
  const Handle handle;
  OperatorCall expected(handle, made);
  expected.expect();
  set_rows(made, expected.int32s("voxel_num")[0]);
  expect_voxels(made, Placement::kAgainstEnd);
}

// Without points there are no voxels: every row is past the last one. The data of empty tensors and the workspace
// may be null.
TEST(OpsDynamicPointToVoxelForward, NoPoints) {
  const Handle handle;
  for (const int64_t channels : {0, 8}) {
    for (const int64_t rows : {0, 9}) {
      Case made = make({0, channels, 1, kMax});
      set_rows(made, rows);
      const Oracle oracle(made);
      expect_voxels(oracle);
      OperatorCall call(handle, made);
      EXPECT_EQ(call.arguments.workspace_size, 0U);
      for (const char* tensor : {"feats", "coors", "point2voxel_map"}) call[tensor].data = nullptr;
      call.arguments.workspace = nullptr;
      EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_TRUE(oracle.agrees(call, MLUOP_OMP_ALGORITHM_NATIVE));
    }
  }
}

// Three voxels have a half, a quarter and an eighth of the points; the others have a few. Tasks share the points
// of a voxel (maximum) or its channels (sum, mean).
Case crowded(int64_t channels, mluOpReduceMode_t reduce_type, std::mt19937& random) {
  Case made = make({40000, channels, 40, reduce_type});
  std::vector<int32_t> coors = int32s_of(made, "coors");
  for (auto point = coors.begin(); point != coors.end(); point += 3) {
    const uint32_t choice = random() % 8;
    if (choice < 7) std::fill_n(point, 3, choice < 4 ? 30 : choice < 6 ? 7 : 12);
  }
  set_values(made, "coors", coors);
  return made;
}

void expect_shared_reduction(const Oracle& oracle, mluOpReduceMode_t reduce_type) {
  for (const int count : {1, 2, 7, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    expect_shared(oracle, "reduce", reduce_type == kMax ? "reduce_pieces" : "reduce_lines");
  }
}

TEST(OpsDynamicPointToVoxelForwardSharedVoxels, PointsOrChannels) {
  MLUOP_LABELS(kNotEmulated);
  auto random = seeded_random();
  for (const auto& [channels, reduce_type] :
       {std::pair(1, kSum), {64, kSum}, {21, kMean}, {1, kMax}, {21, kMax}, {64, kMax}}) {
    SCOPED_TRACE(product_text({channels, reduce_type}));
    expect_shared_reduction(crowded(channels, reduce_type, random), reduce_type);
  }
}

// Equal maxima, zeros of either sign and NaN in several pieces of a voxel.
TEST(OpsDynamicPointToVoxelForwardSharedVoxels, SpecialMaxima) {
  auto random = seeded_random();
  constexpr float kValues[] = {kNan, -kNan, -kInfinity, 0.0F, -0.0F, -1.0F, -1e-42F};
  Case made = crowded(5, kMax, random);
  std::vector<float> feats = floats_of(made, "feats");
  for (float& value : feats) value = kValues[random() % std::size(kValues)];
  set_values(made, "feats", feats);
  expect_shared_reduction(made, kMax);
}

TEST(BigDynamicPointToVoxelForward, LargeScan) {
  Case made = make({500000, 64, 1, kMean});
  set_values(made, "coors", lidar_coors(500000, 100000, 128));
  const Oracle oracle(made);
  for (const int count : {1, 2, 16}) {
    const ScopedThreads threads(count);
    expect_voxels(oracle, count == 2 ? Placement::kAgainstEnd : Placement::kAligned);
  }
}

}  // namespace
}  // namespace mluop::test
