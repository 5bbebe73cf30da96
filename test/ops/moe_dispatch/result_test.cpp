// MoE dispatch: an example of the definition, skipped samples, outputs that bypass the caches, and errors.
// test/ops/contract_test.cpp has the tests of every operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/labels.h"
#include "support/operator_call.h"

namespace mluop::test {
namespace {

using cases::Case;
using ::testing::ElementsAre;

const std::vector<std::string> kOperators = {"moe_dispatch_forward", "moe_dispatch_backward_gate",
                                             "moe_dispatch_backward_data"};

// Two experts with two rows of two channels.
Case example(const std::string& op, const std::vector<int32_t>& indices, const std::vector<int32_t>& locations,
             const std::vector<float>& dispatch) {
  Case made = make_case(
      op, MLUOP_DTYPE_FLOAT,
      {{"samples", static_cast<int64_t>(indices.size())}, {"capacity", 2}, {"hidden", 2}, {"experts", 2}});
  for (const cases::Tensor& tensor : std::vector<cases::Tensor>(made.inputs)) {
    if (tensor.id == "gates") set_values(made, "gates", std::vector<float>{0.5F, 2, 3});
    if (tensor.id == "input") set_values(made, "input", std::vector<float>{1, 2, 3, 4, 5, 6});
  }
  set_values(made, "indices", indices);
  set_values(made, "locations", locations);
  set_values(made, "dispatch", dispatch);
  return made;
}

std::vector<float> computed(const Case& made, const char* output) {
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  return call.floats(output);
}

TEST(OpsMoeDispatch, WorkedExample) {
  const std::vector<int32_t> indices = {0, 1, 0}, locations = {1, 0, 1};
  const std::vector<float> grads = {1, 1, 2, 0, 0, 1, 9, 9};
  EXPECT_THAT(computed(example(kOperators[0], indices, locations, std::vector<float>(8, -1)), "dispatch"),
              ElementsAre(-1, -1, 15, 18, 6, 8, -1, -1));
  EXPECT_THAT(computed(example(kOperators[1], indices, locations, grads), "grad_gates"), ElementsAre(2, 4, 10));
  EXPECT_THAT(computed(example(kOperators[2], indices, locations, grads), "grad_input"),
              ElementsAre(1, 0, 0, 2, 6, 0));
}

// Experts and rows out of range, on both sides.
TEST(OpsMoeDispatch, SkippedSamples) {
  const std::vector<float> grads = {1, 1, 2, 0, 0, 1, 9, 9};
  for (const auto& [index, location] : {std::pair{-1, 0}, {2, 0}, {0, -1}, {0, 2}, {INT32_MAX, INT32_MAX}}) {
    const std::vector<int32_t> indices = {index, 1, index}, locations = {location, 1, location};
    EXPECT_THAT(computed(example(kOperators[0], indices, locations, grads), "dispatch"),
                ElementsAre(1, 1, 2, 0, 0, 1, 6, 8));
    EXPECT_THAT(computed(example(kOperators[1], indices, locations, grads), "grad_gates"), ElementsAre(0, 63, 0));
    EXPECT_THAT(computed(example(kOperators[2], indices, locations, grads), "grad_input"),
                ElementsAre(0, 0, 18, 18, 0, 0));
  }
}

TEST(OpsMoeDispatch, LargeOutputs) {
  MLUOP_LABELS(kOnce, kSlow);
  for (const std::string& op : kOperators) {
    SCOPED_TRACE(op);
    expect_oracle(make_case(op, MLUOP_DTYPE_FLOAT,
                            {{"samples", 20000}, {"capacity", 12000}, {"hidden", 64}, {"experts", 2}}));
  }
}

TEST(OpsMoeDispatchErrors, Sizes) {
  for (const std::string& op : kOperators) {
    SCOPED_TRACE(op);
    const Case made = make_case(op, MLUOP_DTYPE_FLOAT, {});
    std::vector<CallError> rows;
    for (const std::string name : {"samples", "capacity", "hidden", "num_experts"}) {
      rows.push_back({set(name, -1), name + " is -1, expected at least 0"});
    }
    const bool is_forward = op == kOperators[0];
    // The product of these sizes is 0 in 32 bits, and the shape of dispatch in 64 bits.
    rows.push_back({all_of({set("capacity", 65536), set("num_experts", 65536)}),
                    "dispatch dim 0 is 24, expected 4294967296"});
    if (is_forward)
      rows.push_back({set("capacity", 5), "samples is 20, expected at most 10, num_experts * capacity"});
    expect_errors(made, rows);
  }
}

}  // namespace
}  // namespace mluop::test
