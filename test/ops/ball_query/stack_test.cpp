// mluOpOmpStackBallQuery: the example of its definition, and requirements on radius, samples and counts.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr const char* kStacked = "stack_ball_query";

// Points on the x axis.
std::vector<float> on_axis(const std::vector<float>& xs) {
  std::vector<float> points;
  for (const float x : xs) points.insert(points.end(), {x, 0, 0});
  return points;
}

TEST(OpsStackBallQuery, WorkedExample) {
  const std::pair<double, std::vector<int32_t>> expected[] = {
      {1.5, {0, 1, 0, -1, 0, 0, 1, 1, 1}}, {1, {0, 0, 0, -1, 0, 0, 1, 1, 1}}, {0, {-1, 0, 0, -1, 0, 0, -1, 0, 0}}};
  for (const auto dtype : kFloatingDtypes) {
    for (const auto& [radius, idx] : expected) {
      Case made = make_case(kStacked, dtype, {{"b", 2}, {"m", 3}, {"n", 5}, {"nsample", 3}});
      made.parameters.set_real("max_radius", radius);
      set_values(made, "xyz", on_axis({0, 1, 2, 0, 5}));
      set_values(made, "xyz_batch_cnt", std::vector<int32_t>{3, 2});
      set_values(made, "new_xyz", on_axis({0, 9, 5}));
      set_values(made, "new_xyz_batch_cnt", std::vector<int32_t>{2, 1});
      const Handle handle;
      const OperatorCall call(handle, made);
      ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
      EXPECT_EQ(call.int32s("idx"), idx) << radius;
    }
  }
}

// Clouds with and without a grid, without points, without centers.
TEST(OpsStackBallQuery, UnevenClouds) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  for (const auto dtype : kFloatingDtypes) {
    Case made = make_case(kStacked, dtype, {{"b", 6}, {"m", 1000}, {"n", 9000}, {"nsample", 5}});
    set_values(made, "new_xyz_batch_cnt", std::vector<int32_t>{300, 0, 90, 400, 3, 207});
    set_values(made, "xyz_batch_cnt", std::vector<int32_t>{4000, 600, 0, 3400, 999, 1});
    for (const double radius : {0.06, 0.4}) {
      made.parameters.set_real("max_radius", radius);
      expect_oracle(made, Placement::kAgainstEnd);
    }
  }
}

TEST(OpsStackBallQueryErrors, ScalarsAndCounts) {
  Case made = make_case(kStacked, MLUOP_DTYPE_FLOAT, {});
  set_values(made, "new_xyz_batch_cnt", std::vector<int32_t>{10, 0, 54});
  set_values(made, "xyz_batch_cnt", std::vector<int32_t>{400, 0, 0});
  expect_errors(made,
                {{set_real("max_radius", -1), "max_radius is -1, expected at least 0"},
                 {set_real("max_radius", kNan), "max_radius is nan, expected at least 0"},
                 {set("nsample", -1), "nsample is -1, expected at least 0"},
                 {set("nsample", 3), "idx dim 1 is 16, expected nsample, which is 3"},
                 {set_element("new_xyz_batch_cnt", 1, -2), "new_xyz_batch_cnt[1] is -2, expected at least 0"},
                 {set_element("new_xyz_batch_cnt", 2, 53),
                  "new_xyz dim 0 is 64, expected the sum of new_xyz_batch_cnt, which is 63"},
                 {set_element("xyz_batch_cnt", 2, 2147483647),
                  "xyz dim 0 is 400, expected the sum of xyz_batch_cnt, which is 2147484047"}});
}

// idx has no elements: the call reads no data.
TEST(OpsStackBallQueryErrors, NothingToDo) {
  for (const char* size : {"m", "nsample"}) {
    const Handle handle;
    OperatorCall call(handle, make_case(kStacked, MLUOP_DTYPE_FLOAT, {{size, 0}}));
    for (const char* id : {"new_xyz", "new_xyz_batch_cnt", "xyz", "xyz_batch_cnt"}) call[id].data = nullptr;
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  }
}

}  // namespace
}  // namespace mluop::test
