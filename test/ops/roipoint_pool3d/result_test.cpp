// RoI-point pooling: known samples, and generated scenes against the serial loop of the definition.
// test/ops/contract_test.cpp has the rules of every operator.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using Sizes = std::map<std::string, int64_t>;

// Three points: two of them in the first box, all in the second, none in the third; the samples of each box.
TEST(OpsRoipointPool3d, Samples) {
  const Sizes sizes = {{"b", 1}, {"n", 3}, {"m", 3}, {"c", 1}, {"s", 2}};
  for (const int64_t S : {1, 2, 3, 5}) {
    SCOPED_TRACE(S);
    Sizes all = sizes;
    all["s"] = S;
    cases::Case made = make_case("roipoint_pool3d", MLUOP_DTYPE_FLOAT, all);
    set_values(made, "points", std::vector<float>{3, 0, 1, 0.5F, 0, 0, -0.5F, 0, 2});
    set_values(made, "point_features", std::vector<float>{7, 8, 9});
    set_values(made, "boxes3d", std::vector<float>{0, 0, 0, 2, 2, 2, 0,  //
                                                   0, 0, 0, 8, 8, 4, 0,  //
                                                   5, 5, 0, 1, 1, 1, 0});
    expect_oracle(made);
    const Handle handle;
    const OperatorCall call(handle, made);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.int32s("pooled_empty_flag"), (std::vector<int32_t>{0, 0, 1}));
    const std::vector<std::vector<float>> rows = {{3, 0, 1, 7}, {0.5F, 0, 0, 8}, {-0.5F, 0, 2, 9}};
    std::vector<float> expected;
    for (int64_t j = 0; j < S; ++j) {
      const auto& row = rows[static_cast<size_t>(1 + j % 2)];
      expected.insert(expected.end(), row.begin(), row.end());
    }
    for (int64_t j = 0; j < S; ++j) {
      const auto& row = rows[static_cast<size_t>(j % 3)];
      expected.insert(expected.end(), row.begin(), row.end());
    }
    expected.resize(expected.size() + static_cast<size_t>(S) * 4);
    EXPECT_EQ(call.floats("pooled_features"), expected);
  }
}

TEST(OpsRoipointPool3d, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  // Numbers of points around groups, around the groups of their bounds, and around the rows that are written
  // together.
  const Sizes rows[] = {{{"n", 127}},  {{"n", 128}, {"s", 15}}, {{"n", 129}, {"s", 16}}, {{"n", 8192}, {"s", 17}},
                        {{"n", 8193}}, {{"m", 65}, {"s", 1}},   {{"c", 1}, {"s", 400}}};
  for (const mluOpDataType_t dtype : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF}) {
    for (Sizes sizes : rows) {
      sizes["specials"] = 1;
      SCOPED_TRACE(testing::PrintToString(sizes));
      expect_oracle(make_case("roipoint_pool3d", dtype, sizes), Placement::kAgainstEnd);
    }
  }
}

// Outputs written past the caches, at any address.
TEST(OpsRoipointPool3d, LargeOutputs) {
  MLUOP_LABELS(kNotEmulated);
  for (const mluOpDataType_t dtype : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF}) {
    const Sizes sizes = {{"b", 2}, {"n", 700}, {"m", 70}, {"c", 127}, {"s", 300}};
    expect_oracle_everywhere(make_case("roipoint_pool3d", dtype, sizes));
  }
}

TEST(BigRoipointPool3d, NetworkSizes) {
  for (const mluOpDataType_t dtype : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF}) {
    expect_oracle(
        make_case("roipoint_pool3d", dtype, {{"b", 1}, {"n", 16384}, {"m", 128}, {"c", 128}, {"s", 512}}));
  }
}

}  // namespace
}  // namespace mluop::test
