// Requirements of the element-by-element operators on parameters, element types, shapes and strides.
#include <gtest/gtest.h>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;

TEST(OpsElementwiseErrors, Parameters) {
  expect_errors(
      make_case("log", MLUOP_DTYPE_FLOAT, {}),
      {{set("log_base", 3), "base is 3, expected MLUOP_LOG_E (0), MLUOP_LOG_2 (1) or MLUOP_LOG_10 (2)"}});
  expect_errors(make_case("sqrt", MLUOP_DTYPE_FLOAT, {}), {{set("prefer", 2),
                                                            "prefer is 2, expected MLUOP_COMPUTATION_FAST (0) or "
                                                            "MLUOP_COMPUTATION_HIGH_PRECISION (1)"}});
  expect_errors(make_case("logspace", MLUOP_DTYPE_FLOAT, {{"steps", 33}, {"extra", 3}}),
                {{set("steps", -1), "steps is -1, expected at least 0"},
                 {set("steps", 37), "steps is 37, expected at most the elements of res, 36"}});
}

TEST(OpsElementwiseErrors, ElementTypes) {
  const auto typed = [](const char* tensor, mluOpDataType_t dtype) {
    return set_desc(tensor, Descriptor(dtype, {13, 11}, MLUOP_LAYOUT_ARRAY));
  };
  expect_errors(make_case("abs", MLUOP_DTYPE_FLOAT, {}),
                {{typed("x", MLUOP_DTYPE_COMPLEX_HALF),
                  "x has data type COMPLEX_HALF, expected FLOAT, HALF, BFLOAT16, INT32 or COMPLEX_FLOAT"},
                 {typed("y", MLUOP_DTYPE_HALF), "y has data type HALF, expected FLOAT"}});
  expect_errors(make_case("sqrt", MLUOP_DTYPE_INT32, {}),
                {{typed("x", MLUOP_DTYPE_INT16), "x has data type INT16, expected FLOAT, HALF, BFLOAT16 or INT32"},
                 {typed("y", MLUOP_DTYPE_INT32), "y has data type INT32, expected FLOAT"}});
  expect_errors(make_case("logspace", MLUOP_DTYPE_FLOAT, {}),
                {{set_desc("res", Descriptor(MLUOP_DTYPE_DOUBLE, {40}, MLUOP_LAYOUT_ARRAY)),
                  "res has data type DOUBLE, expected FLOAT, HALF, BFLOAT16 or INT32"}});
}

TEST(OpsElementwiseErrors, Broadcasting) {
  expect_errors(make_case("div", MLUOP_DTYPE_FLOAT, {{"n", 4}, {"c", 6}}),
                {{set_shape("y", {4, 5}), "y dim 1 is 5, expected 1 or 6"},
                 {set_shape("y", {6}), "y has 1 dimensions, expected 2"},
                 {set_shape("y", {2, 1}), "y dim 0 is 2, expected 1 or 4"},
                 {all_of({set_shape("x", {1, 6}), set_shape("y", {3, 6})}), "z dim 0 is 4, expected 3"}});
}

TEST(OpsElementwiseErrors, Strides) {
  const auto strided = [](const char* tensor, const cases::Dims& strides) {
    return set_desc(tensor, Descriptor::with_strides(MLUOP_DTYPE_FLOAT, {4, 6}, strides, MLUOP_LAYOUT_ARRAY));
  };
  for (const char* const op : {"log", "sqrt"}) {
    expect_errors(make_case(op, MLUOP_DTYPE_FLOAT, {{"n", 4}, {"c", 6}}),
                  {{strided("x", {7, 1}), "x has strides [7, 1], expected a tensor without gaps of shape [4, 6]",
                    kNotSupported},
                   {strided("x", {1, 4}),
                    "y has shape [4, 6] and strides [6, 1], expected shape [4, 6] and strides [1, 4] as x has",
                    kNotSupported},
                   {strided("y", {1, 4}),
                    "x has shape [4, 6] and strides [6, 1], expected shape [4, 6] and strides [1, 4] as y has",
                    kNotSupported}});
  }
  for (const char* const op : {"abs", "lgamma"}) {
    expect_errors(
        make_case(op, MLUOP_DTYPE_FLOAT, {{"n", 4}, {"c", 6}}),
        {{strided("y", {0, 1}), "y has strides [0, 1], expected distinct places for the elements of shape [4, 6]",
          kNotSupported},
         {strided("y", {5, 1}), "y has strides [5, 1], expected distinct places for the elements of shape [4, 6]",
          kNotSupported}});
  }
  expect_errors(make_case("div", MLUOP_DTYPE_FLOAT, {{"n", 4}, {"c", 6}, {"broadcast", 1}}),
                {{strided("x", {1, 4}),
                  "y has shape [1, 6] and strides [6, 1], expected shape [4, 6] and strides [1, 4] as x has",
                  kNotSupported}});
}

// A descriptor without dimensions.
TEST(OpsElementwiseErrors, NoDimensions) {
  for (const char* const op : {"abs", "lgamma", "log", "sqrt", "div"}) {
    expect_errors(make_case(op, MLUOP_DTYPE_FLOAT, {}),
                  {{set_scalar("x"), "x has 0 dimensions, expected 1 to 8"}});
  }
  expect_errors(make_case("sqrt_backward", MLUOP_DTYPE_FLOAT, {}),
                {{set_scalar("y"), "y has 0 dimensions, expected 1 to 8"}});
  expect_errors(make_case("logspace", MLUOP_DTYPE_FLOAT, {}),
                {{set_scalar("res"), "res has 0 dimensions, expected 1 to 8"}});
}

}  // namespace
}  // namespace mluop::test
