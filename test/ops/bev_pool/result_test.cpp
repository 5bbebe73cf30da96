// The operators of BEV pool: an example of their definitions, sizes with special paths in the kernels, and
// requirements on the points. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/labels.h"
#include "support/operator_call.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr const char* kForward = "bev_pool_forward";
constexpr const char* kBackward = "bev_pool_backward";

// Three points of cell 1, two of them with the same weight; a point of cell 0; and a skipped point, whose other
// numbers are out of range.
Case make_example(const char* op, mluOpDataType_t dtype) {
  Case made = make_case(op, dtype, {{"p", 5}, {"d", 3}, {"f", 2}, {"m", 3}, {"c", 2}});
  set_values(made, "depth", std::vector<float>{2, 3, 10});
  set_values(made, "features", std::vector<float>{1, 2, 4, 5});
  set_values(made, "ranks_depth", std::vector<int32_t>{0, 1, 99, 2, 0});
  set_values(made, "ranks_feat", std::vector<int32_t>{0, 1, -7, 0, 1});
  set_values(made, "ranks_bev", std::vector<int32_t>{1, 1, -1, 0, 1});
  return made;
}

TEST(OpsBevPool, WorkedExample) {
  for (const auto dtype : kFloatingDtypes) {
    const Handle handle;
    const OperatorCall forward(handle, make_example(kForward, dtype));
    ASSERT_EQ(forward.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(forward.floats("output"), (std::vector<float>{10, 20, 22, 29, 0, 0}));
    Case made = make_example(kBackward, dtype);
    set_values(made, "grad_output", std::vector<float>{1, 2, 3, 4, 5, 6});
    const OperatorCall backward(handle, made);
    ASSERT_EQ(backward.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(backward.floats("grad_depth"), (std::vector<float>{43, 32, 5}));
    EXPECT_EQ(backward.floats("grad_features"), (std::vector<float>{16, 28, 15, 20}));
  }
}

TEST(OpsBevPool, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const std::map<std::string, int64_t> sizes[] = {
      {{"p", 3000}, {"d", 1}, {"f", 1}, {"m", 1}, {"c", 17}},       // all points of one weight, row and cell
      {{"p", 7}, {"d", 900}, {"f", 500}, {"m", 3000}, {"c", 131}},  // most rows without a point
      {{"p", 60000}, {"d", 9000}, {"f", 50}, {"m", 40}, {"c", 1}},  // products sorted by range of depth
  };
  for (const char* op : {kForward, kBackward}) {
    for (const auto& each : sizes) {
      for (const auto dtype : kFloatingDtypes) expect_oracle_everywhere(make_case(op, dtype, each));
    }
  }
}

TEST(OpsBevPoolErrors, Points) {
  constexpr int64_t k2To31 = int64_t{1} << 31;
  for (const char* op : {kForward, kBackward}) {
    expect_errors(make_example(op, MLUOP_DTYPE_FLOAT),
                  {{set_element("ranks_bev", 3, 3), "ranks_bev[3] is 3, expected -1 to 2"},
                   {set_element("ranks_bev", 0, -2), "ranks_bev[0] is -2, expected -1 to 2"},
                   {set_element("ranks_feat", 4, 2), "ranks_feat[4] is 2, expected 0 to 1"},
                   {set_element("ranks_depth", 1, -1), "ranks_depth[1] is -1, expected 0 to 2"},
                   {set_element("ranks_bev", 2, 0), "ranks_feat[2] is -7, expected 0 to 1"}});
  }
  expect_errors(make_example(kForward, MLUOP_DTYPE_FLOAT),
                {{set_shape("features", {0, 2}), "features dim 0 is 0, expected at least 1: ranks_feat[0] is 0"},
                 {set_shape("features", {k2To31, 2}), "features has 2147483648 rows, expected fewer than 2^31",
                  MLUOP_STATUS_NOT_SUPPORTED},
                 {set_shape("output", {k2To31, 2}), "output has 2147483648 rows, expected fewer than 2^31",
                  MLUOP_STATUS_NOT_SUPPORTED},
                 {set_shape("ranks_depth", {k2To31}), "ranks_depth has 2147483648 rows, expected fewer than 2^31",
                  MLUOP_STATUS_NOT_SUPPORTED}});
}

}  // namespace
}  // namespace mluop::test
