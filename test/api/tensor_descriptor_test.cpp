// Tensor descriptors: getters return the values that setters store, in int and in int64_t.
#include <gtest/gtest.h>

#include <array>
#include <climits>
#include <cstdint>
#include <limits>
#include <vector>

#include "api/tensor_descriptor_functions.h"
#include "support/api.h"

namespace mluop::test {
namespace {

template <class Int>
class ApiTensorDescriptor : public ::testing::Test {
 protected:
  using Functions = DescriptorFunctions<Int>;

  // Reads the descriptor through both getters and compares.
  void expect(mluOpTensorLayout_t layout, mluOpDataType_t dtype, const std::vector<Int>& dims,
              const std::vector<Int>& strides) const {
    std::vector<Int> found_dims(dims.size(), -7), found_strides(strides.size(), -7);
    auto found_layout = MLUOP_LAYOUT_NCL;
    auto found_dtype = MLUOP_DTYPE_BFLOAT16;
    int count = -7;
    EXPECT_EQ(
        Functions::get_ex(desc_, &found_layout, &found_dtype, &count, found_dims.data(), found_strides.data()),
        MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(found_layout, layout);
    EXPECT_EQ(found_dtype, dtype);
    EXPECT_EQ(count, static_cast<int>(dims.size()));
    EXPECT_EQ(found_dims, dims);
    EXPECT_EQ(found_strides, strides);
    found_dims.assign(dims.size(), -7);
    found_layout = MLUOP_LAYOUT_NCL;
    found_dtype = MLUOP_DTYPE_BFLOAT16;
    count = -7;
    EXPECT_EQ(Functions::get(desc_, &found_layout, &found_dtype, &count, found_dims.data()), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(found_layout, layout);
    EXPECT_EQ(found_dtype, dtype);
    EXPECT_EQ(count, static_cast<int>(dims.size()));
    EXPECT_EQ(found_dims, dims);
  }

  mluOpStatus_t set(mluOpTensorLayout_t layout, mluOpDataType_t dtype, const std::vector<Int>& dims) const {
    return Functions::set(desc_, layout, dtype, static_cast<int>(dims.size()), dims.data());
  }

  Descriptor desc_;
};
TYPED_TEST_SUITE(ApiTensorDescriptor, DescriptorInts, DescriptorIntNames);

TYPED_TEST(ApiTensorDescriptor, StartsEmpty) {
  this->expect(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INVALID, {}, {});
  EXPECT_EQ(mluOpGetTensorElementNum(this->desc_), 0U);
}

TYPED_TEST(ApiTensorDescriptor, SetGivesContiguousStrides) {
  ASSERT_EQ(this->set(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_HALF, {2, 3, 5, 7}), MLUOP_STATUS_SUCCESS);
  this->expect(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_HALF, {2, 3, 5, 7}, {105, 35, 7, 1});
  EXPECT_EQ(mluOpGetTensorElementNum(this->desc_), 210U);
}

// The second call replaces all values of the first.
TYPED_TEST(ApiTensorDescriptor, SetReplaces) {
  ASSERT_EQ(this->set(MLUOP_LAYOUT_NDHWC, MLUOP_DTYPE_HALF, {2, 3, 5, 7, 9}), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(this->set(MLUOP_LAYOUT_NC, MLUOP_DTYPE_INT8, {4, 6}), MLUOP_STATUS_SUCCESS);
  this->expect(MLUOP_LAYOUT_NC, MLUOP_DTYPE_INT8, {4, 6}, {6, 1});
  const Descriptor fresh(MLUOP_DTYPE_INT8, {4, 6}, MLUOP_LAYOUT_NC);
  EXPECT_TRUE(same(*mluOpTensorDescriptor_t{this->desc_}, *mluOpTensorDescriptor_t{fresh}));
}

TYPED_TEST(ApiTensorDescriptor, EveryLayoutWithAnyShape) {
  for (int layout = MLUOP_LAYOUT_NCHW; layout <= MLUOP_LAYOUT_NCL; ++layout) {
    ASSERT_EQ(this->set(static_cast<mluOpTensorLayout_t>(layout), MLUOP_DTYPE_FLOAT, {6}), MLUOP_STATUS_SUCCESS);
    this->expect(static_cast<mluOpTensorLayout_t>(layout), MLUOP_DTYPE_FLOAT, {6}, {1});
  }
}

TYPED_TEST(ApiTensorDescriptor, EveryDataType) {
  for (int dtype = MLUOP_DTYPE_HALF; dtype <= MLUOP_DTYPE_BFLOAT16; ++dtype) {
    if (dtype == 10) continue;  // the gap in the enumeration
    ASSERT_EQ(this->set(MLUOP_LAYOUT_ARRAY, static_cast<mluOpDataType_t>(dtype), {6}), MLUOP_STATUS_SUCCESS);
    this->expect(MLUOP_LAYOUT_ARRAY, static_cast<mluOpDataType_t>(dtype), {6}, {1});
  }
}

TYPED_TEST(ApiTensorDescriptor, MaxDimensions) {
  ASSERT_EQ(this->set(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {2, 1, 3, 2, 1, 2, 3, 2}), MLUOP_STATUS_SUCCESS);
  this->expect(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {2, 1, 3, 2, 1, 2, 3, 2}, {72, 72, 24, 12, 12, 6, 2, 1});
  EXPECT_EQ(mluOpGetTensorElementNum(this->desc_), 144U);
}

// For the strides of outer dimensions, a dimension of size 0 counts as 1.
TYPED_TEST(ApiTensorDescriptor, ZeroDimensions) {
  ASSERT_EQ(this->set(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {4, 0, 3}), MLUOP_STATUS_SUCCESS);
  this->expect(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {4, 0, 3}, {3, 3, 1});
  EXPECT_EQ(mluOpGetTensorElementNum(this->desc_), 0U);
  ASSERT_EQ(this->set(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {0}), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(mluOpGetTensorElementNum(this->desc_), 0U);
}

TYPED_TEST(ApiTensorDescriptor, GivenStrides) {
  // Transposed, broadcast, with gaps.
  for (const std::vector<TypeParam>& strides :
       {std::vector<TypeParam>{1, 2}, {0, 0}, {1000, 10}, {INT_MAX / 4, 1}}) {
    const TypeParam dims[] = {2, 3};
    ASSERT_EQ(
        TestFixture::Functions::set_ex(this->desc_, MLUOP_LAYOUT_NC, MLUOP_DTYPE_INT32, 2, dims, strides.data()),
        MLUOP_STATUS_SUCCESS);
    this->expect(MLUOP_LAYOUT_NC, MLUOP_DTYPE_INT32, {2, 3}, strides);
    EXPECT_EQ(mluOpGetTensorElementNum(this->desc_), 6U);
  }
}

// Strides of dimensions of size 0 or 1 do not affect the size in bytes.
TYPED_TEST(ApiTensorDescriptor, HugeStridesOfShortDimensions) {
  constexpr auto kMax = std::numeric_limits<TypeParam>::max();
  const TypeParam dims[] = {1, 0, 1}, strides[] = {kMax, kMax, kMax};
  ASSERT_EQ(TestFixture::Functions::set_ex(this->desc_, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_DOUBLE, 3, dims, strides),
            MLUOP_STATUS_SUCCESS);
  this->expect(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_DOUBLE, {1, 0, 1}, {kMax, kMax, kMax});
}

TYPED_TEST(ApiTensorDescriptor, SetDimKeepsLayoutAndType) {
  const TypeParam before[] = {2, 3, 4}, strides[] = {100, 10, 2}, after[] = {6, 5};
  ASSERT_EQ(TestFixture::Functions::set_ex(this->desc_, MLUOP_LAYOUT_NLC, MLUOP_DTYPE_UINT8, 3, before, strides),
            MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(TestFixture::Functions::set_dim(this->desc_, 2, after), MLUOP_STATUS_SUCCESS);
  this->expect(MLUOP_LAYOUT_NLC, MLUOP_DTYPE_UINT8, {6, 5}, {5, 1});
}

TYPED_TEST(ApiTensorDescriptor, SetDimOfAnEmptyDescriptor) {
  const TypeParam dims[] = {6, 5};
  ASSERT_EQ(TestFixture::Functions::set_dim(this->desc_, 2, dims), MLUOP_STATUS_SUCCESS);
  this->expect(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INVALID, {6, 5}, {5, 1});
}

TYPED_TEST(ApiTensorDescriptor, Reset) {
  ASSERT_EQ(this->set(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_HALF, {2, 3, 5, 7}), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(mluOpResetTensorDescriptor(this->desc_), MLUOP_STATUS_SUCCESS);
  this->expect(MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INVALID, {}, {});
  EXPECT_TRUE(same(*mluOpTensorDescriptor_t{this->desc_}, TensorDescriptor()));
}

TYPED_TEST(ApiTensorDescriptor, GettersSkipNull) {
  constexpr typename TestFixture::Functions f;
  ASSERT_EQ(this->set(MLUOP_LAYOUT_NC, MLUOP_DTYPE_HALF, {2, 3}), MLUOP_STATUS_SUCCESS);
  auto layout = MLUOP_LAYOUT_NCL;
  auto dtype = MLUOP_DTYPE_BFLOAT16;
  int count = -7;
  std::array<TypeParam, 2> dims{}, strides{};
  const auto kOk = MLUOP_STATUS_SUCCESS;
  EXPECT_EQ(f.get(this->desc_, nullptr, nullptr, nullptr, nullptr), kOk);
  EXPECT_EQ(f.get(this->desc_, &layout, nullptr, nullptr, nullptr), kOk);
  EXPECT_EQ(f.get(this->desc_, nullptr, &dtype, nullptr, nullptr), kOk);
  EXPECT_EQ(f.get_ex(this->desc_, nullptr, nullptr, nullptr, nullptr, nullptr), kOk);
  EXPECT_EQ(f.get_ex(this->desc_, nullptr, nullptr, &count, nullptr, nullptr), kOk);
  EXPECT_EQ(f.get_ex(this->desc_, nullptr, nullptr, nullptr, dims.data(), nullptr), kOk);
  EXPECT_EQ(f.get_ex(this->desc_, nullptr, nullptr, nullptr, nullptr, strides.data()), kOk);
  EXPECT_EQ(layout, MLUOP_LAYOUT_NC);
  EXPECT_EQ(dtype, MLUOP_DTYPE_HALF);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(dims, (std::array<TypeParam, 2>{2, 3}));
  EXPECT_EQ(strides, (std::array<TypeParam, 2>{3, 1}));
}

TEST(ApiTensorDescriptorLarge, DimensionsBeyondInt) {
  const int64_t large = int64_t{1} << 40;
  const Descriptor desc(MLUOP_DTYPE_HALF, {2, large});
  int64_t dims[2] = {}, strides[2] = {};
  EXPECT_EQ(mluOpGetTensorDescriptorEx_v2(desc, nullptr, nullptr, nullptr, dims, strides), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(dims[1], large);
  EXPECT_EQ(strides[0], large);
  EXPECT_EQ(mluOpGetTensorElementNum(desc), uint64_t{1} << 41);
}

// The largest sizes whose number of bytes is valid.
TEST(ApiTensorDescriptorLarge, JustFits) {
  EXPECT_EQ(mluOpGetTensorElementNum(Descriptor(MLUOP_DTYPE_INT8, {INT64_MAX})), uint64_t{INT64_MAX});
  EXPECT_EQ(mluOpGetTensorElementNum(Descriptor(MLUOP_DTYPE_FLOAT, {INT64_MAX / 4})), uint64_t{INT64_MAX / 4});
  const Descriptor desc;
  const int64_t dims[] = {2, 2}, strides[] = {INT64_MAX - 2, 1};
  EXPECT_EQ(mluOpSetTensorDescriptorEx_v2(desc, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT8, 2, dims, strides),
            MLUOP_STATUS_SUCCESS);
}

}  // namespace
}  // namespace mluop::test
