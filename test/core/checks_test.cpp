// Argument checks: the message of each rule, the first failure, overlapping memory.
#include "core/checks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

namespace mluop::test {
namespace {

TensorDescriptor tensor(std::initializer_list<int64_t> dims, mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT) {
  TensorDescriptor desc{MLUOP_LAYOUT_ARRAY, dtype, static_cast<int>(dims.size()), {}, {}};
  std::copy(dims.begin(), dims.end(), desc.dims.begin());
  set_contiguous_strides(desc);
  return desc;
}

TEST(CoreChecks, SuccessUntilARuleFails) {
  Checks check("example");
  const int value = 0;
  const auto desc = tensor({2, 3});
  EXPECT_TRUE(check.rule(true, MLUOP_STATUS_NOT_SUPPORTED, "not reported"));
  EXPECT_TRUE(check.not_null("value", &value));
  EXPECT_TRUE(check.positive("n", 1));
  EXPECT_TRUE(check.tensor("input", &desc, MLUOP_DTYPE_FLOAT, MLUOP_LAYOUT_ARRAY, {2, 3}));
  EXPECT_TRUE(check.tensor("input", &desc, MLUOP_DTYPE_FLOAT, MLUOP_LAYOUT_ARRAY, {-1, 3}));
  EXPECT_TRUE(check.data("input", &desc, &value));
  EXPECT_EQ(check.status(), MLUOP_STATUS_SUCCESS);
}

TEST(CoreChecks, Messages) {
  const auto desc = tensor({2, 3}), scalar_like = tensor({1});
  auto strided = tensor({2, 3}), nhwc = tensor({2, 3});
  strided.strides = {1, 2};
  nhwc.layout = MLUOP_LAYOUT_NHWC;
  const auto with = [](const TensorDescriptor* input) {
    return [input](Checks& check) {
      return check.tensor("input", input, MLUOP_DTYPE_FLOAT, MLUOP_LAYOUT_ARRAY, {2, 3});
    };
  };
  const auto ints = tensor({2, 3}, MLUOP_DTYPE_INT32), wide = tensor({2, 4}), empty = TensorDescriptor();
  const struct {
    std::function<bool(Checks&)> rule;
    const char* message;
    mluOpStatus_t status = MLUOP_STATUS_BAD_PARAM;
  } kTable[] = {
      {[](Checks& check) { return check.rule(false, MLUOP_STATUS_NOT_SUPPORTED, "n is ", 3, ", expected ", "4"); },
       "[example] n is 3, expected 4", MLUOP_STATUS_NOT_SUPPORTED},
      {[](Checks& check) { return check.not_null("handle", nullptr); }, "[example] handle is null"},
      {[](Checks& check) { return check.positive("n", 0); }, "[example] n is 0, expected at least 1"},
      {[](Checks& check) { return check.positive("n", INT64_MIN); },
       "[example] n is -9223372036854775808, expected at least 1"},
      {with(nullptr), "[example] input_desc is null"},
      {with(&empty), "[example] input has data type INVALID, expected FLOAT"},
      {with(&ints), "[example] input has data type INT32, expected FLOAT"},
      {with(&nhwc), "[example] input has layout NHWC, expected ARRAY"},
      {with(&scalar_like), "[example] input has 1 dimensions, expected 2"},
      {with(&wide), "[example] input dim 1 is 4, expected 3"},
      {with(&strided), "[example] input has strides [1, 2], expected a contiguous tensor of shape [2, 3]"},
      {[&](Checks& check) { return check.data("input", &desc, nullptr); },
       "[example] input is null, expected the data of a tensor [2, 3]"},
  };
  for (const auto& row : kTable) {
    SCOPED_TRACE(row.message);
    Checks check("example");
    EXPECT_FALSE(row.rule(check));
    EXPECT_EQ(check.status(), row.status);
    EXPECT_STREQ(last_error(), row.message);
  }
}

// Rules combined by && as in the operators.
TEST(CoreChecks, FirstFailureWins) {
  Checks check("example");
  int evaluated = 0;
  const auto count = [&](bool holds) {
    ++evaluated;
    return holds;
  };
  EXPECT_FALSE(check.rule(count(true), MLUOP_STATUS_BAD_PARAM, "first") &&
               check.rule(count(false), MLUOP_STATUS_NOT_SUPPORTED, "second") &&
               check.rule(count(false), MLUOP_STATUS_ARCH_MISMATCH, "third"));
  EXPECT_EQ(evaluated, 2);
  EXPECT_EQ(check.status(), MLUOP_STATUS_NOT_SUPPORTED);
  EXPECT_STREQ(last_error(), "[example] second");
}

TEST(CoreChecks, EmptyTensorsNeedNoData) {
  Checks check("example");
  const auto empty = tensor({2, 0});
  EXPECT_TRUE(check.data("input", &empty, nullptr));
  EXPECT_EQ(check.status(), MLUOP_STATUS_SUCCESS);
}

TEST(CoreChecks, Overlap) {
  constexpr struct {
    int output_begin;
    int output_bytes;
    int input_begin;
    int input_bytes;
    bool apart;
  } kTable[] = {
      {0, 8, 8, 8, true},    // adjacent, output first
      {8, 8, 0, 8, true},    // adjacent, input first
      {0, 8, 40, 8, true},   // separate
      {0, 8, 0, 8, false},   // the same
      {0, 9, 8, 8, false},   // the output's last byte
      {8, 8, 0, 9, false},   // the input's last byte
      {0, 32, 8, 8, false},  // input inside output
      {8, 8, 0, 32, false},  // output inside input
      {0, 32, 0, 1, false},  // same beginning
      {0, 0, 0, 0, true},    // both empty
      {0, 0, 0, 8, true},    // empty output at the beginning of the input
      {4, 0, 0, 8, true},    // empty output inside the input
      {0, 8, 4, 0, true},    // empty input inside the output
  };
  char memory[64];
  for (const auto& row : kTable) {
    Checks check("example");
    EXPECT_EQ(check.no_overlap({{"out", memory + row.output_begin, row.output_bytes}},
                               {{"in", memory + row.input_begin, row.input_bytes}}),
              row.apart)
        << row.output_begin << " + " << row.output_bytes << ", " << row.input_begin << " + " << row.input_bytes;
    EXPECT_EQ(check.status(), row.apart ? MLUOP_STATUS_SUCCESS : MLUOP_STATUS_BAD_PARAM);
  }
}

TEST(CoreChecks, OverlapNamesThePair) {
  char memory[64];
  const Memory first{"first", memory, 8}, second{"second", memory + 8, 8}, third{"third", memory + 12, 8},
      nothing{"nothing", nullptr, 0};
  Checks inputs("example");
  // Inputs may share memory.
  EXPECT_TRUE(inputs.no_overlap({first}, {second, third, second, nothing}));
  EXPECT_FALSE(inputs.no_overlap({first, second, nothing}, {third}));
  EXPECT_STREQ(last_error(), "[example] second overlaps third, expected memory of its own");
  Checks outputs("example");
  EXPECT_TRUE(outputs.no_overlap({first, second, nothing, nothing}, {}));
  EXPECT_FALSE(outputs.no_overlap({first, third, nothing, second}, {}));
  EXPECT_STREQ(last_error(), "[example] third overlaps second, expected memory of its own");
}

}  // namespace
}  // namespace mluop::test
