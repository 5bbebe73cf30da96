// Sigmoid focal loss: an example of the definition, logits at which probabilities round, and the rules of
// parameters and weights. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/labels.h"
#include "support/operator_call.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr const char* kForward = "focal_loss_sigmoid_forward";
constexpr const char* kBackward = "focal_loss_sigmoid_backward";

Case make_example(const char* op, mluOpDataType_t dtype, const std::vector<float>& logits,
                  const std::vector<int32_t>& targets) {
  const auto N = static_cast<int64_t>(targets.size()), C = static_cast<int64_t>(logits.size()) / N;
  Case made = make_case(op, dtype, {{"n", N}, {"c", C}, {"weighted", 0}});
  set_values(made, "input", logits);
  set_values(made, "target", targets);
  return made;
}

void expect_near(const Case& made, const char* output, const std::vector<float>& expected) {
  const Handle handle;
  const OperatorCall call(handle, made);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  const std::vector<float> found = call.floats(output);
  ASSERT_EQ(found.size(), expected.size());
  const double relative = made.inputs[0].dtype == MLUOP_DTYPE_BFLOAT16 ? 1e-2 : 1e-3;
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 1e-6 + relative * std::abs(expected[i])) << i;
  }
}

// A row of class 0, a row of class 1, and background; p is 1/2, 3/4 and 1/4.
TEST(OpsFocalLossSigmoid, WorkedExample) {
  const float log3 = std::log(3.0F), half = std::log(0.5F), low = std::log(0.25F), high = std::log(0.75F);
  const std::vector<float> logits = {0, log3, 0, -log3, log3, -log3};
  const std::vector<int32_t> targets = {0, 1, 2};
  for (const auto dtype : kFloatingDtypes) {
    expect_near(make_example(kForward, dtype, logits, targets), "output",
                {-half / 16, -27 * low / 64, -3 * half / 16, -9 * low / 64, -27 * low / 64, -3 * high / 64});
    expect_near(make_example(kBackward, dtype, logits, targets), "grad_input",
                {-(1 - 2 * half) / 32, 27 * (3 - 2 * low) / 256, 3 * (1 - 2 * half) / 32, -9 * (3 - 2 * low) / 256,
                 27 * (3 - 2 * low) / 256, 3 * (1 - 6 * high) / 256});
  }
}

// The loss takes the logarithm of a probability rounded to fp32, 2^-126 at least.
TEST(OpsFocalLossSigmoid, LargeLogits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float least = std::log(std::numeric_limits<float>::min());
  expect_near(
      make_example(kForward, MLUOP_DTYPE_FLOAT, {20, -20, 200, -200, kInfinity, -kInfinity}, {0, 0, 0, 0, 0, 0}),
      "output", {0, 5, 0, -least / 4, 0, -least / 4});
  expect_near(
      make_example(kForward, MLUOP_DTYPE_FLOAT, {20, -20, 200, -200, kInfinity, -kInfinity}, {1, 1, 1, 1, 1, 1}),
      "output", {-0.75F * least, 0, -0.75F * least, 0, -0.75F * least, 0});
  expect_near(make_example(kBackward, MLUOP_DTYPE_FLOAT, {200, -200, kInfinity, -kInfinity}, {0, 0, 1, 1}),
              "grad_input", {0, -0.25F, 0.75F, 0});
}

// A row of two classes of the same logit; the first is the target.
float computed(const char* op, float logit, bool is_target, double gamma, double alpha, float weight = 1) {
  Case made = make_case(op, MLUOP_DTYPE_FLOAT, {{"n", 1}, {"c", 2}, {"weighted", 1}});
  made.parameters.set_real("gamma", gamma);
  made.parameters.set_real("alpha", alpha);
  set_values(made, "input", std::vector<float>{logit, logit});
  set_values(made, "target", std::vector<int32_t>{0});
  set_values(made, "weight", std::vector<float>{weight, weight});
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  return call.floats(op == kForward ? "output" : "grad_input")[is_target ? 0 : 1];
}

// Around 2^-126, the least probability that is not 0: exp(-87.3365...).
TEST(OpsFocalLossSigmoid, LeastProbabilities) {
  float last = 80;
  for (const float logit : {-86.99F, -87.0F, -87.00001F, -87.1F, -87.25F, -87.3F, -87.336F, -87.3365F}) {
    const double p = 1 / (1 + std::exp(-double{logit}));
    for (const double gamma : {0.0, 0.5, 2.0}) {
      SCOPED_TRACE(testing::Message() << logit << ' ' << gamma);
      EXPECT_NEAR(computed(kForward, logit, true, gamma, 1), -std::log(p), 1e-5);
      EXPECT_NEAR(computed(kBackward, logit, true, gamma, 1), -1, 1e-6);
    }
    EXPECT_NEAR(computed(kBackward, logit, false, 0, 0) / p, 1, 1e-6) << logit;
    const float loss = computed(kForward, logit, true, 0, 1);
    EXPECT_GT(loss, last);
    last = loss;
  }
  for (const float logit : {-87.34F, -88.0F, -103.0F, -1000.0F}) {
    EXPECT_NEAR(computed(kForward, logit, true, 0, 1), 126 * std::log(2.0), 1e-5) << logit;
    EXPECT_EQ(computed(kBackward, logit, false, 0, 0), 0) << logit;
  }
}

// The power is below 2^-126, its product is above.
TEST(OpsFocalLossSigmoid, SmallPowers) {
  const struct {
    float logit;
    double gamma;
    float weight;
  } kTable[] = {{4.6F, 8900, 1},         {4.65F, 9500, 1},     {-46, 2, 0x1p100F},   {-46, 2, 0x1p80F},
                {-45.5F, 2.5, 0x1p110F}, {-30, 3.5, 0x1p70F},  {-60, 1.5, 0x1p110F}, {-40, 3.25, 0x1p120F},
                {3, 2000, 0x1p20F},      {0.5F, 250, 0x1p80F}, {-2, 0, 0x1p-120F}};
  for (const auto& [logit, gamma, weight] : kTable) {
    // p is rounded as in the operator, which a large gamma shows.
    const auto p = static_cast<float>(1 / (1 + std::exp(-double{logit})));
    const double q = 1 - p, expected = weight * std::pow(double{p}, gamma) * (p - gamma * q * std::log(q));
    SCOPED_TRACE(testing::Message() << logit << ' ' << gamma << ' ' << weight << ' ' << expected);
    EXPECT_GE(expected, std::numeric_limits<float>::min());
    EXPECT_NEAR(computed(kBackward, logit, false, gamma, 0, weight) / expected, 1, 2e-3);
  }
}

// Factors that overflow before a power of 0: found by the fuzzer as NaN.
TEST(OpsFocalLossSigmoid, PowersOfZeroAmongLargeFactors) {
  for (const char* const op : {kForward, kBackward}) {
    EXPECT_EQ(computed(op, 3, true, 1e4, 1e30, 3e38F), 0) << op;
    EXPECT_EQ(computed(op, -3, false, 1e4, -1e30, 3e38F), 0) << op;
    EXPECT_TRUE(std::isnan(computed(op, 3, true, 1e4, 1e30, std::numeric_limits<float>::quiet_NaN()))) << op;
  }
}

TEST(OpsFocalLossSigmoid, TargetsOutOfRangeAreBackground) {
  for (const char* op : {kForward, kBackward}) {
    Case made = make_case(op, MLUOP_DTYPE_FLOAT, {{"n", 4}, {"c", 3}});
    set_values(made, "target", std::vector<int32_t>{-1, 3, 1 << 30, std::numeric_limits<int32_t>::min()});
    expect_oracle(made);
  }
}

// Every exponent, and outputs that bypass the caches.
TEST(OpsFocalLossSigmoid, ExponentsAndStreams) {
  MLUOP_LABELS(kSlow);
  for (const char* op : {kForward, kBackward}) {
    for (const auto dtype : kFloatingDtypes) {
      for (int64_t halves = 0; halves < 9; ++halves)
        expect_oracle(make_case(op, dtype, {{"gamma_halves", halves}}));
      expect_oracle(make_case(op, dtype, {{"n", 52001}, {"c", 91}}), Placement::kMisaligned);
    }
  }
}

TEST(OpsFocalLossSigmoidErrors, Parameters) {
  constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;
  for (const std::string op : {kForward, kBackward}) {
    const std::string most = op == kForward ? "3.40282e+38" : "10000";
    expect_errors(
        make_case(op, MLUOP_DTYPE_FLOAT, {}),
        {{set("prefer", 2), "prefer is MLUOP_COMPUTATION_ULTRAHIGH_PRECISION (2), expected 0 or 1", kNotSupported},
         {set("prefer", 3), "prefer is 3, expected 0 to 2"},
         {set("reduction", 1), "reduction is 1, expected MLUOP_LOSS_REDUCTION_NONE (0)", kNotSupported},
         {set("reduction", -1), "reduction is -1, expected 0 to 2"},
         {set_real("gamma", -0.5), "gamma is -0.5, expected 0 to " + most, kNotSupported},
         {set_real("gamma", std::nan("")), "gamma is nan, expected 0 to " + most, kNotSupported}});
  }
}

// A null tensor and a tensor without elements both stand for weights of 1.
TEST(OpsFocalLossSigmoid, WithoutWeights) {
  Case made = make_case(kForward, MLUOP_DTYPE_FLOAT, {});
  set_values(made, "weight", std::vector<float>(9, 1));
  const Handle handle;
  const OperatorCall weighted(handle, made);
  OperatorCall empty(handle, made);
  empty.use("weight", std::make_shared<Descriptor>(MLUOP_DTYPE_FLOAT, cases::Dims{0}));
  empty["weight"].data = nullptr;
  OperatorCall without(handle, made);
  without["weight"].desc = nullptr;
  without["weight"].data = nullptr;
  for (const auto* call : std::initializer_list<const OperatorCall*>{&weighted, &empty, &without}) {
    ASSERT_EQ(call->run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(call->outputs() == weighted.outputs());
  }
  expect_errors(made, {{[](OperatorCall& call) { call["weight"].desc = nullptr; }, "weight_desc is null"}});
}

}  // namespace
}  // namespace mluop::test
