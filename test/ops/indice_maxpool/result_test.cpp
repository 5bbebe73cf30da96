// The operators of indice max pooling: an example of their definitions, values that are not maxima, and
// requirements on pairs. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/operator_call.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr const char* kForward = "indice_maxpool_forward";
constexpr const char* kBackward = "indice_maxpool_backward";

// Rows 0 to 5 are pooled to outputs 0, 0, 0, 1, 1, 2, by two offsets.
Case make_example(const char* op, mluOpDataType_t dtype) {
  Case made = make_case(op, dtype, {{"n", 6}, {"m", 4}, {"c", 1}, {"k", 2}});
  set_values(made, "indice_pairs", std::vector<int32_t>{0, 3, 5,  2,  -1, -1, 0, 1, 2, 0,  -1, -1,  //
                                                        1, 4, -1, -1, -1, -1, 0, 1, 3, -1, -1, -1});
  made.parameters.set("indice_num", std::vector<int64_t>{4, 3});
  set_values(made, "features", std::vector<float>{3, 3, kNan, -1, -2, 0});
  return made;
}

TEST(OpsIndiceMaxpool, WorkedExample) {
  for (const auto dtype : kFloatingDtypes) {
    const Handle handle;
    const OperatorCall forward(handle, make_example(kForward, dtype));
    ASSERT_EQ(forward.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(forward.floats("features_out"), (std::vector<float>{3, 0, 0, 0}));
    Case made = make_example(kBackward, dtype);
    set_values(made, "features_out", std::vector<float>{3, 0, 0, 0});
    set_values(made, "output_grad", std::vector<float>{10, 20, 30, 40});
    const OperatorCall backward(handle, made);
    ASSERT_EQ(backward.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(backward.floats("input_grad"), (std::vector<float>{10, 10, 0, 0, 0, 30}));
  }
}

TEST(OpsIndiceMaxpoolErrors, Pairs) {
  constexpr int64_t k2To31 = int64_t{1} << 31;
  for (const char* op : {kForward, kBackward}) {
    expect_errors(make_example(op, MLUOP_DTYPE_FLOAT),
                  {{set_list("indice_num", {4, 7}), "indice_num[1] is 7, expected 0 to 6"},
                   {set_list("indice_num", {-1, 3}), "indice_num[0] is -1, expected 0 to 6"},
                   {set_element("indice_pairs", 1, 6),
                    "indice_pairs[0, 0, 1] is 6, expected less than 6, the rows of features"},
                   {set_element("indice_pairs", 19, 4),
                    "indice_pairs[1, 1, 1] is 4, expected less than 4, the rows of features_out"},
                   {set_shape("features", {k2To31, 2}), "features has 2147483648 rows, expected fewer than 2^31",
                    MLUOP_STATUS_NOT_SUPPORTED},
                   {set_shape("features_out", {k2To31, 2}),
                    "features_out has 2147483648 rows, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED}});
  }
}

}  // namespace
}  // namespace mluop::test
