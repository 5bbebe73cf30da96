// Requirements of mluOpMaskedIm2colForward and its workspace query on kernels and sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>
#include <cstdint>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

using ::testing::StartsWith;

// data_col is [18, 20].
cases::Case make(int64_t masks = 20) {
  return make_case("masked_im2col_forward", MLUOP_DTYPE_FLOAT,
                   {{"channels", 2}, {"height", 5}, {"width", 6}, {"mask_cnt", masks}});
}

// The rules shared by the operator and its query.
TEST(OpsMaskedIm2colForwardErrors, Sizes) {
  expect_errors(
      make(),
      {
          {set("kernel_h", 0), "kernel_h is 0, expected at least 1"},
          {set("kernel_h", INT_MIN), "kernel_h is -2147483648, expected at least 1"},
          {set("kernel_w", -1), "kernel_w is -1, expected at least 1"},
          {all_of({set("kernel_h", -3), set("kernel_w", -3)}), "kernel_h is -3, expected at least 1"},
          {set("kernel_h", 2), "data_col dim 0 is 18, expected 12"},
          {all_of({set("kernel_h", INT_MAX), set("kernel_w", INT_MAX)}),
           "data_col dim 0 is 18, expected 9223372028264841218"},
          {set_shape("feature", {1, int64_t{1} << 60, 1, 1}),
           "feature dim 1 is 1152921504606846976, expected fewer than 2^63 / (kernel_h x kernel_w)"},
          {set_shape("feature", {1, 2, 0, 6}), "feature has shape [1, 2, 0, 6], expected no dimension of 0"},
          {set_shape("feature", {1, 2, 5, 0}), "feature has shape [1, 2, 5, 0], expected no dimension of 0"},
          {set_shape("feature", {1, 0, 5, 6}), "feature has shape [1, 0, 5, 6], expected no dimension of 0"},
          {all_of({set_shape("mask_h_idx", {0}), set_shape("mask_w_idx", {0})}),
           "data_col dim 1 is 20, expected 0"},
      },
      {.query = Query::kFails});
}

// The bytes of each tensor fit int64_t, the workspace does not.
TEST(OpsMaskedIm2colForwardErrors, WorkspaceExceedsInt64) {
  constexpr int64_t kExtent = int64_t{1} << 30;
  const Handle handle(MLUOP_OMP_ALGORITHM_DEVICE);
  OperatorCall call(handle, make());
  all_of({set_shape("feature", {1, 1, kExtent, kExtent}), set_shape("mask_h_idx", {kExtent}),
          set_shape("mask_w_idx", {kExtent}), set_shape("data_col", {kExtent, kExtent}), set("kernel_h", kExtent),
          set("kernel_w", 1)})(call);
  EXPECT_EQ(call.query(), MLUOP_STATUS_BAD_PARAM);
  EXPECT_THAT(mluOpOmpGetLastError(), StartsWith("[mluOpGetMaskedIm2colForwardWorkspaceSize] the size in bytes of "
                                                 "scratch buffer data_col "));
}

// Without masks the call reads and writes no data, and needs no workspace.
TEST(OpsMaskedIm2colForwardErrors, NoDataWithoutMasks) {
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    OperatorCall call(handle, make(0));
    for (cases::Operand& tensor : call.arguments.tensors) tensor.data = nullptr;
    EXPECT_EQ(call.arguments.workspace_size, 0U);
    EXPECT_EQ(call.query(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  }
}

}  // namespace
}  // namespace mluop::test
