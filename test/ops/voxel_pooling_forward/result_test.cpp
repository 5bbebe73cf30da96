// mluOpVoxelPoolingForward against the serial loop of its definition, at sizes and with values that its kernels
// treat apart. test/ops/contract_test.cpp has those of every operator.
#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <vector>

#include "core/caches.h"
#include "support/camera_rig.h"
#include "support/environment.h"
#include "support/half_sums.h"
#include "support/operator_call.h"
#include "support/trace.h"
#include "support/values.h"

namespace mluop::test {
namespace {

using cases::Case;

Case make(mluOpDataType_t dtype, const std::map<std::string, int64_t>& sizes, int32_t seed = 1) {
  return make_case("voxel_pooling_forward", dtype, sizes, seed);
}

// Points of one batch in the only cell, with these features of one or more channels.
Case one_cell(mluOpDataType_t dtype, const std::vector<float>& features, int64_t channels) {
  const int64_t points = static_cast<int64_t>(features.size()) / channels;
  Case made = make(dtype, {{"batch_size", 1},
                           {"num_points", points},
                           {"num_channels", channels},
                           {"num_voxel_x", 1},
                           {"num_voxel_y", 1}});
  set_values(made, "geom_xyz", std::vector<int32_t>(static_cast<size_t>(points) * 3));
  set_values(made, "input_features", features);
  return made;
}

struct Sizes {
  int64_t batch_size, num_points, num_channels, num_voxel_x, num_voxel_y, num_voxel_z;
};

Case make(mluOpDataType_t dtype, const Sizes& s, int32_t seed = 1) {
  return make(dtype,
              {{"batch_size", s.batch_size},
               {"num_points", s.num_points},
               {"num_channels", s.num_channels},
               {"num_voxel_x", s.num_voxel_x},
               {"num_voxel_y", s.num_voxel_y},
               {"num_voxel_z", s.num_voxel_z}},
              seed);
}

constexpr Sizes kHostileSizes[] = {
    {1, 5000, 3, 7, 5, 3},       // many points per cell, fewer channels than a vector
    {1, 40, 4, 100, 90, 2},      // more cells than points
    {7, 131, 80, 13, 11, 1},     // the channels of the network; tiles across batches
    {1, 64, 1025, 2, 2, 1},      // a row longer than a tile
    {2, 300, 128, 1, 1, 1},      // one cell for all points
    {1, 3001, 7, 1, 999, 1},     // a grid of one column
    {1, 200, 9, 3, 3, INT_MAX},  // the largest z extent
    {1, 4000, 3, 150, 151, 1},   // several cells a bucket
    {1, 3000, 500, 75, 77, 1},   // sums that exceed the memory of a task
    {2, 30000, 5, 12, 10, 1},    // many points
    {1, 50, 3000, 3, 2, 1},      // many channels
};

TEST(OpsVoxelPoolingForward, HostileSizes) {
  for (const auto dtype : kFloatingDtypes) {
    for (const Sizes& sizes : kHostileSizes) {
      SCOPED_TRACE(product_text({sizes.num_points, sizes.num_channels, sizes.num_voxel_x, sizes.num_voxel_y}));
      const Case made = make(dtype, sizes);
      const Oracle oracle(made);
      for (const int count : {1, 3}) {
        const ScopedThreads threads(count);
        expect_oracle(oracle);
      }
    }
  }
}

// The sums of one cell exceed the memory of a task: several chunks of channels.
TEST(OpsVoxelPoolingForward, LongRows) {
  const int64_t channels = cache_sizes().llc / 4 / int64_t{sizeof(float)} + 37;
  for (const auto dtype : kFloatingDtypes) {
    const Case made = make(dtype, Sizes{1, 5, channels, 2, 1, 1});
    const Oracle oracle(made);
    for (const int count : {1, 2}) {
      const ScopedThreads threads(count);
      expect_oracle(oracle, Placement::kAgainstEnd);
    }
  }
}

// Outputs large enough for nontemporal stores.
TEST(OpsVoxelPoolingForward, StreamedOutputs) {
  const ScopedThreads threads(2);
  for (const auto dtype : kFloatingDtypes) {
    for (const int channels : {64, 67}) {
      const Case made = make(dtype, Sizes{1, 40000, channels, 63, 65, 1});
      const Oracle oracle(made);
      for (const auto placement : {Placement::kAligned, Placement::kMisaligned, Placement::kAgainstEnd}) {
        SCOPED_TRACE(channels);
        expect_oracle(oracle, placement);
      }
    }
  }
}

// The sums depend on the order of additions: only the order of the definition gives these bits, in every run.
TEST(OpsVoxelPoolingForward, DeterministicOrder) {
  for (const auto dtype : kFloatingDtypes) {
    const Case made = with_values(make(dtype, Sizes{1, 20000, 6, 2, 2, 1}), Values::kMagnitudes, 1);
    const Oracle oracle(made);
    for (int run = 0; run < 5; ++run) {
      for (const int count : {1, 2, 5, 16}) {
        const ScopedThreads threads(count);
        EXPECT_TRUE(expect_contract(oracle, MLUOP_OMP_ALGORITHM_NATIVE));
      }
    }
  }
}

// A sum of negative zeros is +0, because the initial value is +0.
TEST(OpsVoxelPoolingForward, NegativeZero) {
  for (const auto dtype : kFloatingDtypes) expect_oracle(one_cell(dtype, std::vector<float>(40, -0.0F), 20));
}

// Overflow to infinity, subnormal sums and ties.
TEST(OpsVoxelPoolingForwardHalf, RoundsOnceToNearestEven) {
  for (const auto& [addends, factor, sum] : half_sums()) {
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

// A sum in half would stay at 2048.
TEST(OpsVoxelPoolingForwardHalf, ManyPointsOfACell) {
  const Case made = one_cell(MLUOP_DTYPE_HALF, std::vector<float>(size_t{20000} * 33, 1), 33);
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    for (const int count : {1, 2, 7}) {
      const ScopedThreads threads(count);
      const Handle handle(algorithm);
      const OperatorCall call(handle, made);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_EQ(call.floats("output_features"), std::vector<float>(33, 20000.0F));
    }
  }
}

TEST(OpsVoxelPoolingForward, NoPointInRange) {
  Case made = make(MLUOP_DTYPE_FLOAT, Sizes{2, 500, 12, 6, 6, 1});
  std::vector<int32_t> geometry = int32s_of(made, "geom_xyz");
  for (size_t i = 0; i < geometry.size(); i += 3) geometry[i] = i % 2 == 0 ? -1 : INT_MAX;
  set_values(made, "geom_xyz", geometry);
  expect_oracle(made);
}

// Coordinates near the limits of int32 must not overflow into the grid.
TEST(OpsVoxelPoolingForward, ExtremeCoordinates) {
  Case made = make(MLUOP_DTYPE_FLOAT, Sizes{1, 64, 3, 5, 4, 2});
  const int32_t extremes[] = {INT_MIN, INT_MIN + 1, -1, 0, 1, 3, INT_MAX - 1, INT_MAX};
  std::vector<int32_t> geometry;
  for (const int32_t x : extremes) {
    for (const int32_t y : extremes) geometry.insert(geometry.end(), {x, y, (x ^ y) & 1});
  }
  set_values(made, "geom_xyz", geometry);
  expect_oracle(made);
}

TEST(BigVoxelPoolingForward, NetworkSize) {
  const auto& s = kBevDepthSizes;
  for (const auto dtype : kFloatingDtypes) {
    Case made = make(dtype, Sizes{s.batch_size, s.num_points, s.num_channels, s.num_voxel_x, s.num_voxel_y, 1});
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
