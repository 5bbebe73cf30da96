// Requirements of mluOpMaskedCol2imForward and its workspace query on sizes, masks and workspace.
#include <gtest/gtest.h>

#include <climits>
#include <vector>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

// col is [2, 20].
cases::Case make(int64_t masks = 20) {
  return make_case("masked_col2im_forward", MLUOP_DTYPE_FLOAT,
                   {{"channels", 2}, {"height", 5}, {"width", 6}, {"mask_cnt", masks}});
}

// The rules shared by the operator and its query.
TEST(OpsMaskedCol2imForwardErrors, EmptyImages) {
  expect_errors(make(),
                {{set_shape("im", {1, 2, 0, 6}), "im has shape [1, 2, 0, 6], expected no dimension of 0"},
                 {set_shape("im", {1, 2, 5, 0}), "im has shape [1, 2, 5, 0], expected no dimension of 0"},
                 {all_of({set_shape("im", {1, 0, 5, 6}), set_shape("col", {0, 20})}),
                  "im has shape [1, 0, 5, 6], expected no dimension of 0"}},
                {.query = Query::kFails});
}

// The operator needs no workspace, but checks a workspace that is passed.
TEST(OpsMaskedCol2imForwardErrors, Workspace) {
  const auto null_workspace = [](OperatorCall& call) { call.arguments.workspace_size = 1; };
  expect_errors(make(), {{null_workspace, "workspace is null"}}, {.query = Query::kSucceeds});
}

TEST(OpsMaskedCol2imForwardErrors, Masks) {
  expect_errors(make(),
                {{set_element("mask_h_idx", 3, -1), "mask_h_idx[3] is -1, expected 0 to 4"},
                 {set_element("mask_h_idx", 19, 5), "mask_h_idx[19] is 5, expected 0 to 4"},
                 {set_element("mask_w_idx", 0, INT_MIN), "mask_w_idx[0] is -2147483648, expected 0 to 5"},
                 {set_element("mask_w_idx", 19, 6), "mask_w_idx[19] is 6, expected 0 to 5"},
                 {all_of({set_element("mask_w_idx", 7, INT_MAX), set_element("mask_h_idx", 8, 9)}),
                  "mask_w_idx[7] is 2147483647, expected 0 to 5"}},
                {.query = Query::kSucceeds});
}

// Without masks col and masks may be null; the image becomes zero.
TEST(OpsMaskedCol2imForwardErrors, NoMasks) {
  const Handle handle;
  OperatorCall call(handle, make(0));
  EXPECT_EQ(call.arguments.workspace_size, 0U);
  for (const char* input : {"col", "mask_h_idx", "mask_w_idx"}) call[input].data = nullptr;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.outputs(), std::vector<std::byte>(60 * sizeof(float)));
}

}  // namespace
}  // namespace mluop::test
