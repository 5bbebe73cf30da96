// PSA mask: a worked example, and sizes that the kernels distinguish. test/ops/contract_test.cpp has the tests of
// every operator.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"

namespace mluop::test {
namespace {

using Sizes = std::map<std::string, int64_t>;

// Masks of 3 x 3 on 2 x 2 pixels. In planes, element m of the mask of pixel p is 4 m + p + 1.
constexpr float kCollected[4][4] = {{17, 14, 7, 4}, {21, 18, 11, 8}, {29, 26, 19, 16}, {33, 30, 23, 20}};

std::vector<float> masks() {
  std::vector<float> x;
  for (int p = 0; p < 4; ++p) {
    for (int m = 0; m < 9; ++m) x.push_back(static_cast<float>(4 * m + p + 1));
  }
  return x;
}

// The elements of y: channel c of pixel p is kCollected[c][p] or, if distributed, kCollected[p][c].
std::vector<float> images(bool distributes) {
  std::vector<float> y;
  for (int p = 0; p < 4; ++p) {
    for (int c = 0; c < 4; ++c) y.push_back(distributes ? kCollected[p][c] : kCollected[c][p]);
  }
  return y;
}

Sizes small(bool distributes) {
  return {{"n", 1}, {"h", 2}, {"w", 2}, {"h_mask", 3}, {"w_mask", 3}, {"distributes", distributes}};
}

TEST(OpsPsamask, Example) {
  for (const bool distributes : {false, true}) {
    cases::Case forward = make_case("psamask_forward", MLUOP_DTYPE_FLOAT, small(distributes));
    set_values(forward, "x", masks());
    expect_oracle(forward);
    const Handle handle;
    const OperatorCall call(handle, forward);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.floats("y"), images(distributes));
  }
}

// The gradient of a mask element inside the image equals the element; other gradients are 0.
TEST(OpsPsamask, BackwardReturnsWhatForwardMoved) {
  const std::vector<float> x = masks();
  for (const bool distributes : {false, true}) {
    cases::Case backward = make_case("psamask_backward", MLUOP_DTYPE_FLOAT, small(distributes));
    set_values(backward, "dy", images(distributes));
    const Handle handle;
    const OperatorCall call(handle, backward);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    std::vector<float> expected(36);
    for (const auto& row : kCollected) {
      for (const float value : row) {
        const int i = static_cast<int>(value) - 1;  // of planes
        expected[static_cast<size_t>(i % 4 * 9 + i / 4)] = value;
      }
    }
    EXPECT_EQ(call.floats("dx"), expected);
  }
}

TEST(OpsPsamask, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  const Sizes rows[] = {
      {{"h", 1}, {"w", 1}, {"h_mask", 1}, {"w_mask", 1}},     // one element
      {{"h", 3}, {"w", 15}, {"h_mask", 99}, {"w_mask", 99}},  // masks larger than 2 H - 1 and 2 W - 1
      {{"h", 3}, {"w", 16}, {"h_mask", 2}, {"w_mask", 2}},    // even masks; a block of pixels
      {{"h", 3}, {"w", 17}, {"h_mask", 5}, {"w_mask", 33}},   // a block plus one
      {{"h", 1}, {"w", 40}, {"h_mask", 1}, {"w_mask", 6}},    // a row
      {{"h", 40}, {"w", 1}, {"h_mask", 80}, {"w_mask", 1}},   // a column
      {{"h", 4}, {"w", 5}, {"h_mask", 0}, {"w_mask", 3}},     // no mask: zeros
      {{"h", 0}, {"w", 5}, {"h_mask", 3}, {"w_mask", 3}},     // no pixels
  };
  for (const auto dtype : kFloatingDtypes) {
    for (Sizes sizes : rows) {
      for (const int distributes : {0, 1}) {
        sizes["distributes"] = distributes;
        SCOPED_TRACE(testing::PrintToString(sizes));
        expect_oracle(make_case("psamask_forward", dtype, sizes), Placement::kAgainstEnd);
        expect_oracle(make_case("psamask_backward", dtype, sizes), Placement::kAgainstEnd);
      }
    }
  }
}

TEST(OpsPsamaskErrors, Parameters) {
  for (const char* op : {"psamask_forward", "psamask_backward"}) {
    expect_errors(make_case(op, MLUOP_DTYPE_FLOAT, {}),
                  {
                      {set("psa_type", 2), "psa_type is 2, expected 0 (collect) or 1 (distribute)"},
                      {set("psa_type", -1), "psa_type is -1, expected 0 (collect) or 1 (distribute)"},
                      {set("h_mask", -1), "h_mask is -1, expected at least 0"},
                      {set("w_mask", -2), "w_mask is -2, expected at least 0"},
                  });
  }
}

}  // namespace
}  // namespace mluop::test
