// The operators of stack group points: an example of their definitions, sizes that their kernels distinguish, and
// requirements on counts and indices. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr const char* kForward = "stack_group_points_forward";
constexpr const char* kBackward = "stack_group_points_backward";

// Clouds of 2 and 3 features, with 2 groups and 1.
Case make_example(const char* op, mluOpDataType_t dtype) {
  Case made = make_case(op, dtype, {{"b", 2}, {"c", 2}, {"n", 8}, {"m", 3}, {"samples", 2}});
  set_values(made, "features_batch_cnt", std::vector<int32_t>{2, 6});
  set_values(made, "indices_batch_cnt", std::vector<int32_t>{2, 1});
  set_values(made, "indices", std::vector<int32_t>{1, 0, 1, 1, 0, 5});
  return made;
}

TEST(OpsStackGroupPoints, WorkedExample) {
  for (const auto dtype : kFloatingDtypes) {
    const Handle handle;
    Case made = make_example(kForward, dtype);
    set_values(made, "features", std::vector<float>{1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60, 7, 70, 8, 80});
    const OperatorCall forward(handle, made);
    ASSERT_EQ(forward.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(forward.floats("output"), (std::vector<float>{2, 1, 20, 10, 2, 2, 20, 20, 3, 8, 30, 80}));
    made = make_example(kBackward, dtype);
    set_values(made, "grad_output", std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    const OperatorCall backward(handle, made);
    ASSERT_EQ(backward.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(backward.floats("grad_features"),
              (std::vector<float>{2, 4, 12, 18, 9, 11, 0, 0, 0, 0, 0, 0, 0, 0, 10, 12}));
  }
}

TEST(OpsStackGroupPoints, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const std::map<std::string, int64_t> sizes[] = {
      {{"c", 33}, {"m", 9}, {"samples", 129}},               // a chunk of samples plus one, squares of channels
      {{"c", 5}, {"m", 70}, {"samples", 1}},                 // single samples
      {{"c", 1}, {"m", 40}, {"samples", 65}},                // a run of samples plus one
      {{"c", 300}, {"n", 50}, {"m", 20}, {"samples", 128}},  // ranges of channels
      {{"c", 17}, {"n", 30000}, {"m", 200}, {"samples", 16}, {"b", 2}},  // tiles of features
  };
  for (const char* op : {kForward, kBackward}) {
    for (const auto& each : sizes) {
      for (const auto dtype : kFloatingDtypes) expect_oracle_everywhere(make_case(op, dtype, each));
    }
  }
}

// Outputs written past the caches.
TEST(OpsStackGroupPoints, StreamedOutputs) {
  MLUOP_LABELS(kSlow);
  const ScopedThreads threads(2);
  for (const auto dtype : kFloatingDtypes) {
    const Case made = make_case(kForward, dtype, {{"c", 64}, {"n", 2000}, {"m", 20001}, {"samples", 16}});
    expect_oracle(made, Placement::kMisaligned);
  }
}

TEST(OpsStackGroupPointsErrors, CountsAndIndices) {
  for (const char* op : {kForward, kBackward}) {
    const std::string groups = op == kForward ? "indices" : "grad_output";
    const std::string features = op == kForward ? "features" : "grad_features";
    expect_errors(make_example(op, MLUOP_DTYPE_FLOAT),
                  {{set_element("features_batch_cnt", 1, -1), "features_batch_cnt[1] is -1, expected at least 0"},
                   {set_element("features_batch_cnt", 0, 3),
                    features + " dim 0 is 8, expected the sum of features_batch_cnt, which is 9"},
                   {set_element("indices_batch_cnt", 0, 1),
                    groups + " dim 0 is 3, expected the sum of indices_batch_cnt, which is 2"},
                   {all_of({set_element("features_batch_cnt", 0, 0), set_element("features_batch_cnt", 1, 8)}),
                    "features_batch_cnt[0] is 0, expected at least 1"},
                   {set_element("indices", 5, 6), "indices[2, 1] is 6, expected 0 to 5"},
                   {all_of({set_element("indices", 2, -1), set_element("indices", 4, 9)}),
                    "indices[1, 0] is -1, expected 0 to 1"}});
  }
}

// A call without outputs reads no data.
TEST(OpsStackGroupPointsErrors, NothingToDo) {
  for (const char* op : {kForward, kBackward}) {
    const Handle handle;
    OperatorCall call(handle, make_case(op, MLUOP_DTYPE_FLOAT, {{"c", 0}}));
    for (cases::Operand& tensor : call.arguments.tensors) tensor.data = nullptr;
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  }
}

}  // namespace
}  // namespace mluop::test
