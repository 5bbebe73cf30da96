// What mluOpMaskedIm2colForward and its workspace query require of kernels, sizes and workspace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

using ::testing::StartsWith;

// data_col is [18, 20].
cases::Case make(int64_t masks = 20) {
  return make_case("masked_im2col_forward", MLUOP_DTYPE_FLOAT,
                   {{"channels", 2}, {"height", 5}, {"width", 6}, {"mask_cnt", masks}});
}

// The rules that operator and query share.
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

// Overlaps of one byte, and workspaces that the native algorithm does not need.
TEST(OpsMaskedIm2colForwardErrors, Overlaps) {
  const auto feature_ends_in_output = [](OperatorCall& call) {
    call["feature"].data = call["data_col"].data - call["feature"].bytes() + 1;
  };
  const auto output_ends_in_masks = [](OperatorCall& call) {
    call["mask_h_idx"].data = call["data_col"].data + call["data_col"].bytes() - 1;
  };
  const auto workspace_in_output = [](OperatorCall& call) {
    call.arguments.workspace = call["data_col"].data + 400;
    call.arguments.workspace_size = 1;
  };
  const auto unlimited_workspace = [](OperatorCall& call) {
    call.arguments.workspace = std::min(call["feature"].data, call["data_col"].data);
    call.arguments.workspace_size = SIZE_MAX;
  };
  const auto null_workspace = [](OperatorCall& call) {
    call.arguments.workspace = nullptr;
    call.arguments.workspace_size = 1;
  };
  expect_errors(make(),
                {{feature_ends_in_output, "data_col overlaps feature, expected memory of its own"},
                 {output_ends_in_masks, "data_col overlaps mask_h_idx, expected memory of its own"}},
                {.query = Query::kSucceeds});
  expect_errors(make(),
                {{null_workspace, "workspace is null"},
                 {workspace_in_output, "data_col overlaps workspace, expected memory of its own"},
                 {unlimited_workspace, "data_col overlaps workspace, expected memory of its own"}},
                {.algorithms = {MLUOP_OMP_ALGORITHM_NATIVE}, .query = Query::kSucceeds});
}

TEST(OpsMaskedIm2colForwardErrors, WorkspaceOfTheDeviceAlgorithm) {
  const Handle device(MLUOP_OMP_ALGORITHM_DEVICE);
  const size_t needed = OperatorCall(device, make()).arguments.workspace_size;
  const std::string expected = ", expected at least " + std::to_string(needed);
  const auto in_workspace = [](const char* tensor) -> Change {
    return [=](OperatorCall& call) { call[tensor].data = static_cast<std::byte*>(call.arguments.workspace); };
  };
  const auto no_workspace = [](OperatorCall& call) {
    call.arguments.workspace = nullptr;
    call.arguments.workspace_size = 0;
  };
  expect_errors(make(),
                {{[](OperatorCall& call) { call.arguments.workspace = nullptr; }, "workspace is null"},
                 {[](OperatorCall& call) { --call.arguments.workspace_size; },
                  "workspace_size is " + std::to_string(needed - 1) + expected},
                 {no_workspace, "workspace_size is 0" + expected},
                 {[](OperatorCall& call) { call.arguments.workspace = call["data_col"].data + 400; },
                  "data_col overlaps workspace, expected memory of its own"},
                 {in_workspace("feature"), "workspace overlaps feature, expected memory of its own"},
                 {in_workspace("mask_w_idx"), "workspace overlaps mask_w_idx, expected memory of its own"}},
                {.algorithms = {MLUOP_OMP_ALGORITHM_DEVICE}, .query = Query::kSucceeds});
}

// Each tensor fits int64_t, the workspace does not.
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

TEST(OpsMaskedIm2colForwardErrors, QueryWithoutResult) {
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    const OperatorCall call(handle, make());
    EXPECT_EQ(call.op().query(call.arguments, nullptr), MLUOP_STATUS_BAD_PARAM);
    EXPECT_STREQ(mluOpOmpGetLastError(), "[mluOpGetMaskedIm2colForwardWorkspaceSize] workspace_size is null");
  }
}

void expect_success(const OperatorCall& call) {
  EXPECT_EQ(call.query(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

// The masks may have any layout.
TEST(OpsMaskedIm2colForwardErrors, LayoutsOfMasks) {
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    OperatorCall call(handle, make());
    for (const char* masks : {"mask_h_idx", "mask_w_idx"}) {
      set_desc(masks, Descriptor(MLUOP_DTYPE_INT32, {20}, MLUOP_LAYOUT_NCHW))(call);
    }
    expect_success(call);
  }
}

// Without masks the call reads and writes nothing, and needs no workspace.
TEST(OpsMaskedIm2colForwardErrors, NoDataWithoutMasks) {
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    OperatorCall call(handle, make(0));
    for (cases::Operand& tensor : call.arguments.tensors) tensor.data = nullptr;
    EXPECT_EQ(call.arguments.workspace_size, 0U);
    expect_success(call);
  }
}

// Tensors and workspace that are adjacent in memory do not overlap; the two mask tensors may.
TEST(OpsMaskedIm2colForwardErrors, AdjacentTensorsAreAccepted) {
  const Handle handle;
  OperatorCall call(handle, make());
  std::vector<std::byte> memory(static_cast<size_t>(call["feature"].bytes() + call["data_col"].bytes()));
  call["feature"].data = memory.data();
  call["data_col"].data = memory.data() + call["feature"].bytes();
  call["mask_w_idx"].data = call["mask_h_idx"].data;
  call.arguments.workspace = memory.data() + memory.size();
  call.arguments.workspace_size = 64;
  expect_success(call);
}

}  // namespace
}  // namespace mluop::test
