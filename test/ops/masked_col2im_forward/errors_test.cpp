// Every rule that mluOpMaskedCol2imForward and its workspace query check.
#include <gtest/gtest.h>

#include <climits>
#include <cstdint>
#include <vector>

#include "ops/masked_col2im_forward/call.h"
#include "support/environment.h"
#include "support/error_table.h"

namespace mluop::test {
namespace {

using Call = MaskedCol2imCall<uint32_t>;
using Table = ErrorTable<Call>;

constexpr MaskedCol2imSizes kSizes = {2, 5, 6, 20};  // col is [2, 20]

MaskedCol2imInputs<uint32_t> valid_inputs(const MaskedCol2imSizes& sizes = kSizes) {
  auto random = seeded_random();
  return random_masked_col2im<uint32_t>(sizes, random);
}

// The rules that operator and query share.
TEST(OpsMaskedCol2imForwardErrors, Shapes) {
  const auto kNchw = MLUOP_LAYOUT_NCHW;
  const auto kFloat = MLUOP_DTYPE_FLOAT, kHalf = MLUOP_DTYPE_HALF, kInt = MLUOP_DTYPE_INT32;
  const Table::Rows rows = {
      {"null handle", set(&Call::handle, nullptr), "handle is null"},
      {"null col desc", set(&Call::col_desc, nullptr), "col_desc is null"},
      {"null mask_h desc", set(&Call::mask_h_idx_desc, nullptr), "mask_h_idx_desc is null"},
      {"null mask_w desc", set(&Call::mask_w_idx_desc, nullptr), "mask_w_idx_desc is null"},
      {"null im desc", set(&Call::im_desc, nullptr), "im_desc is null"},
      {"empty descriptor", set(&Call::col_desc, Descriptor()),
       "col has data type INVALID, expected HALF or FLOAT"},
      {"int col", set(&Call::col_desc, Descriptor(kInt, {2, 20})),
       "col has data type INT32, expected HALF or FLOAT"},
      {"half col, float im", set(&Call::col_desc, Descriptor(kHalf, {2, 20})),
       "im has data type FLOAT, expected HALF"},
      {"col dims", set(&Call::col_desc, Descriptor(kFloat, {2, 20, 1})), "col has 3 dimensions, expected 2"},
      {"col channels", set(&Call::col_desc, Descriptor(kFloat, {3, 20})), "im dim 1 is 2, expected 3"},
      {"col masks", set(&Call::col_desc, Descriptor(kFloat, {2, 21})), "mask_h_idx dim 0 is 20, expected 21"},
      {"col strides", set(&Call::col_desc, Descriptor::with_strides(kFloat, {2, 20}, {21, 1})),
       "col has strides [21, 1], expected a contiguous tensor of shape [2, 20]", MLUOP_STATUS_NOT_SUPPORTED},
      {"mask_h dtype", set(&Call::mask_h_idx_desc, Descriptor(kFloat, {20})),
       "mask_h_idx has data type FLOAT, expected INT32"},
      {"mask_w dtype", set(&Call::mask_w_idx_desc, Descriptor(MLUOP_DTYPE_INT64, {20})),
       "mask_w_idx has data type INT64, expected INT32"},
      {"mask_h dims", set(&Call::mask_h_idx_desc, Descriptor(kInt, {20, 1})),
       "mask_h_idx has 2 dimensions, expected 1"},
      {"fewer mask_h", set(&Call::mask_h_idx_desc, Descriptor(kInt, {19})), "mask_h_idx dim 0 is 19, expected 20"},
      {"fewer mask_w", set(&Call::mask_w_idx_desc, Descriptor(kInt, {19})), "mask_w_idx dim 0 is 19, expected 20"},
      {"mask_w strides", set(&Call::mask_w_idx_desc, Descriptor::with_strides(kInt, {20}, {2})),
       "mask_w_idx has strides [2], expected a contiguous tensor of shape [20]", MLUOP_STATUS_NOT_SUPPORTED},
      {"im dtype", set(&Call::im_desc, Descriptor(kHalf, {1, 2, 5, 6}, kNchw)),
       "im has data type HALF, expected FLOAT"},
      {"NHWC im", set(&Call::im_desc, Descriptor(kFloat, {1, 5, 6, 2}, MLUOP_LAYOUT_NHWC)),
       "im has layout NHWC, expected NCHW"},
      {"im dims", set(&Call::im_desc, Descriptor(kFloat, {2, 5, 6}, kNchw)), "im has 3 dimensions, expected 4"},
      {"two batches", set(&Call::im_desc, Descriptor(kFloat, {2, 2, 5, 6}, kNchw)), "im dim 0 is 2, expected 1"},
      {"no rows", set(&Call::im_desc, Descriptor(kFloat, {1, 2, 0, 6}, kNchw)),
       "im has shape [1, 2, 0, 6], expected no dimension of 0"},
      {"no columns", set(&Call::im_desc, Descriptor(kFloat, {1, 2, 5, 0}, kNchw)),
       "im has shape [1, 2, 5, 0], expected no dimension of 0"},
      {"no channels",
       set_all(set(&Call::im_desc, Descriptor(kFloat, {1, 0, 5, 6}, kNchw)),
               set(&Call::col_desc, Descriptor(kFloat, {0, 20}))),
       "im has shape [1, 0, 5, 6], expected no dimension of 0"},
      {"im strides", set(&Call::im_desc, Descriptor::with_strides(kFloat, {1, 2, 5, 6}, {60, 1, 12, 2}, kNchw)),
       "im has strides [60, 1, 12, 2], expected a contiguous tensor of shape [1, 2, 5, 6]",
       MLUOP_STATUS_NOT_SUPPORTED},
  };
  expect_errors(Table{.inputs = valid_inputs(), .functions = {Call::kOperator, Call::kQuery}, .rows = rows});
}

TEST(OpsMaskedCol2imForwardErrors, Data) {
  const auto at = [](GuardedBuffer<int32_t> Call::*masks, size_t k, int32_t value) {
    return [=](Call& c) { (c.*masks)[k] = value; };
  };
  const Table::Rows rows = {
      {"null col", set(&Call::col, nullptr), "col is null, expected the data of a tensor [2, 20]"},
      {"null mask_h", set(&Call::mask_h_idx, nullptr), "mask_h_idx is null, expected the data of a tensor [20]"},
      {"null mask_w", set(&Call::mask_w_idx, nullptr), "mask_w_idx is null, expected the data of a tensor [20]"},
      {"null im", set(&Call::im, nullptr), "im is null, expected the data of a tensor [1, 2, 5, 6]"},
      {"col in im", [](auto& c) { c.col = c.im_buffer.data() + 10; },
       "im overlaps col, expected memory of its own"},
      {"mask_h in im", [](auto& c) { c.mask_h_idx = c.im_buffer.data() + 59; },
       "im overlaps mask_h_idx, expected memory of its own"},
      {"null workspace of a size", set(&Call::workspace_size, size_t{1}), "workspace is null"},
      {"workspace in im",
       [](auto& c) {
         c.workspace = c.im_buffer.data();
         c.workspace_size = 1;
       },
       "im overlaps workspace, expected memory of its own"},
      {"negative h", at(&Call::mask_h_buffer, 3, -1), "mask_h_idx[3] is -1, expected 0 to 4"},
      {"h of the height", at(&Call::mask_h_buffer, 19, 5), "mask_h_idx[19] is 5, expected 0 to 4"},
      {"negative w", at(&Call::mask_w_buffer, 0, INT_MIN), "mask_w_idx[0] is -2147483648, expected 0 to 5"},
      {"w of the width", at(&Call::mask_w_buffer, 19, 6), "mask_w_idx[19] is 6, expected 0 to 5"},
      {"the first of several", set_all(at(&Call::mask_w_buffer, 7, INT_MAX), at(&Call::mask_h_buffer, 8, 9)),
       "mask_w_idx[7] is 2147483647, expected 0 to 5"},
  };
  expect_errors(Table{.inputs = valid_inputs(), .accepted_by = {Call::kQuery}, .rows = rows});
}

TEST(OpsMaskedCol2imForwardErrors, QueryWithoutResult) {
  expect_errors(
      Table{.inputs = valid_inputs(),
            .functions = {Call::kQuery},
            .rows = {{"null workspace_size", set(&Call::queried_size, nullptr), "workspace_size is null"}}});
}

// Any layout of col and masks is accepted.
TEST(OpsMaskedCol2imForwardErrors, Layouts) {
  const Handle handle;
  Call call(handle, valid_inputs());
  const Descriptor masks(MLUOP_DTYPE_INT32, {kSizes.mask_cnt}, MLUOP_LAYOUT_NCHW);
  const Descriptor col(MLUOP_DTYPE_FLOAT, {kSizes.channels, kSizes.mask_cnt}, MLUOP_LAYOUT_NHWC);
  call.mask_h_idx_desc = call.mask_w_idx_desc = masks;
  call.col_desc = col;
  EXPECT_EQ(call.query(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

// Without masks col and masks may be null; the image becomes zero.
TEST(OpsMaskedCol2imForwardErrors, NoMasks) {
  const Handle handle;
  Call call(handle, valid_inputs({2, 5, 6, 0}));
  call.col = call.mask_h_idx = call.mask_w_idx = nullptr;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.im_buffer.values(), std::vector<uint32_t>(60));
}

}  // namespace
}  // namespace mluop::test
