// Invalid arguments of mluOpOmpCompare and of the functions that read a comparison.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "compare/compared.h"
#include "support/labels.h"

namespace mluop::test {
namespace {

using ::testing::HasSubstr;

struct Arguments {
  Handle owned;
  Descriptor desc{MLUOP_DTYPE_FLOAT, {2, 3}};
  float e[6] = {}, b[6] = {};
  mluOpHandle_t handle = owned;
  Descriptor found_desc{MLUOP_DTYPE_FLOAT, {2, 3}}, expected_desc{MLUOP_DTYPE_FLOAT, {2, 3}};
  mluOpTensorDescriptor_t found = found_desc, expected = expected_desc;
  const void *found_data = e, *expected_data = b;
  mluOpOmpCompareOptions_t options = mluOpOmpDefaultCompareOptions();
  mluOpOmpComparison_t made = nullptr;
  mluOpOmpComparison_t* comparison = &made;

  mluOpStatus_t run() {
    return mluOpOmpCompare(handle, found, found_data, expected, expected_data, &options, comparison);
  }
  void use(Descriptor desc_of_found) {
    found_desc = std::move(desc_of_found);
    found = found_desc;
  }
};

TEST(CompareErrors, OfEachArgument) {
  MLUOP_LABELS(kOnce);
  using A = Arguments&;
  const struct {
    std::function<void(A)> spoil;
    const char* message;
    mluOpStatus_t status = MLUOP_STATUS_BAD_PARAM;
  } rows[] = {
      {[](A a) { a.handle = nullptr; }, "handle is null"},
      {[](A a) { a.found = nullptr; }, "found_desc is null"},
      {[](A a) { a.expected = nullptr; }, "expected_desc is null"},
      {[](A a) { a.found_data = nullptr; }, "found is null, expected the data of a tensor [2, 3]"},
      {[](A a) { a.expected_data = nullptr; }, "expected is null, expected the data of a tensor [2, 3]"},
      {[](A a) { a.comparison = nullptr; }, "comparison is null"},
      {[](A a) { a.use(Descriptor()); }, "found has data type INVALID, expected HALF"},
      {[](A a) {
         a.use(Descriptor(MLUOP_DTYPE_COMPLEX_FLOAT, {2, 3}));
       },
       "found has data type COMPLEX_FLOAT"},
      {[](A a) {
         a.use(Descriptor(MLUOP_DTYPE_INT31, {2, 3}));
       },
       "found has data type INT31"},
      {[](A a) { a.use(Descriptor(MLUOP_DTYPE_FLOAT, {6})); }, "found has shape [6], expected [2, 3]"},
      {[](A a) {
         a.use(Descriptor(MLUOP_DTYPE_FLOAT, {2, 4}));
       },
       "found dim 1 is 4, expected 3"},
      {[](A a) {
         a.use(Descriptor::with_strides(MLUOP_DTYPE_FLOAT, {2, 3}, {1, 2}));
       },
       "found has strides [1, 2]", MLUOP_STATUS_NOT_SUPPORTED},
      {[](A a) { a.options.rtol = -1; }, "rtol is -1, expected a finite non-negative number"},
      {[](A a) { a.options.rtol = std::nan(""); }, "rtol is nan"},
      {[](A a) { a.options.atol = HUGE_VAL; }, "atol is inf"},
      {[](A a) { a.options.rms_atol = -1; }, "rms_atol is -1, expected a finite non-negative number"},
      {[](A a) { a.options.epsilon = -1; }, "epsilon is -1"},
      {[](A a) { a.options.bits = 2; }, "bits is 2, expected 0 or 1"},
      {[](A a) { a.options.nan_payloads = -1; }, "nan_payloads is -1, expected 0 or 1"},
      {[](A a) { a.options.worst = -1; }, "worst is -1, expected 0 to 1000"},
      {[](A a) { a.options.worst = 1001; }, "worst is 1001, expected 0 to 1000"},
  };
  for (const auto& row : rows) {
    Arguments arguments;
    row.spoil(arguments);
    EXPECT_EQ(arguments.run(), row.status) << row.message;
    EXPECT_THAT(mluOpOmpGetLastError(), HasSubstr(row.message));
    EXPECT_EQ(arguments.made, nullptr);
  }
}

TEST(CompareErrors, OfReaders) {
  MLUOP_LABELS(kOnce);
  Arguments arguments;
  arguments.e[1] = arguments.e[4] = 1;
  require(arguments.run());
  mluOpOmpDifference_t difference;
  mluOpOmpWrongElement_t element[2];
  int count = -1;
  EXPECT_EQ(mluOpOmpGetDifference(nullptr, &difference), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpOmpGetDifference(arguments.made, nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpOmpGetWrongElements(nullptr, 1, element, &count), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpOmpGetWrongElements(arguments.made, 1, nullptr, &count), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpOmpGetWrongElements(arguments.made, 1, element, nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpOmpGetWrongElements(arguments.made, -1, element, &count), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpOmpDestroyComparison(nullptr), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(count, -1);
  EXPECT_STREQ(mluOpOmpGetComparisonPattern(nullptr), "");

  require(mluOpOmpGetWrongElements(arguments.made, 0, nullptr, &count));
  EXPECT_EQ(count, 0);
  require(mluOpOmpGetWrongElements(arguments.made, 1, element, &count));
  EXPECT_EQ(count, 1);
  EXPECT_EQ(element[0].index, 1);
  require(mluOpOmpDestroyComparison(arguments.made));
}

// Both operands may be the same tensor.
TEST(CompareErrors, NoneOfATensorWithItself) {
  Arguments arguments;
  arguments.expected_data = arguments.found_data;
  EXPECT_EQ(arguments.run(), MLUOP_STATUS_SUCCESS);
  require(mluOpOmpDestroyComparison(arguments.made));
}

}  // namespace
}  // namespace mluop::test
