// Every rule that the functions of tensor descriptors check. A setter that fails does not change the descriptor.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "api/tensor_descriptor_functions.h"
#include "support/api.h"
#include "support/api_errors.h"

namespace mluop::test {
namespace {

// Valid arguments of a setter, for rows to change.
template <class Int>
struct SetterArguments {
  mluOpTensorDescriptor_t desc;
  mluOpTensorLayout_t layout = MLUOP_LAYOUT_NC;
  mluOpDataType_t dtype = MLUOP_DTYPE_FLOAT;
  int count = 2;
  Int dims[MLUOP_DIM_MAX + 1] = {2, 3, 1, 1, 1, 1, 1, 1, 1};
  Int strides[MLUOP_DIM_MAX + 1] = {3, 1, 1, 1, 1, 1, 1, 1, 1};
  const Int* dims_pointer = dims;
  const Int* strides_pointer = strides;
};

template <class Int>
class ApiTensorDescriptorErrors : public ::testing::Test {
 protected:
  using Functions = DescriptorFunctions<Int>;
  using Arguments = SetterArguments<Int>;
  struct Row {
    std::function<void(Arguments&)> change;
    std::string message;
  };
  using Rows = std::vector<Row>;

  static mluOpStatus_t set(const Arguments& a) {
    return Functions::set(a.desc, a.layout, a.dtype, a.count, a.dims_pointer);
  }
  static mluOpStatus_t set_ex(const Arguments& a) {
    return Functions::set_ex(a.desc, a.layout, a.dtype, a.count, a.dims_pointer, a.strides_pointer);
  }
  static mluOpStatus_t set_dim(const Arguments& a) { return Functions::set_dim(a.desc, a.count, a.dims_pointer); }

  static void expect_setter_errors(mluOpStatus_t (*setter)(const Arguments&), const char* name, const Rows& rows) {
    for (const Row& row : rows) {
      SCOPED_TRACE(row.message);
      const Descriptor desc(MLUOP_DTYPE_FLOAT, {5, 6, 7}, MLUOP_LAYOUT_NLC);
      const TensorDescriptor before = *mluOpTensorDescriptor_t{desc};
      Arguments arguments{desc};
      row.change(arguments);
      expect_failure([&] { return setter(arguments); }, MLUOP_STATUS_BAD_PARAM,
                     std::string("[") + name + Functions::suffix + "] " + row.message);
      EXPECT_TRUE(same(*mluOpTensorDescriptor_t{desc}, before));
    }
  }

  static auto set_shape(std::initializer_list<Int> dims) {
    return [wanted = std::vector<Int>(dims)](Arguments& a) {
      a.count = static_cast<int>(wanted.size());
      std::copy(wanted.begin(), wanted.end(), a.dims);
    };
  }

  // Rules of every setter.
  static Rows shape_rules() {
    return {
        {[](auto& a) { a.desc = nullptr; }, "desc is null"},
        {[](auto& a) { a.count = 0; }, "dimNb is 0, expected 1 to 8"},
        {[](auto& a) { a.count = 9; }, "dimNb is 9, expected 1 to 8"},
        {[](auto& a) { a.count = -1; }, "dimNb is -1, expected 1 to 8"},
        {[](auto& a) { a.count = INT_MIN; }, "dimNb is -2147483648, expected 1 to 8"},
        {[](auto& a) { a.dims_pointer = nullptr; }, "dimSize is null"},
        {[](auto& a) { a.dims[0] = -1; }, "dimSize[0] is -1, expected 0 or more"},
        {[](auto& a) { a.dims[1] = INT_MIN; }, "dimSize[1] is -2147483648, expected 0 or more"},
        {set_shape({1 << 30, 1 << 30, 2}),
         "the size in bytes of shape [1073741824, 1073741824, 2] exceeds 2^63 - 1"},
        {set_shape({INT_MAX, INT_MAX, INT_MAX}),
         "the size in bytes of shape [2147483647, 2147483647, 2147483647] exceeds 2^63 - 1"},
        {set_shape({INT_MAX, INT_MAX, INT_MAX, 2}),
         "the size in bytes of shape [2147483647, 2147483647, 2147483647, 2] exceeds 2^63 - 1"},
        {set_shape({0, INT_MAX, INT_MAX, INT_MAX}),
         "the size in bytes of shape [0, 2147483647, 2147483647, 2147483647] exceeds 2^63 - 1"},
    };
  }

  // Rules of the setters that take layout and data type.
  static Rows format_rules() {
    const std::string layouts = ", expected a value of mluOpTensorLayout_t";
    const std::string dtypes = ", expected a data type other than MLUOP_DTYPE_INVALID";
    return {
        {[](auto& a) { a.layout = static_cast<mluOpTensorLayout_t>(11); }, "layout is 11" + layouts},
        {[](auto& a) { a.layout = static_cast<mluOpTensorLayout_t>(15); }, "layout is 15" + layouts},
        {[](auto& a) { a.dtype = MLUOP_DTYPE_INVALID; }, "dtype is 0" + dtypes},
        {[](auto& a) { a.dtype = static_cast<mluOpDataType_t>(10); }, "dtype is 10" + dtypes},
        {[](auto& a) { a.dtype = static_cast<mluOpDataType_t>(18); }, "dtype is 18" + dtypes},
    };
  }

  // Rules of the setters that take strides.
  static Rows stride_rules() {
    return {
        {[](auto& a) { a.strides_pointer = nullptr; }, "dimStride is null"},
        {[](auto& a) { a.strides[0] = -1; }, "dimStride[0] is -1, expected 0 or more"},
        {[](auto& a) { a.strides[1] = INT_MIN; }, "dimStride[1] is -2147483648, expected 0 or more"},
        {[](auto& a) {
           a.count = 1;
           a.dims[0] = INT_MAX;
           a.strides[0] = INT_MAX;
         },
         "the size in bytes of shape [2147483647] exceeds 2^63 - 1"},
    };
  }
};
TYPED_TEST_SUITE(ApiTensorDescriptorErrors, DescriptorInts, DescriptorIntNames);

TYPED_TEST(ApiTensorDescriptorErrors, Set) {
  this->expect_setter_errors(this->set, "mluOpSetTensorDescriptor", this->shape_rules());
  this->expect_setter_errors(this->set, "mluOpSetTensorDescriptor", this->format_rules());
}

TYPED_TEST(ApiTensorDescriptorErrors, SetEx) {
  this->expect_setter_errors(this->set_ex, "mluOpSetTensorDescriptorEx", this->shape_rules());
  this->expect_setter_errors(this->set_ex, "mluOpSetTensorDescriptorEx", this->format_rules());
  this->expect_setter_errors(this->set_ex, "mluOpSetTensorDescriptorEx", this->stride_rules());
}

TYPED_TEST(ApiTensorDescriptorErrors, SetDim) {
  this->expect_setter_errors(this->set_dim, "mluOpSetTensorDescriptorDim", this->shape_rules());
}

// The arguments are valid before a row changes them.
TYPED_TEST(ApiTensorDescriptorErrors, ValidArguments) {
  const Descriptor desc;
  const SetterArguments<TypeParam> valid{desc};
  EXPECT_EQ(this->set(valid), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(this->set_ex(valid), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(this->set_dim(valid), MLUOP_STATUS_SUCCESS);
}

TYPED_TEST(ApiTensorDescriptorErrors, Get) {
  const std::string suffix = std::string(TestFixture::Functions::suffix) + "] desc is null";
  expect_errors({
      {[] { return TestFixture::Functions::get(nullptr, nullptr, nullptr, nullptr, nullptr); },
       "[mluOpGetTensorDescriptor" + suffix},
      {[] { return TestFixture::Functions::get_ex(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr); },
       "[mluOpGetTensorDescriptorEx" + suffix},
  });
}

TEST(ApiTensorDescriptorNull, Errors) {
  expect_errors({
      {[] { return mluOpCreateTensorDescriptor(nullptr); }, "[mluOpCreateTensorDescriptor] desc is null"},
      {[] { return mluOpDestroyTensorDescriptor(nullptr); }, "[mluOpDestroyTensorDescriptor] desc is null"},
      {[] { return mluOpResetTensorDescriptor(nullptr); }, "[mluOpResetTensorDescriptor] desc is null"},
  });
  EXPECT_EQ(mluOpGetTensorElementNum(nullptr), 0U);
  EXPECT_STREQ(mluOpOmpGetLastError(), "[mluOpGetTensorElementNum] desc is null");
}

// Sizes that exceed int.
TEST(ApiTensorDescriptorLargeErrors, BytesOverflow) {
  const Descriptor desc;
  const auto set = [&](mluOpDataType_t dtype, std::initializer_list<int64_t> dims,
                       std::initializer_list<int64_t> strides) {
    return mluOpSetTensorDescriptorEx_v2(desc, MLUOP_LAYOUT_ARRAY, dtype, static_cast<int>(dims.size()),
                                         dims.begin(), strides.begin());
  };
  expect_errors({
      {[&] { return set(MLUOP_DTYPE_HALF, {int64_t{1} << 62}, {1}); },
       "[mluOpSetTensorDescriptorEx_v2] the size in bytes of shape [4611686018427387904] exceeds 2^63 - 1"},
      // The extent of one dimension overflows, then the sum of both, then the element past the last.
      {[&] {
         return set(MLUOP_DTYPE_INT8, {3, 2}, {int64_t{1} << 62, 1});
       },
       "[mluOpSetTensorDescriptorEx_v2] the size in bytes of shape [3, 2] exceeds 2^63 - 1"},
      {[&] {
         return set(MLUOP_DTYPE_INT8, {2, 2}, {int64_t{1} << 62, int64_t{1} << 62});
       },
       "[mluOpSetTensorDescriptorEx_v2] the size in bytes of shape [2, 2] exceeds 2^63 - 1"},
      {[&] {
         return set(MLUOP_DTYPE_INT8, {2, 2}, {INT64_MAX - 1, 1});
       },
       "[mluOpSetTensorDescriptorEx_v2] the size in bytes of shape [2, 2] exceeds 2^63 - 1"},
  });
  EXPECT_TRUE(same(*mluOpTensorDescriptor_t{desc}, TensorDescriptor()));
}

// Values that int cannot represent: the getter fails if the caller requests them, and writes nothing.
TEST(ApiTensorDescriptorLargeErrors, IntGettersOverflow) {
  const Descriptor long_dim(MLUOP_DTYPE_INT8, {3, int64_t{1} << 31}),
      long_stride(MLUOP_DTYPE_INT8, {2, INT_MAX, 2}), fits(MLUOP_DTYPE_INT8, {2, INT_MAX});
  auto layout = MLUOP_LAYOUT_NCL;
  auto dtype = MLUOP_DTYPE_BFLOAT16;
  int count = -7, dims[3] = {-7, -7, -7}, strides[3] = {-7, -7, -7};
  const auto kOverflow = MLUOP_STATUS_NUMERICAL_OVERFLOW;
  expect_errors({
      {[&] { return mluOpGetTensorDescriptor(long_dim, &layout, &dtype, &count, dims); },
       "[mluOpGetTensorDescriptor] dimSize[1] is 2147483648, which int cannot hold: use the _v2 function",
       kOverflow},
      {[&] { return mluOpGetTensorDescriptorEx(long_dim, &layout, &dtype, &count, dims, nullptr); },
       "[mluOpGetTensorDescriptorEx] dimSize[1] is 2147483648, which int cannot hold: use the _v2 function",
       kOverflow},
      {[&] { return mluOpGetTensorDescriptorEx(long_stride, &layout, &dtype, &count, dims, strides); },
       "[mluOpGetTensorDescriptorEx] dimStride[0] is 4294967294, which int cannot hold: use the _v2 function",
       kOverflow},
  });
  EXPECT_EQ(layout, MLUOP_LAYOUT_NCL);
  EXPECT_EQ(dtype, MLUOP_DTYPE_BFLOAT16);
  EXPECT_EQ(count, -7);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(dims[i], -7);
    EXPECT_EQ(strides[i], -7);
  }
  // Not requested, or equal to INT_MAX.
  EXPECT_EQ(mluOpGetTensorDescriptor(long_dim, nullptr, nullptr, &count, nullptr), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetTensorDescriptor(long_stride, nullptr, nullptr, nullptr, dims), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetTensorDescriptorEx(fits, nullptr, nullptr, nullptr, dims, strides), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(dims[1], INT_MAX);
  EXPECT_EQ(strides[0], INT_MAX);
}

}  // namespace
}  // namespace mluop::test
