// Corners: examples of the definition, points on borders, points without corners, repeated sites, empty lists, and
// errors. test/ops/contract_test.cpp has the tests of every operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/call_errors.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

using cases::Case;
using ::testing::Each;
using ::testing::ElementsAre;
using Numbers = std::vector<int32_t>;

Case corner_case(int64_t axes, const std::vector<float>& points, const Numbers& sites, const Numbers& strides) {
  Case made = make_case("corners", MLUOP_DTYPE_FLOAT,
                        {{"n", static_cast<int64_t>(points.size()) / (axes + 1)},
                         {"m", static_cast<int64_t>(sites.size()) / (axes + 1)},
                         {"d", axes}});
  set_values(made, "points", points);
  set_values(made, "sites", sites);
  set_values(made, "strides", strides);
  return made;
}

struct Corners {
  Numbers corners;
  std::vector<float> weights;
};

Corners computed(const Case& made) {
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  return {call.int32s("corners"), call.floats("weights")};
}

// Stride 2; the second point has negative coordinates.
TEST(OpsCorners, Examples) {
  const Corners found = computed(
      corner_case(2, {0, 1, 0.5F, 0, -0.5F, -1}, {0, 0, 0, 0, 2, 0, 0, 0, 2, 0, -2, -2, 1, 0, 0}, {2, 2}));
  EXPECT_THAT(found.corners, ElementsAre(0, 2, 1, -1, 3, -1, -1, 0));
  EXPECT_THAT(found.weights, ElementsAre(0.375F, 0.125F, 0.375F, 0.125F, 0.125F, 0.125F, 0.375F, 0.375F));
}

// Corner 4 dx + 2 dy + dz of three axes with different strides.
TEST(OpsCorners, OrderOfCorners) {
  Numbers sites;
  for (const int32_t x : {-3, 0}) {
    for (const int32_t y : {0, 1}) {
      for (const int32_t z : {-5, 0}) sites.insert(sites.end(), {7, x, y, z});
    }
  }
  const Corners found = computed(corner_case(3, {7.25F, -3, 0.25F, -1.25F}, sites, {3, 1, 5}));
  EXPECT_THAT(found.corners, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(found.weights, ElementsAre(0.1875F, 0.5625F, 0.0625F, 0.1875F, 0, 0, 0, 0));
}

// Points at sites have the weights 1 and 0; -0 and the largest negative number are in different cells.
TEST(OpsCorners, PointsOnBorders) {
  const float least = -std::numeric_limits<float>::denorm_min();
  for (const int32_t stride : {1, 3}) {
    const auto step = static_cast<float>(stride);
    const Corners found = computed(corner_case(1, {0, step, 0, -step, 0, -0.0F, 0, least},
                                               {0, -stride, 0, 0, 0, stride, 0, 2 * stride}, {stride}));
    EXPECT_THAT(found.corners, ElementsAre(2, 3, 0, 1, 1, 2, 0, 1));
    EXPECT_THAT(found.weights, ElementsAre(1, 0, 1, 0, 1, 0, 0, 1));
  }
}

// Batches are rounded, ties to even. Among equal sites the first counts.
TEST(OpsCorners, BatchesAndRepeatedSites) {
  const Numbers sites = {2, 0, 1, 0, 2, 0, 1, 0, -1, 0};
  const Corners found = computed(corner_case(1, {1.5F, 0, 0.5F, 0, 2.5F, 0, 0.75F, 0, -1.25F, 0}, sites, {4}));
  EXPECT_THAT(found.corners, ElementsAre(0, -1, -1, -1, 0, -1, 1, -1, 4, -1));
}

// A point whose cell is not within int32 has no corners; others in the same call have theirs.
TEST(OpsCorners, PointsWithoutCorners) {
  const float below = std::nextafter(0x1p31F, 0.0F);
  const Numbers sites = {0, 0, 0, 0, 1, 1};
  for (const float bad : {kNan, kInfinity, -kInfinity, 0x1p31F, -0x1p31F - 1024, 1e30F}) {
    for (size_t column = 0; column < 3; ++column) {
      std::vector<float> points = {0, 0.5F, 0.5F, 0, 0.5F, 0.5F};
      points[column] = bad;
      const Corners found = computed(corner_case(2, points, sites, {1, 1}));
      EXPECT_THAT(found.corners, ElementsAre(-1, -1, -1, -1, 0, -1, -1, 1));
      EXPECT_THAT(found.weights, ElementsAre(0, 0, 0, 0, 0.25F, 0.25F, 0.25F, 0.25F));
    }
  }
  // The cell of the lowest int32 ends within int32, but starts outside with stride 3; likewise at the other end.
  EXPECT_THAT(computed(corner_case(1, {0, -0x1p31F}, {0, INT32_MIN}, {1})).corners, ElementsAre(0, -1));
  EXPECT_THAT(computed(corner_case(1, {0, -0x1p31F}, {0, INT32_MIN + 2}, {3})).corners, Each(-1));
  EXPECT_THAT(computed(corner_case(1, {0, below}, {0, 0x7FFFFF80}, {1})).corners, ElementsAre(0, -1));
  EXPECT_THAT(computed(corner_case(1, {0, below}, {0, 0x7FFFFF80}, {128})).corners, Each(-1));
  EXPECT_THAT(computed(corner_case(1, {0, 5}, {0, 0}, {INT32_MAX})).corners, ElementsAre(0, -1));
}

// Sites at the limits of int32 have several keys; 1 to 7 axes.
TEST(OpsCorners, ExtremeSites) {
  for (int64_t axes = 1; axes <= 7; ++axes) {
    Numbers sites;
    std::vector<float> points;
    for (const int32_t x : {INT32_MIN, -0x7FFFFF00, -1, 0, 1, 0x7FFFFF00}) {
      for (int64_t column = 0; column <= axes; ++column) {
        sites.push_back(column % 2 == 0 ? x : -(x / 2));
        points.push_back(static_cast<float>(sites.back()) + (column > 0 ? 0.25F : 0));
      }
    }
    for (const int32_t stride : {1, 3}) {
      expect_oracle_everywhere(corner_case(axes, points, sites, Numbers(static_cast<size_t>(axes), stride)));
    }
  }
}

TEST(OpsCorners, ManyPoints) {
  MLUOP_LABELS(kManyThreads);
  for (int64_t axes = 1; axes <= 7; ++axes) {
    expect_oracle_everywhere(
        make_case("corners", MLUOP_DTYPE_FLOAT,
                  {{"n", 1000}, {"m", 800}, {"d", axes}, {"stride", 3}, {"layout", axes % 3}}));
  }
}

TEST(OpsCorners, EmptyLists) {
  const Handle handle;
  OperatorCall no_points(handle, make_case("corners", MLUOP_DTYPE_FLOAT, {{"n", 0}}));
  EXPECT_EQ(no_points.arguments.workspace_size, 0U);
  for (const char* id : {"points", "sites", "strides", "corners", "weights"}) no_points[id].data = nullptr;
  EXPECT_EQ(no_points.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  OperatorCall no_sites(handle, corner_case(1, {0, 0.25F}, {}, {1}));
  no_sites["sites"].data = nullptr;
  EXPECT_EQ(no_sites.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_THAT(no_sites.int32s("corners"), ElementsAre(-1, -1));
  EXPECT_THAT(no_sites.floats("weights"), ElementsAre(0.75F, 0.25F));
}

TEST(OpsCornersErrors, StridesAndSizes) {
  // points is [60, 4], sites is [80, 4], corners and weights are [60, 8].
  const Case made = make_case("corners", MLUOP_DTYPE_FLOAT, {});
  expect_errors(made, {{set_element("strides", 1, 0), "strides[1] is 0, expected at least 1"},
                       {set_element("strides", 2, -3), "strides[2] is -3, expected at least 1"}});
  expect_errors(made,
                {{set_shape("points", {int64_t{1} << 31, 4}),
                  "points dim 0 is 2147483648, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED},
                 {set_shape("sites", {int64_t{1} << 31, 4}), "sites dim 0 is 2147483648, expected fewer than 2^31",
                  MLUOP_STATUS_NOT_SUPPORTED},
                 {all_of({set_shape("points", {60, 1}), set_shape("sites", {80, 1}), set_shape("strides", {0})}),
                  "points dim 1 is 1, expected 2 to 8"},
                 {all_of({set_shape("points", {20, 9}), set_shape("sites", {30, 9}), set_shape("strides", {8}),
                          set_shape("corners", {20, 8}), set_shape("weights", {20, 8})}),
                  "points dim 1 is 9, expected 2 to 8"}},
                {.query = Query::kFails});
}

}  // namespace
}  // namespace mluop::test
