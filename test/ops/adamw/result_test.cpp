// AdamW: examples of the definition, elements that are kept, the descriptor, and errors.
// test/ops/contract_test.cpp has the tests of every operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/operator_call.h"

namespace mluop::test {
namespace {

using cases::Case;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::IsNan;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The numbers of MLU-OPS's test; the same value in each of `count` elements.
Case example(int64_t count, bool removes_nan) {
  Case made = make_case("adam_w", MLUOP_DTYPE_FLOAT,
                        {{"rows", 1}, {"columns", count}, {"remove_nan", removes_nan ? 1 : 0}, {"step", 2}});
  const auto fill = [&](const char* id, float value) {
    set_values(made, id, std::vector<float>(static_cast<size_t>(count), value));
  };
  fill("param", 1);
  fill("momentum", 0.1F);
  fill("velocity", 0.01F);
  fill("grad", 0.5F);
  const std::pair<const char*, float> reals[] = {{"lr", 0.01F},     {"beta1", 0.9F},       {"beta2", 0.95F},
                                                 {"bias1", 0.271F}, {"bias2", 0.142625F},  {"epsilon", 1e-8F},
                                                 {"scale", 2},      {"weight_decay", 0.1F}};
  for (const auto& [name, value] : reals) made.parameters.set_real(name, double{value});
  return made;
}

// bias1 and bias2 are the corrections of step 3, which the second mode computes.
TEST(OpsAdamW, WorkedExample) {
  const Handle handle;
  for (const bool removes_nan : {false, true}) {
    const Case made = example(3, removes_nan);
    const OperatorCall call(handle, made);
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_THAT(call.floats("momentum"), ::testing::Each(FloatNear(0.115F, 1e-7F)));
    EXPECT_THAT(call.floats("velocity"), ::testing::Each(FloatNear(0.012625F, 1e-8F)));
    EXPECT_THAT(call.floats("param"), ::testing::Each(FloatNear(0.984737007F, 2e-7F)));
    EXPECT_THAT(call.floats("paramh"), ::testing::Each(removes_nan ? 4 : 0.984375F));
  }
}

// Elements whose results are all NaN or infinite, after one with a finite result.
TEST(OpsAdamW, KeepsElementsWithoutFiniteResult) {
  Case made = example(4, true);
  set_values(made, "grad", std::vector<float>{0.5F, kNaN, kInfinity, -kInfinity});
  set_values(made, "param", std::vector<float>{1, 2, 3, kInfinity});
  set_values(made, "momentum", std::vector<float>{0.1F, 0.2F, 0.3F, 0.4F});
  set_values(made, "velocity", std::vector<float>{kInfinity, 5, 6, 7});
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_THAT(call.floats("param"), ElementsAre(IsNan(), 2, 3, kInfinity));
  EXPECT_THAT(call.floats("momentum"), ElementsAre(FloatNear(0.115F, 1e-7F), 0.2F, 0.3F, 0.4F));
  EXPECT_THAT(call.floats("velocity"), ElementsAre(IsNan(), 5, 6, 7));
}

// A step without finite successor becomes the largest number.
TEST(OpsAdamW, InfiniteStep) {
  Case made = example(1, true);
  set_values(made, "paramh", std::vector<float>{kInfinity});
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_THAT(call.floats("paramh"), ElementsAre(std::numeric_limits<float>::max()));
}

TEST(OpsAdamWErrors, Numbers) {
  const Case made = make_case("adam_w", MLUOP_DTYPE_FLOAT, {});
  std::vector<CallError> rows = {{set_real("epsilon", 0), "epsilon is 0, expected more than 0"},
                                 {set_real("epsilon", std::nan("")), "epsilon is nan, expected more than 0"}};
  for (const std::string name : {"beta1", "beta2"}) {
    rows.push_back({set_real(name, -0.5), name + " is -0.5, expected 0 to 1"});
    rows.push_back({set_real(name, 1.5), name + " is 1.5, expected 0 to 1"});
    rows.push_back({set_real(name, std::nan("")), name + " is nan, expected 0 to 1"});
  }
  std::vector<Change> empty, scalars;
  for (const char* id : {"param", "paramh", "momentum", "velocity", "grad"}) {
    empty.push_back(set_shape(id, {0, 9}));
    scalars.push_back(set_scalar(id));
  }
  rows.push_back({all_of(empty), "param has shape [0, 9], expected at least 1 dimension and 1 element"});
  rows.push_back({all_of(scalars), "param has shape [], expected at least 1 dimension and 1 element"});
  expect_errors(made, rows);
  expect_errors(make_case("adam_w", MLUOP_DTYPE_FLOAT, {{"remove_nan", 1}}),
                {{set_shape("paramh", {7, 9}), "paramh has 2 dimensions, expected 1"},
                 {set_shape("paramh", {2}), "paramh dim 0 is 2, expected 1"}});
}

TEST(OpsAdamWErrors, Descriptor) {
  const auto expect = [](mluOpStatus_t status, const std::string& message) {
    EXPECT_EQ(status, MLUOP_STATUS_BAD_PARAM);
    EXPECT_EQ(mluOpOmpGetLastError(), message);
  };
  expect(mluOpCreateAdamWDescriptor(nullptr), "[mluOpCreateAdamWDescriptor] adamw_desc is null");
  expect(mluOpDestroyAdamWDescriptor(nullptr), "[mluOpDestroyAdamWDescriptor] adamw_desc is null");
  const cases::AdamWDescriptor desc;
  const float decay = 0.5F;
  const unsigned char flag = 2;
  const std::string prefix = "[mluOpSetAdamWDescAttr] ";
  expect(mluOpSetAdamWDescAttr(nullptr, MLUOP_ADAMW_WEIGHT_DECAY, &decay, 4), prefix + "adamw_desc is null");
  expect(mluOpSetAdamWDescAttr(desc, MLUOP_ADAMW_WEIGHT_DECAY, nullptr, 4), prefix + "buf is null");
  expect(mluOpSetAdamWDescAttr(desc, MLUOP_ADAMW_GRAD_SCALE, &decay, 8),
         prefix + "size_in_bytes is 8, expected 4");
  for (const auto attr : {MLUOP_ADAMW_USE_NESTEROV, MLUOP_ADAMW_NEED_REMOVE_NAN}) {
    expect(mluOpSetAdamWDescAttr(desc, attr, &decay, 4), prefix + "size_in_bytes is 4, expected 1");
    expect(mluOpSetAdamWDescAttr(desc, attr, &flag, 1), prefix + "the value at buf is 2, expected 0 or 1");
  }
  for (const int attr : {-1, 4}) {
    expect(mluOpSetAdamWDescAttr(desc, static_cast<mluOpAdamWDescAttribute_t>(attr), &decay, 4),
           prefix + "attr is " + std::to_string(attr) + ", expected 0 to 3");
  }
  const Handle handle;
  expect(mluOpAdamW(handle, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                    nullptr, nullptr, 0, 0, 0, 0, 0, 0),
         "[mluOpAdamW] adamw_desc is null");
}

}  // namespace
}  // namespace mluop::test
