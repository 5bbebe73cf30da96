// RoI-aware pooling: points whose voxels are known, maxima and means of few points, and generated scenes against
// the serial loops of the definition. test/ops/contract_test.cpp has the rules of every operator.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;
using Sizes = std::map<std::string, int64_t>;

constexpr auto kFloat = MLUOP_DTYPE_FLOAT;
constexpr auto kPi = std::numbers::pi_v<float>;
enum Method : int64_t { kMax, kMean };

// One RoI of 2 x 2 x 2 voxels, points of one channel, and room for 3 points in a voxel.
Case make(Method method, const std::array<float, 7>& roi, const std::vector<float>& pts,
          const std::vector<float>& features) {
  Case made = make_case("roiaware_pool3d_forward", kFloat,
                        {{"r", 1},
                         {"n", static_cast<int64_t>(features.size())},
                         {"c", 1},
                         {"x", 2},
                         {"y", 2},
                         {"z", 2},
                         {"p", 4},
                         {"pool_method", method}});
  set_values(made, "rois", std::vector<float>(roi.begin(), roi.end()));
  set_values(made, "pts", pts);
  set_values(made, "pts_feature", features);
  return made;
}

struct Pooled {
  explicit Pooled(const Case& made) {
    expect_oracle(made);
    const Handle handle;
    const OperatorCall call(handle, made);
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    argmax = call.int32s("argmax");
    points = call.int32s("pts_idx_of_voxels");
    features = call.floats("pooled_features");
  }
  // The count and the points of a voxel.
  std::vector<int32_t> of_voxel(int x, int y, int z) const {
    const auto first = points.begin() + ((x * 2 + y) * 2 + z) * 4;
    return {first, first + 4};
  }

  std::vector<int32_t> argmax, points;
  std::vector<float> features;
};

constexpr std::array<float, 7> kTurned = {0, 0, 0, 4, 2, 2, kPi / 2}, kUnit = {0, 0, 0, 2, 2, 2, 0};

TEST(OpsRoiawarePool3dForward, VoxelsOfPoints) {
  // The second is on the top face. The last has ly = -8e-8, by the rounding of the cosine.
  const Pooled pooled(make(kMax, kTurned,
                           {-0.9F, -1.9F, 1.99F, 0.9F, 0.1F, 2, 0.99F, -1.99F, 1, 0, 1.9F, 0.1F, 0.9F, 0.1F, 2.1F},
                           {5, 6, 7, 8, 9}));
  EXPECT_EQ(pooled.of_voxel(0, 1, 1), (std::vector<int32_t>{1, 0, 0, 0}));
  EXPECT_EQ(pooled.of_voxel(1, 0, 1), (std::vector<int32_t>{1, 1, 0, 0}));
  EXPECT_EQ(pooled.of_voxel(0, 0, 1), (std::vector<int32_t>{1, 2, 0, 0}));
  EXPECT_EQ(pooled.of_voxel(1, 0, 0), (std::vector<int32_t>{1, 3, 0, 0}));
  EXPECT_EQ(pooled.argmax, (std::vector<int32_t>{-1, 2, -1, 0, 3, 1, -1, -1}));
  EXPECT_EQ(pooled.features, (std::vector<float>{0, 7, 0, 5, 8, 6, 0, 0}));
}

// Five points in one voxel, which lists three.
TEST(OpsRoiawarePool3dForward, FirstPointsOfVoxel) {
  std::vector<float> pts;
  for (int i = 0; i < 5; ++i) pts.insert(pts.end(), {0.5F, 0.5F, 0.5F});
  const Pooled greatest(make(kMax, kUnit, pts, {1, 3, 3, 9, 9})), mean(make(kMean, kUnit, pts, {1, 3, 5, 9, 9}));
  EXPECT_EQ(greatest.of_voxel(1, 1, 0), (std::vector<int32_t>{3, 0, 1, 2}));
  EXPECT_EQ(greatest.argmax[6], 1);
  EXPECT_EQ(greatest.features[6], 3);
  EXPECT_EQ(mean.features[6], 3);
  EXPECT_EQ(mean.argmax, std::vector<int32_t>(8));
}

TEST(OpsRoiawarePool3dForward, SpecialFeatures) {
  const std::vector<float> pts = {0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F};
  const Pooled skips(make(kMax, kUnit, pts, {kNan, -2, kNan}));
  EXPECT_EQ(skips.argmax[6], 1);
  EXPECT_EQ(skips.features[6], -2);
  const Pooled none(make(kMax, kUnit, pts, {kNan, -kInfinity, kNan}));
  EXPECT_EQ(none.of_voxel(1, 1, 0), (std::vector<int32_t>{3, 0, 1, 2}));
  EXPECT_EQ(none.argmax[6], -1);
  EXPECT_EQ(none.features[6], 0);
  const Pooled mean(make(kMean, kUnit, pts, {1, -kInfinity, 2}));
  EXPECT_EQ(mean.features[6], -kInfinity);
}

// The index along an axis is 0 if the position is NaN: a point with a height of NaN is inside, sides may be
// infinite.
TEST(OpsRoiawarePool3dForward, PositionsThatAreNan) {
  const Pooled height(make(kMax, kUnit, {0.5F, 0.5F, kNan}, {1}));
  EXPECT_EQ(height.of_voxel(1, 1, 0), (std::vector<int32_t>{1, 0, 0, 0}));
  const Pooled side(make(kMax, {0, 0, 0, kInfinity, 2, 2, 0}, {0.5F, 0.5F, 1.5F}, {1}));
  EXPECT_EQ(side.of_voxel(0, 1, 1), (std::vector<int32_t>{1, 0, 0, 0}));
}

TEST(OpsRoiawarePool3dForward, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  // Numbers of points around groups and around the groups of their bounds; no room for points; more voxels than 8
  // bits can number.
  const Sizes rows[] = {{{"n", 127}},  {{"n", 128}},          {{"n", 129}},           {{"n", 8192}},
                        {{"n", 8193}}, {{"r", 65}, {"p", 1}}, {{"x", 300}, {"y", 1}}, {{"z", 257}, {"p", 2}}};
  for (const mluOpDataType_t dtype : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF}) {
    for (const Method method : {kMax, kMean}) {
      for (Sizes sizes : rows) {
        sizes.insert({{"pool_method", method}, {"specials", 1}});
        SCOPED_TRACE(testing::PrintToString(sizes));
        expect_oracle(make_case("roiaware_pool3d_forward", dtype, sizes), Placement::kAgainstEnd);
      }
    }
  }
}

// Outputs written past the caches, at any address.
TEST(OpsRoiawarePool3dForward, LargeOutputs) {
  MLUOP_LABELS(kNotEmulated);
  const Sizes sizes = {{"r", 40}, {"n", 2000}, {"c", 13}, {"x", 9}, {"y", 8}, {"z", 8}, {"p", 120}};
  expect_oracle_everywhere(make_case("roiaware_pool3d_forward", kFloat, sizes));
}

TEST(BigRoiawarePool3d, NetworkSizes) {
  for (const mluOpDataType_t dtype : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF}) {
    for (const Method method : {kMax, kMean}) {
      const Sizes sizes = {{"r", 128}, {"n", 16384}, {"c", 16}, {"x", 14}, {"y", 14}, {"z", 14}, {"p", 128}};
      Sizes all = sizes;
      all["pool_method"] = method;
      expect_oracle(make_case("roiaware_pool3d_forward", dtype, all));
      expect_oracle(make_case("roiaware_pool3d_backward", dtype, all));
    }
  }
}

// Two voxels of two channels and three points.
Case make_backward(Method method, const std::vector<int32_t>& listed, const std::vector<int32_t>& argmax) {
  Case made =
      make_case("roiaware_pool3d_backward", kFloat,
                {{"r", 1}, {"n", 3}, {"c", 2}, {"x", 2}, {"y", 1}, {"z", 1}, {"p", 3}, {"pool_method", method}});
  set_values(made, "pts_idx_of_voxels", listed);
  set_values(made, "argmax", argmax);
  set_values(made, "grad_out", std::vector<float>{1, 2, 10, 20});
  return made;
}

std::vector<float> gradient(const Case& made) {
  expect_oracle(made);
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  return call.floats("grad_in");
}

TEST(OpsRoiawarePool3dBackward, WorkedExamples) {
  // The maximum reads no list, the mean no argmax.
  EXPECT_EQ(gradient(make_backward(kMax, {9, -9, 9, 9, 9, 9}, {0, 2, 0, -1})),
            (std::vector<float>{11, 0, 0, 0, 0, 2}));
  EXPECT_EQ(gradient(make_backward(kMean, {2, 0, 2, 1, 2, 9}, {9, -9, 9, 9})),
            (std::vector<float>{0.5F, 1, 0, 0, 10.5F, 21}));
  EXPECT_EQ(gradient(make_backward(kMean, {0, 9, 9, 0, 9, 9}, {0, 0, 0, 0})), std::vector<float>(6));
}

// A point in the lists of all voxels, and more points than vectors and words of voxels have.
TEST(OpsRoiawarePool3dBackward, ManyThreads) {
  MLUOP_LABELS(kManyThreads);
  for (const Method method : {kMax, kMean}) {
    for (const int64_t n : {1, 700}) {
      const Sizes sizes = {{"r", 9}, {"n", n}, {"c", 37}, {"x", 3}, {"p", 9}, {"pool_method", method}};
      expect_oracle_everywhere(make_case("roiaware_pool3d_backward", kFloat, sizes));
      expect_oracle_everywhere(make_case("roiaware_pool3d_backward", MLUOP_DTYPE_HALF, sizes));
    }
  }
}

}  // namespace
}  // namespace mluop::test
