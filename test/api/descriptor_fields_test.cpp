// Fields of tensor descriptors other than shape and format: on-chip data type, factors of a quantization, pointer
// mode and scalars. Setters keep the other fields; a call that fails writes nothing.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <tuple>

#include "core/tensor.h"
#include "support/api.h"
#include "support/api_errors.h"

namespace mluop::test {
namespace {

constexpr auto kHost = MLUOP_POINTER_MODE_HOST;

// The values that the getters return.
struct Fields {
  bool operator==(const Fields&) const = default;

  mluOpDataType_t onchip_dtype = MLUOP_DTYPE_INVALID;
  int position = 0;
  float scale = 1;
  int offset = 0;
  mluOpPointerMode_t pointer_mode = MLUOP_POINTER_MODE_DEVICE;
};

Fields fields_of(mluOpTensorDescriptor_t desc) {
  Fields found{MLUOP_DTYPE_INT31, -7, -7, -7, kHost};
  require(mluOpGetTensorDescriptorOnchipDataType(desc, &found.onchip_dtype));
  require(mluOpGetTensorDescriptorPositionScaleAndOffset(desc, &found.position, &found.scale, &found.offset));
  require(mluOpGetTensorDescriptorPointerMode(desc, &found.pointer_mode));
  int position = -7;
  require(mluOpGetTensorDescriptorPosition(desc, &position));
  EXPECT_EQ(position, found.position);
  float scale = -7;
  require(mluOpGetTensorDescriptorPositionAndScale(desc, &position, &scale));
  EXPECT_EQ(std::tuple(position, scale), std::tuple(found.position, found.scale));
  return found;
}

TEST(ApiDescriptorFields, DefaultsSettersAndReset) {
  const Descriptor desc;
  Fields expected;
  EXPECT_EQ(fields_of(desc), expected);
  for (int dtype = MLUOP_DTYPE_INVALID; dtype <= MLUOP_DTYPE_BFLOAT16; ++dtype) {
    if (dtype == 10) continue;  // the gap in the enumeration
    expected.onchip_dtype = static_cast<mluOpDataType_t>(dtype);
    EXPECT_EQ(mluOpSetTensorDescriptorOnchipDataType(desc, expected.onchip_dtype), MLUOP_STATUS_SUCCESS);
    EXPECT_EQ(fields_of(desc), expected);
  }
  EXPECT_EQ(mluOpSetTensorDescriptorPositionScaleAndOffset(desc, -3, 1.5F, 7), MLUOP_STATUS_SUCCESS);
  std::tie(expected.position, expected.scale, expected.offset) = std::tuple(-3, 1.5F, 7);
  EXPECT_EQ(fields_of(desc), expected);
  constexpr int kLeast = std::numeric_limits<int>::min();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(mluOpSetTensorDescriptorPositionAndScale(desc, kLeast, kInfinity), MLUOP_STATUS_SUCCESS);
  std::tie(expected.position, expected.scale) = std::tuple(kLeast, kInfinity);
  EXPECT_EQ(fields_of(desc), expected);
  expected.position = 5;
  EXPECT_EQ(mluOpSetTensorDescriptorPosition(desc, 5), MLUOP_STATUS_SUCCESS);
  expected.pointer_mode = kHost;
  EXPECT_EQ(mluOpSetTensorDescriptorPointerMode(desc, kHost), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(fields_of(desc), expected);
  // The functions that set a shape keep the fields.
  const int dims[] = {2, 3}, strides[] = {1, 2};
  require(mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_NC, MLUOP_DTYPE_HALF, 2, dims));
  require(mluOpSetTensorDescriptorEx(desc, MLUOP_LAYOUT_NC, MLUOP_DTYPE_HALF, 2, dims, strides));
  require(mluOpSetTensorDescriptorDim(desc, 1, dims));
  EXPECT_EQ(fields_of(desc), expected);
  require(mluOpResetTensorDescriptor(desc));
  EXPECT_EQ(fields_of(desc), Fields());
}

TEST(ApiDescriptorFields, Errors) {
  const Descriptor desc;
  require(mluOpSetTensorDescriptorPositionScaleAndOffset(desc, 2, 3, 4));
  const Fields before = fields_of(desc);
  auto dtype = MLUOP_DTYPE_INT8;
  auto mode = kHost;
  int position = -7, offset = -7;
  float scale = -7;
  const auto set_dtype = [&](int value) {
    return mluOpSetTensorDescriptorOnchipDataType(desc, static_cast<mluOpDataType_t>(value));
  };
  const auto set_mode = [&](int value) {
    return mluOpSetTensorDescriptorPointerMode(desc, static_cast<mluOpPointerMode_t>(value));
  };
  const std::string dtypes = ", expected a value of mluOpDataType_t";
  const std::string modes = ", expected MLUOP_POINTER_MODE_HOST (0) or MLUOP_POINTER_MODE_DEVICE (1)";
  const std::string onchip = "TensorDescriptorOnchipDataType] ", pointer = "TensorDescriptorPointerMode] ",
                    both = "TensorDescriptorPositionAndScale] ", all = "TensorDescriptorPositionScaleAndOffset] ",
                    one = "TensorDescriptorPosition] ";
  expect_errors({
      {[&] { return mluOpSetTensorDescriptorOnchipDataType(nullptr, dtype); },
       "[mluOpSet" + onchip + "desc is null"},
      {[&] { return set_dtype(10); }, "[mluOpSet" + onchip + "onchip_dtype is 10" + dtypes},
      {[&] { return set_dtype(18); }, "[mluOpSet" + onchip + "onchip_dtype is 18" + dtypes},
      {[&] { return mluOpGetTensorDescriptorOnchipDataType(nullptr, &dtype); },
       "[mluOpGet" + onchip + "desc is null"},
      {[&] { return mluOpGetTensorDescriptorOnchipDataType(desc, nullptr); },
       "[mluOpGet" + onchip + "onchip_dtype is null"},
      {[&] { return mluOpSetTensorDescriptorPosition(nullptr, 1); }, "[mluOpSet" + one + "desc is null"},
      {[&] { return mluOpGetTensorDescriptorPosition(nullptr, &position); }, "[mluOpGet" + one + "desc is null"},
      {[&] { return mluOpGetTensorDescriptorPosition(desc, nullptr); }, "[mluOpGet" + one + "position is null"},
      {[&] { return mluOpSetTensorDescriptorPositionAndScale(nullptr, 1, 1); },
       "[mluOpSet" + both + "desc is null"},
      {[&] { return mluOpGetTensorDescriptorPositionAndScale(nullptr, &position, &scale); },
       "[mluOpGet" + both + "desc is null"},
      {[&] { return mluOpGetTensorDescriptorPositionAndScale(desc, nullptr, &scale); },
       "[mluOpGet" + both + "position is null"},
      {[&] { return mluOpGetTensorDescriptorPositionAndScale(desc, &position, nullptr); },
       "[mluOpGet" + both + "scale is null"},
      {[&] { return mluOpSetTensorDescriptorPositionScaleAndOffset(nullptr, 1, 1, 1); },
       "[mluOpSet" + all + "desc is null"},
      {[&] { return mluOpGetTensorDescriptorPositionScaleAndOffset(nullptr, &position, &scale, &offset); },
       "[mluOpGet" + all + "desc is null"},
      {[&] { return mluOpGetTensorDescriptorPositionScaleAndOffset(desc, nullptr, &scale, &offset); },
       "[mluOpGet" + all + "position is null"},
      {[&] { return mluOpGetTensorDescriptorPositionScaleAndOffset(desc, &position, nullptr, &offset); },
       "[mluOpGet" + all + "scale is null"},
      {[&] { return mluOpGetTensorDescriptorPositionScaleAndOffset(desc, &position, &scale, nullptr); },
       "[mluOpGet" + all + "offset is null"},
      {[&] { return mluOpSetTensorDescriptorPointerMode(nullptr, kHost); },
       "[mluOpSet" + pointer + "desc is null"},
      {[&] { return set_mode(2); }, "[mluOpSet" + pointer + "pointer_mode is 2" + modes},
      {[&] { return mluOpGetTensorDescriptorPointerMode(nullptr, &mode); },
       "[mluOpGet" + pointer + "desc is null"},
      {[&] { return mluOpGetTensorDescriptorPointerMode(desc, nullptr); },
       "[mluOpGet" + pointer + "pointer_mode is null"},
  });
  EXPECT_EQ(fields_of(desc), before);
  EXPECT_EQ(std::tuple(dtype, mode, position, scale, offset), std::tuple(MLUOP_DTYPE_INT8, kHost, -7, -7.0F, -7));
}

// Each function that sets a shape accepts 0 dimensions in HOST mode, without arrays; the tensor has one element.
TEST(ApiDescriptorFields, ScalarsNeedTheHostMode) {
  const auto layout = MLUOP_LAYOUT_ARRAY;
  const auto dtype = MLUOP_DTYPE_FLOAT;
  const std::function<mluOpStatus_t(mluOpTensorDescriptor_t)> kSetters[] = {
      [=](auto desc) { return mluOpSetTensorDescriptor(desc, layout, dtype, 0, nullptr); },
      [=](auto desc) { return mluOpSetTensorDescriptor_v2(desc, layout, dtype, 0, nullptr); },
      [=](auto desc) { return mluOpSetTensorDescriptorEx(desc, layout, dtype, 0, nullptr, nullptr); },
      [=](auto desc) { return mluOpSetTensorDescriptorEx_v2(desc, layout, dtype, 0, nullptr, nullptr); },
      [=](auto desc) { return mluOpSetTensorDescriptorDim(desc, 0, nullptr); },
      [=](auto desc) { return mluOpSetTensorDescriptorDim_v2(desc, 0, nullptr); },
  };
  for (const auto& set : kSetters) {
    SCOPED_TRACE(&set - kSetters);
    const Descriptor desc(dtype, {2, 3});
    EXPECT_EQ(set(desc), MLUOP_STATUS_BAD_PARAM);
    EXPECT_EQ(mluOpGetTensorElementNum(desc), 6U);
    require(mluOpSetTensorDescriptorPointerMode(desc, kHost));
    EXPECT_EQ(mluOpGetTensorElementNum(desc), 6U);
    EXPECT_EQ(set(desc), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    int count = -7;
    require(mluOpGetTensorDescriptor(desc, nullptr, nullptr, &count, nullptr));
    EXPECT_EQ(count, 0);
    // The tensor stays a scalar in DEVICE mode, until a shape is set.
    for (const auto mode : {kHost, MLUOP_POINTER_MODE_DEVICE}) {
      require(mluOpSetTensorDescriptorPointerMode(desc, mode));
      EXPECT_EQ(mluOpGetTensorElementNum(desc), 1U);
      EXPECT_EQ(byte_count(*mluOpTensorDescriptor_t{desc}), 4);
      EXPECT_TRUE(is_contiguous(*mluOpTensorDescriptor_t{desc}));
    }
    const int dims[] = {4};
    require(mluOpSetTensorDescriptor(desc, layout, dtype, 1, dims));
    EXPECT_EQ(mluOpGetTensorElementNum(desc), 4U);
  }
  const Descriptor desc;
  require(mluOpSetTensorDescriptorPointerMode(desc, kHost));
  EXPECT_EQ(mluOpGetTensorElementNum(desc), 0U);
  expect_failure([&] { return mluOpSetTensorDescriptor(desc, layout, dtype, -1, nullptr); },
                 MLUOP_STATUS_BAD_PARAM, "[mluOpSetTensorDescriptor] dimNb is -1, expected 0 to 8");
}

}  // namespace
}  // namespace mluop::test
