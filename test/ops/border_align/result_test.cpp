// Border align: a worked example, ties, NaN, and a box that ends at the map. test/ops/contract_test.cpp has the
// tests of every operator.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/call_errors.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

struct Found {
  std::vector<float> output;
  std::vector<int32_t> argmax;
};

// One box on a map of height x width pixels with the four channels map(i).
template <class Map>
Found align(int64_t height, int64_t width, int pool_size, const std::vector<float>& box, const Map& map) {
  cases::Case made =
      make_case("border_align_forward", MLUOP_DTYPE_FLOAT,
                {{"b", 1}, {"c", 1}, {"h", height}, {"w", width}, {"k", 1}, {"pool_size", pool_size}});
  std::vector<float> input;
  for (int64_t i = 0; i < height * width * 4; ++i) input.push_back(map(i));
  set_values(made, "input", input);
  set_values(made, "boxes", box);
  expect_oracle(made);
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  const int32_t* argmax = call.arguments[3].as<int32_t>();
  return {call.floats("output"), {argmax, argmax + 4}};
}

TEST(OpsBorderAlign, Example) {
  const auto [output, argmax] = align(4, 4, 2, {0.5F, 0.25F, 2.5F, 1.75F}, [](int64_t i) {
    return static_cast<float>((i / 4) * (i / 4)) * (i % 2 == 0 ? 1.0F : -1.0F);
  });
  EXPECT_EQ(output, (std::vector<float>{15.5F, -5.5F, 93.5F, -15.5F}));
  EXPECT_EQ(argmax, (std::vector<int32_t>{2, 0, 0, 2}));
}

TEST(OpsBorderAlign, FirstOfEqualMaxima) {
  EXPECT_EQ(align(4, 4, 10, {0, 0, 3, 3}, [](int64_t) { return 1.0F; }).argmax, (std::vector<int32_t>(4)));
}

// NaN in the first pixel: sample 0 of top and left stays, bottom and right do not select it.
TEST(OpsBorderAlign, Nan) {
  const auto [output, argmax] = align(4, 4, 3, {0, 0, 3, 3}, [](int64_t i) { return i < 4 ? NAN : 1.0F; });
  EXPECT_TRUE(std::isnan(output[0]) && std::isnan(output[1]));
  EXPECT_EQ((std::vector<float>{output[2], output[3]}), (std::vector<float>{1, 1}));
  EXPECT_EQ(argmax, (std::vector<int32_t>(4)));
}

// The sum of ten steps of 15.2F exceeds 152: the last sample of the top border is outside, and 0.
TEST(OpsBorderAlign, AccumulatedSteps) {
  float sum = 0;
  for (int i = 0; i < 10; ++i) sum += 152.0F / 10;
  ASSERT_NE(sum, 152.0F);
  const auto negative = [](int64_t) { return -1.0F; };
  const auto [output, argmax] = align(2, 152, 10, {0, 0, 152, 1}, negative);
  EXPECT_EQ(output[0], sum > 152 ? 0.0F : -1.0F);
  EXPECT_EQ(argmax[0], sum > 152 ? 10 : 0);
}

TEST(OpsBorderAlign, GradientsOfBoxesAtNan) {
  for (const auto dtype : kFloatingDtypes) {
    cases::Case made = make_case("border_align_backward", dtype, {{"b", 1}, {"k", 2}});
    set_values(made, "boxes", std::vector<float>{NAN, 0, 3, NAN, 0, 0, 3, 3});
    expect_oracle(made);
  }
}

TEST(OpsBorderAlignErrors, Parameters) {
  for (const char* op : {"border_align_forward", "border_align_backward"}) {
    expect_errors(
        make_case(op, MLUOP_DTYPE_FLOAT, {}),
        {{set("pool_size", 0), "pool_size is 0, expected at least 1"},
         {set("pool_size", 4097), "pool_size is 4097, expected at most 4096", MLUOP_STATUS_NOT_SUPPORTED}});
  }
}

}  // namespace
}  // namespace mluop::test
