// The sparse convolution descriptor: creation, every rule of its values.
#include <gtest/gtest.h>

#include <climits>
#include <functional>

#include "support/api.h"
#include "support/api_errors.h"

namespace mluop::test {
namespace {

// The arguments of mluOpSetSparseConvolutionDescriptor.
struct Parameters {
  int dimNb = 5, batch_size = 2;
  std::vector<int> pad = {1, 0, 1}, stride = {2, 2, 1}, dilation = {1, 1, 3}, input_space = {5, 6, 7},
                   filter_space = {3, 3, 1}, output_space = {3, 2, 7};
  int sub_m = 0, transpose = 0, inverse = 0;

  mluOpStatus_t set(mluOpSparseConvolutionDescriptor_t desc) const {
    const auto data = [](const std::vector<int>& values) { return values.empty() ? nullptr : values.data(); };
    return mluOpSetSparseConvolutionDescriptor(desc, dimNb, batch_size, data(pad), data(stride), data(dilation),
                                               data(input_space), data(filter_space), data(output_space), sub_m,
                                               transpose, inverse);
  }
};

TEST(ApiSparseConvolutionDescriptor, NullPointers) {
  SparseConvolutionDescriptor desc;
  int count = 5;
  expect_errors({
      {[] { return mluOpCreateSparseConvolutionDescriptor(nullptr); },
       "[mluOpCreateSparseConvolutionDescriptor] sparse_conv_desc is null"},
      {[] { return mluOpDestroySparseConvolutionDescriptor(nullptr); },
       "[mluOpDestroySparseConvolutionDescriptor] sparse_conv_desc is null", MLUOP_STATUS_EXECUTION_FAILED},
      {[&] { return mluOpGetSparseConvolutionNumActOut(nullptr, &count); },
       "[mluOpGetSparseConvolutionNumActOut] sparse_conv_desc is null", MLUOP_STATUS_NOT_INITIALIZED},
      {[&] { return mluOpGetSparseConvolutionNumActOut(desc, nullptr); },
       "[mluOpGetSparseConvolutionNumActOut] num_act_out is null", MLUOP_STATUS_NOT_INITIALIZED},
      {[] { return Parameters().set(nullptr); }, "[mluOpSetSparseConvolutionDescriptor] sparse_conv_desc is null"},
  });
  EXPECT_EQ(count, 5);
}

TEST(ApiSparseConvolutionDescriptor, Values) {
  const struct {
    std::function<void(Parameters&)> change;
    const char* message;
  } rows[] = {
      {[](auto& v) { v.dimNb = 3; }, "dimNb is 3, expected 4 or 5"},
      {[](auto& v) { v.dimNb = 6; }, "dimNb is 6, expected 4 or 5"},
      {[](auto& v) { v.batch_size = 0; }, "batch_size is 0, expected at least 1"},
      {[](auto& v) { v.batch_size = INT_MIN; }, "batch_size is -2147483648, expected at least 1"},
      {[](auto& v) { v.pad = {}; }, "pad is null"},
      {[](auto& v) { v.stride = {}; }, "stride is null"},
      {[](auto& v) { v.dilation = {}; }, "dilation is null"},
      {[](auto& v) { v.input_space = {}; }, "input_space is null"},
      {[](auto& v) { v.filter_space = {}; }, "filter_space is null"},
      {[](auto& v) { v.output_space = {}; }, "output_space is null"},
      {[](auto& v) { v.pad[1] = -1; }, "pad[1] is -1, expected at least 0"},
      {[](auto& v) { v.stride[2] = 0; }, "stride[2] is 0, expected at least 1"},
      {[](auto& v) { v.dilation[0] = 0; }, "dilation[0] is 0, expected at least 1"},
      {[](auto& v) { v.input_space[2] = 0; }, "input_space[2] is 0, expected at least 1"},
      {[](auto& v) { v.filter_space[1] = -3; }, "filter_space[1] is -3, expected at least 1"},
      {[](auto& v) { v.output_space[0] = 0; }, "output_space[0] is 0, expected at least 1"},
      {[](auto& v) { v.transpose = 1; }, "transpose is 1, expected 0"},
      {[](auto& v) { v.inverse = -1; }, "inverse is -1, expected 0"},
  };
  SparseConvolutionDescriptor desc;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.message);
    Parameters values;
    row.change(values);
    expect_failure([&] { return values.set(desc); }, MLUOP_STATUS_BAD_PARAM,
                   std::string("[mluOpSetSparseConvolutionDescriptor] ") + row.message);
  }
}

TEST(ApiSparseConvolutionDescriptor, ValidValues) {
  SparseConvolutionDescriptor desc;
  int count = 5;
  ASSERT_EQ(mluOpGetSparseConvolutionNumActOut(desc, &count), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(count, 0);
  Parameters values;
  EXPECT_EQ(values.set(desc), MLUOP_STATUS_SUCCESS);
  // Any value other than 0 is submanifold.
  values.sub_m = -7;
  EXPECT_EQ(values.set(desc), MLUOP_STATUS_SUCCESS);
  // Two spatial dimensions: the arrays have two values.
  values = Parameters();
  values.dimNb = 4;
  for (auto* array : {&values.pad, &values.stride, &values.dilation, &values.input_space, &values.filter_space,
                      &values.output_space}) {
    array->resize(2);
    array->shrink_to_fit();
  }
  EXPECT_EQ(values.set(desc), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

}  // namespace
}  // namespace mluop::test
