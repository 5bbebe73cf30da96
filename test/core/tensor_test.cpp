// Tensor descriptors: names of data types and layouts, counts, contiguity, text; arithmetic of sizes.
// api/library_test.cpp tests the sizes of data types.
#include "core/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/dtype.h"
#include "core/sizes.h"

namespace mluop::test {
namespace {

TensorDescriptor tensor(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
  TensorDescriptor desc{MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_HALF, static_cast<int>(dims.size()), {}, {}};
  std::copy(dims.begin(), dims.end(), desc.dims.begin());
  std::copy(strides.begin(), strides.end(), desc.strides.begin());
  return desc;
}

TEST(CoreDtype, NamesOfTypes) {
  // In the order of the values. No data type has the value 10.
  const char* const kNames[] = {"INVALID", "HALF",   "FLOAT",  "INT8",         "INT16",         "INT31",
                                "INT32",   "UINT8",  "BOOL",   "INT64",        "INVALID",       "UINT32",
                                "UINT64",  "UINT16", "DOUBLE", "COMPLEX_HALF", "COMPLEX_FLOAT", "BFLOAT16"};
  int value = 0;
  for (const char* name : kNames) EXPECT_EQ(name_of(static_cast<mluOpDataType_t>(value++)), name);
  EXPECT_EQ(name_of(static_cast<mluOpDataType_t>(value)), "INVALID");
}

TEST(CoreDtype, NamesOfLayouts) {
  const char* const kNames[] = {"NCHW", "NHWC", "HWCN", "NDHWC", "ARRAY", "NCDHW",
                                "TNC",  "NTC",  "NC",   "NLC",   "NCL"};
  int value = 0;
  for (const char* name : kNames) EXPECT_EQ(name_of(static_cast<mluOpTensorLayout_t>(value++)), name);
  EXPECT_EQ(name_of(static_cast<mluOpTensorLayout_t>(value)), "");
}

TEST(CoreTensor, Counts) {
  const TensorDescriptor none;
  EXPECT_EQ(element_count(none), 0);
  EXPECT_EQ(byte_count(none), 0);
  TensorDescriptor scalar{MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_HALF};
  scalar.is_scalar = true;
  EXPECT_EQ(element_count(scalar), 1);
  EXPECT_EQ(byte_count(scalar), 2);
  EXPECT_EQ(element_count(tensor({7}, {1})), 7);
  EXPECT_EQ(byte_count(tensor({7}, {1})), 14);
  EXPECT_EQ(element_count(tensor({2, 3, 4}, {12, 4, 1})), 24);
  EXPECT_EQ(element_count(tensor({2, 0, 4}, {4, 4, 1})), 0);
}

TEST(CoreTensor, Contiguity) {
  const struct {
    std::vector<int64_t> dims;
    std::vector<int64_t> strides;
    bool contiguous;
  } kTable[] = {
      {{}, {}, true},                               // no dimensions, no elements
      {{5}, {1}, true},                             //
      {{5}, {2}, false},                            // gaps
      {{5}, {0}, false},                            // broadcast
      {{2, 3, 4}, {12, 4, 1}, true},                //
      {{2, 3, 4}, {13, 4, 1}, false},               // a gap in the outermost dimension
      {{2, 3, 4}, {1, 2, 6}, false},                // reversed
      {{2, 3, 4}, {12, 1, 3}, false},               // transposed
      {{1, 3, 1, 4, 1}, {99, 4, 77, 1, 55}, true},  // strides of dimensions of size 1
      {{1, 1}, {0, INT64_MAX}, true},               //
      {{1, 3, 4}, {0, 5, 1}, false},                // a gap beside a dimension of size 1
      {{2, 0, 4}, {1, 2, 3}, true},                 // no elements
      {{0}, {9}, true},                             //
      {{2, 1, 1, 1, 1, 1, 1, 2}, {2, 0, 0, 0, 0, 0, 0, 1}, true},
  };
  for (const auto& row : kTable) {
    EXPECT_EQ(is_contiguous(tensor(row.dims, row.strides)), row.contiguous)
        << shape_text(row.dims) << " strides " << shape_text(row.strides);
  }
}

TEST(CoreTensor, Strides) {
  const struct {
    std::vector<int64_t> dims;
    std::vector<int64_t> strides;
    int64_t span;
    bool distinct, dense;
  } kTable[] = {
      {{}, {}, 0, true, true},
      {{2, 3}, {3, 1}, 6, true, true},
      {{2, 3}, {1, 2}, 6, true, true},          // transposed
      {{2, 3, 4}, {4, 8, 1}, 24, true, true},   // permuted
      {{2, 3}, {4, 1}, 7, true, false},         // a gap between rows
      {{2, 3}, {6, 2}, 11, true, false},        // every second element
      {{2, 3}, {2, 1}, 5, false, false},        // rows overlap
      {{2, 3}, {0, 1}, 3, false, false},        // repeated rows
      {{1, 3, 1}, {0, 1, 9}, 3, true, true},    // dimensions of size 1
      {{2, 0}, {0, 0}, 0, true, true},          // no elements
      {{3, 2}, {2, 3}, 8, false, false},        // distinct, but strides do not nest
      {{1, 1}, {0, INT64_MAX}, 1, true, true},  //
  };
  for (const auto& row : kTable) {
    SCOPED_TRACE(shape_text(row.dims) + " strides " + shape_text(row.strides));
    const auto desc = tensor(row.dims, row.strides);
    EXPECT_EQ(span_count(desc), row.span);
    EXPECT_EQ(has_distinct_places(desc), row.distinct);
    EXPECT_EQ(is_dense(desc), row.dense);
    EXPECT_TRUE(has_same_places(desc, desc));
  }
  EXPECT_TRUE(has_same_places(tensor({2, 1}, {1, 5}), tensor({2, 1}, {1, 7})));
  EXPECT_FALSE(has_same_places(tensor({2, 3}, {3, 1}), tensor({2, 3}, {1, 2})));
  EXPECT_FALSE(has_same_places(tensor({2, 3}, {3, 1}), tensor({3, 2}, {3, 1})));
  EXPECT_FALSE(has_same_places(tensor({6}, {1}), tensor({6, 1}, {1, 1})));
}

TEST(CoreTensor, ContiguousStrides) {
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{5}, {2, 3, 4}, {1, 1, 1}, {2, 0, 4}, {0, 0}, {2, 2, 2, 2, 2, 2, 2, 2}}) {
    auto desc = tensor(dims, {});
    set_contiguous_strides(desc);
    EXPECT_TRUE(is_contiguous(desc)) << shape_text(dims);
    EXPECT_EQ(desc.strides[dims.size() - 1], 1);
  }
}

TEST(CoreTensor, Text) {
  EXPECT_EQ(shape_text({}), "[]");
  EXPECT_EQ(shape_text(std::vector<int64_t>{7}), "[7]");
  EXPECT_EQ(shape_text(std::vector<int64_t>{2, 0, -1}), "[2, 0, -1]");
  EXPECT_EQ(describe(tensor({2, 3}, {3, 1})), "HALF [2, 3] NHWC");
  EXPECT_EQ(describe(TensorDescriptor()), "INVALID [] ARRAY");
}

TEST(CoreSizes, CheckedProduct) {
  EXPECT_EQ(checked_product(6, 7), 42);
  EXPECT_EQ(checked_product(0, INT64_MAX), 0);
  EXPECT_EQ(checked_product(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(checked_product(int64_t{1} << 31, int64_t{1} << 31), int64_t{1} << 62);
  EXPECT_EQ(checked_product(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(checked_product(INT64_MAX, 2), std::nullopt);
  EXPECT_EQ(checked_product(INT64_MIN, 1), INT64_MIN);
  EXPECT_EQ(checked_product(INT64_MIN, -1), std::nullopt);
}

TEST(CoreSizes, CheckedSum) {
  EXPECT_EQ(checked_sum(40, 2), 42);
  EXPECT_EQ(checked_sum(INT64_MAX - 1, 1), INT64_MAX);
  EXPECT_EQ(checked_sum(INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(checked_sum(INT64_MAX, INT64_MIN), -1);
  EXPECT_EQ(checked_sum(INT64_MIN, -1), std::nullopt);
}

TEST(CoreSizes, Rounding) {
  constexpr struct {
    int64_t a, b, quotient, rounded;
  } kTable[] = {{0, 64, 0, 0}, {1, 64, 1, 64}, {63, 64, 1, 64}, {64, 64, 1, 64}, {65, 64, 2, 128}, {7, 1, 7, 7}};
  for (const auto& row : kTable) {
    EXPECT_EQ(ceil_div(row.a, row.b), row.quotient) << row.a;
    EXPECT_EQ(round_up(row.a, row.b), row.rounded) << row.a;
  }
}

}  // namespace
}  // namespace mluop::test
