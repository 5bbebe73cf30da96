// RoI pooling: the worked examples of both rules, and RoIs of every kind. test/ops/contract_test.cpp has the tests
// of every operator.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"

namespace mluop::test {
namespace {

struct Pooled {
  bool operator==(const Pooled&) const = default;
  std::vector<float> output;
  std::vector<int32_t> argmax;
};

// The 2 x 2 bins of a RoI over the 4 x 4 pixels (4 y + x)^2.
Pooled pooled(const char* op, const std::vector<float>& roi, std::vector<float> pixels = {}) {
  cases::Case made =
      make_case(op, MLUOP_DTYPE_FLOAT, {{"b", 1}, {"c", 1}, {"h", 4}, {"w", 4}, {"r", 1}, {"ph", 2}, {"pw", 2}});
  made.parameters.set_real("spatial_scale", 1);
  for (int i = static_cast<int>(pixels.size()); i < 16; ++i) pixels.push_back(static_cast<float>(i * i));
  set_values(made, "input", pixels);
  set_values(made, "rois", roi);
  expect_oracle(made);
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  return {call.floats("output"), call.int32s("argmax")};
}

constexpr const char* kExact = "roi_pool_forward";
constexpr const char* kRounded = "roi_pooling_forward";
const Pooled kEmpty{{0, 0, 0, 0}, {-1, -1, -1, -1}};

TEST(OpsRoiPool, Example) {
  EXPECT_EQ(pooled(kExact, {0, 0.5F, 0.5F, 2.5F, 2.5F}), (Pooled{{25, 49, 169, 225}, {5, 7, 13, 15}}));
  EXPECT_EQ(pooled(kRounded, {0, 0.5F, 0.5F, 2.5F, 2.5F}), (Pooled{{100, 121, 196, 225}, {10, 11, 14, 15}}));
}

TEST(OpsRoiPool, RoisWithoutPixels) {
  EXPECT_EQ(pooled(kExact, {0, 2, 2, 0, 0}), kEmpty);
  EXPECT_EQ(pooled(kRounded, {0, 2, 2, 0, 0}), (Pooled{{100, 100, 100, 100}, {10, 10, 10, 10}}));
  for (const char* op : {kExact, kRounded}) {
    EXPECT_EQ(pooled(op, {0, 5, 5, 6, 6}), kEmpty);
    EXPECT_EQ(pooled(op, {0, -9, -9, -6, -6}), kEmpty);
    for (const float special : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      EXPECT_EQ(pooled(op, {0, 1, 1, special, 3}), kEmpty);
    }
  }
}

// Halves round away from 0: columns 1 to 3, and -1 to 1 (0 and 1 in the image).
TEST(OpsRoiPool, RoundsHalvesAwayFromZero) {
  EXPECT_EQ(pooled(kRounded, {0, 0.5F, 0, 2.5F, 0}).argmax, (std::vector<int32_t>{2, 3, 2, 3}));
  EXPECT_EQ(pooled(kRounded, {0, -0.5F, 0, 0.5F, 0}).argmax, (std::vector<int32_t>{0, 1, 0, 1}));
}

// The first of equal maxima wins; NaN is never selected.
TEST(OpsRoiPool, TiesAndNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), lowest = std::numeric_limits<float>::lowest();
  const std::vector<float> ones(16, 1), nans(16, nan);
  EXPECT_EQ(pooled(kExact, {0, 0, 0, 3, 3}, ones).argmax, (std::vector<int32_t>{0, 2, 8, 10}));
  EXPECT_EQ(pooled(kExact, {0, 0, 0, 3, 3}, {nan, 1, nan, nan}).argmax, (std::vector<int32_t>{5, 7, 13, 15}));
  EXPECT_EQ(pooled(kExact, {0, 0, 0, 3, 3}, nans).output, (std::vector<float>(4, lowest)));
}

TEST(OpsRoiPool, ChannelsAndRoisOfEveryNumber) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  for (const auto dtype : kFloatingDtypes) {
    for (const int64_t c : {1, 15, 16, 17, 33}) {
      for (const int64_t nchw : {0, 1}) {
        for (const char* op : {kExact, kRounded, "roi_pooling_backward"}) {
          SCOPED_TRACE(std::string(op) + " c=" + std::to_string(c) + " nchw=" + std::to_string(nchw));
          for (const int64_t r : {0, 1, 40}) {
            expect_oracle(make_case(op, dtype, {{"c", c}, {"nchw", nchw}, {"r", r}}), Placement::kAgainstEnd);
          }
        }
      }
    }
  }
}

TEST(OpsRoiPoolErrors, ImagesAndMode) {
  cases::Case made = make_case(kExact, MLUOP_DTYPE_FLOAT, {{"b", 2}, {"r", 2}});
  std::vector<float> rois = floats_of(made, "rois");
  rois[5] = 2;
  set_values(made, "rois", rois);
  expect_errors(made, {{no_change, "rois[1, 0] is 2, expected 0 to 1"}});
  for (const char* op : {kRounded, "roi_pooling_backward"}) {
    expect_errors(
        make_case(op, MLUOP_DTYPE_FLOAT, {}),
        {{set("mode", 1), "pooling_mode is 1, expected 0 (MLUOP_POOLING_MAX)", MLUOP_STATUS_NOT_SUPPORTED}});
  }
}

}  // namespace
}  // namespace mluop::test
