// Every rule that mluOpMaskedIm2colForward and its workspace query check.
#include <gtest/gtest.h>

#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/masked_im2col_forward/call.h"
#include "support/environment.h"
#include "support/error_table.h"

namespace mluop::test {
namespace {

using Call = MaskedIm2colCall<uint32_t>;
using Table = ErrorTable<Call>;

constexpr MaskedIm2colSizes kSizes = {2, 5, 6, 20, 3, 3, 1, 1};  // data_col is [18, 20]

MaskedIm2colInputs<uint32_t> valid_inputs(const MaskedIm2colSizes& sizes = kSizes) {
  auto random = seeded_random();
  return random_masked_im2col<uint32_t>(sizes, random);
}

// The rules that operator and query share.
TEST(OpsMaskedIm2colForwardErrors, Shapes) {
  const auto kNchw = MLUOP_LAYOUT_NCHW;
  const auto kFloat = MLUOP_DTYPE_FLOAT, kHalf = MLUOP_DTYPE_HALF, kInt = MLUOP_DTYPE_INT32;

  const Table::Rows rows = {
      {"null handle", set(&Call::handle, nullptr), "handle is null"},
      {"null feature desc", set(&Call::feature_desc, nullptr), "feature_desc is null"},
      {"null mask_h desc", set(&Call::mask_h_idx_desc, nullptr), "mask_h_idx_desc is null"},
      {"null mask_w desc", set(&Call::mask_w_idx_desc, nullptr), "mask_w_idx_desc is null"},
      {"null data_col desc", set(&Call::data_col_desc, nullptr), "data_col_desc is null"},
      {"empty descriptor", set(&Call::feature_desc, Descriptor()),
       "feature has data type INVALID, expected HALF or FLOAT"},
      {"int feature", set(&Call::feature_desc, Descriptor(kInt, {1, 2, 5, 6}, kNchw)),
       "feature has data type INT32, expected HALF or FLOAT"},
      {"double feature", set(&Call::feature_desc, Descriptor(MLUOP_DTYPE_DOUBLE, {1, 2, 5, 6}, kNchw)),
       "feature has data type DOUBLE, expected HALF or FLOAT"},
      {"half feature, float data_col", set(&Call::feature_desc, Descriptor(kHalf, {1, 2, 5, 6}, kNchw)),
       "data_col has data type FLOAT, expected HALF"},
      {"NHWC feature", set(&Call::feature_desc, Descriptor(kFloat, {1, 5, 6, 2}, MLUOP_LAYOUT_NHWC)),
       "feature has layout NHWC, expected NCHW"},
      {"ARRAY feature", set(&Call::feature_desc, Descriptor(kFloat, {1, 2, 5, 6})),
       "feature has layout ARRAY, expected NCHW"},
      {"feature dims", set(&Call::feature_desc, Descriptor(kFloat, {2, 5, 6}, kNchw)),
       "feature has 3 dimensions, expected 4"},
      {"two batches", set(&Call::feature_desc, Descriptor(kFloat, {2, 2, 5, 6}, kNchw)),
       "feature dim 0 is 2, expected 1"},
      {"no batch", set(&Call::feature_desc, Descriptor(kFloat, {0, 2, 5, 6}, kNchw)),
       "feature dim 0 is 0, expected 1"},
      {"no channels", set(&Call::feature_desc, Descriptor(kFloat, {1, 0, 5, 6}, kNchw)),
       "feature has shape [1, 0, 5, 6], expected no dimension of 0"},
      {"no rows", set(&Call::feature_desc, Descriptor(kFloat, {1, 2, 0, 6}, kNchw)),
       "feature has shape [1, 2, 0, 6], expected no dimension of 0"},
      {"no columns", set(&Call::feature_desc, Descriptor(kFloat, {1, 2, 5, 0}, kNchw)),
       "feature has shape [1, 2, 5, 0], expected no dimension of 0"},
      {"feature channels", set(&Call::feature_desc, Descriptor(kFloat, {1, 3, 5, 6}, kNchw)),
       "data_col dim 0 is 18, expected 27"},
      {"rows exceed int64", set(&Call::feature_desc, Descriptor(kFloat, {1, int64_t{1} << 60, 1, 1}, kNchw)),
       "feature dim 1 is 1152921504606846976, expected fewer than 2^63 / (kernel_h x kernel_w)"},
      {"feature strides",
       set(&Call::feature_desc, Descriptor::with_strides(kFloat, {1, 2, 5, 6}, {60, 1, 12, 2}, kNchw)),
       "feature has strides [60, 1, 12, 2], expected a contiguous tensor of shape [1, 2, 5, 6]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"mask_h dtype", set(&Call::mask_h_idx_desc, Descriptor(kFloat, {20})),
       "mask_h_idx has data type FLOAT, expected INT32"},
      {"mask_w dtype", set(&Call::mask_w_idx_desc, Descriptor(MLUOP_DTYPE_INT64, {20})),
       "mask_w_idx has data type INT64, expected INT32"},
      {"mask_h dims", set(&Call::mask_h_idx_desc, Descriptor(kInt, {20, 1})),
       "mask_h_idx has 2 dimensions, expected 1"},
      {"mask_w dims", set(&Call::mask_w_idx_desc, Descriptor(kInt, {20, 1})),
       "mask_w_idx has 2 dimensions, expected 1"},
      {"fewer mask_h", set(&Call::mask_h_idx_desc, Descriptor(kInt, {19})), "mask_w_idx dim 0 is 20, expected 19"},
      {"fewer mask_w", set(&Call::mask_w_idx_desc, Descriptor(kInt, {19})), "mask_w_idx dim 0 is 19, expected 20"},
      {"no mask_w", set(&Call::mask_w_idx_desc, Descriptor(kInt, {0})), "mask_w_idx dim 0 is 0, expected 20"},
      {"no masks, but data_col has",
       set_all(set(&Call::mask_h_idx_desc, Descriptor(kInt, {0})),
               set(&Call::mask_w_idx_desc, Descriptor(kInt, {0}))),
       "data_col dim 1 is 20, expected 0"},
      {"mask_h strides", set(&Call::mask_h_idx_desc, Descriptor::with_strides(kInt, {20}, {2})),
       "mask_h_idx has strides [2], expected a contiguous tensor of shape [20]", MLUOP_STATUS_NOT_SUPPORTED},
      {"mask_w strides", set(&Call::mask_w_idx_desc, Descriptor::with_strides(kInt, {20}, {2})),
       "mask_w_idx has strides [2], expected a contiguous tensor of shape [20]", MLUOP_STATUS_NOT_SUPPORTED},
      {"zero kernel_h", [](auto& c) { c.sizes.kernel_h = 0; }, "kernel_h is 0, expected at least 1"},
      {"smallest kernel_h", [](auto& c) { c.sizes.kernel_h = INT_MIN; },
       "kernel_h is -2147483648, expected at least 1"},
      {"negative kernel_w", [](auto& c) { c.sizes.kernel_w = -1; }, "kernel_w is -1, expected at least 1"},
      {"both kernels negative", [](auto& c) { c.sizes.kernel_h = c.sizes.kernel_w = -3; },
       "kernel_h is -3, expected at least 1"},
      {"kernel and data_col differ", [](auto& c) { c.sizes.kernel_h = 2; }, "data_col dim 0 is 18, expected 12"},
      {"largest kernel", [](auto& c) { c.sizes.kernel_h = c.sizes.kernel_w = INT_MAX; },
       "data_col dim 0 is 18, expected 9223372028264841218"},
      {"data_col dtype", set(&Call::data_col_desc, Descriptor(kHalf, {18, 20})),
       "data_col has data type HALF, expected FLOAT"},
      {"data_col layout", set(&Call::data_col_desc, Descriptor(kFloat, {18, 20}, kNchw)),
       "data_col has layout NCHW, expected ARRAY"},
      {"data_col dims", set(&Call::data_col_desc, Descriptor(kFloat, {18, 20, 1})),
       "data_col has 3 dimensions, expected 2"},
      {"data_col rows", set(&Call::data_col_desc, Descriptor(kFloat, {17, 20})),
       "data_col dim 0 is 17, expected 18"},
      {"data_col without rows", set(&Call::data_col_desc, Descriptor(kFloat, {0, 20})),
       "data_col dim 0 is 0, expected 18"},
      {"data_col masks", set(&Call::data_col_desc, Descriptor(kFloat, {18, 21})),
       "data_col dim 1 is 21, expected 20"},
      {"data_col without masks", set(&Call::data_col_desc, Descriptor(kFloat, {18, 0})),
       "data_col dim 1 is 0, expected 20"},
      {"data_col transposed", set(&Call::data_col_desc, Descriptor(kFloat, {20, 18})),
       "data_col dim 0 is 20, expected 18"},
      {"data_col strides", set(&Call::data_col_desc, Descriptor::with_strides(kFloat, {18, 20}, {21, 1})),
       "data_col has strides [21, 1], expected a contiguous tensor of shape [18, 20]", MLUOP_STATUS_NOT_SUPPORTED},
  };
  expect_errors(Table{.inputs = valid_inputs(), .functions = {Call::kOperator, Call::kQuery}, .rows = rows});
}

TEST(OpsMaskedIm2colForwardErrors, Data) {
  std::vector<uint32_t> shared(360 + 60);
  const Table::Rows rows = {
      {"null feature", set(&Call::feature, nullptr),
       "feature is null, expected the data of a tensor [1, 2, 5, 6]"},
      {"null mask_h", set(&Call::mask_h_idx, nullptr), "mask_h_idx is null, expected the data of a tensor [20]"},
      {"null mask_w", set(&Call::mask_w_idx, nullptr), "mask_w_idx is null, expected the data of a tensor [20]"},
      {"null data_col", set(&Call::data_col, nullptr), "data_col is null, expected the data of a tensor [18, 20]"},
      {"feature ends in data_col",
       [&](auto& c) {
         c.feature = shared.data();
         c.data_col = shared.data() + 59;
       },
       "data_col overlaps feature, expected memory of its own"},
      {"data_col ends in mask_h", [](auto& c) { c.mask_h_idx = c.data_col_buffer.data() + 359; },
       "data_col overlaps mask_h_idx, expected memory of its own"},
      {"mask_w in data_col", [](auto& c) { c.mask_w_idx = c.data_col_buffer.data(); },
       "data_col overlaps mask_w_idx, expected memory of its own"},
  };
  expect_errors(Table{.inputs = valid_inputs(), .accepted_by = {Call::kQuery}, .rows = rows});
}

TEST(OpsMaskedIm2colForwardErrors, WorkspaceOfTheNativeAlgorithm) {
  const Table::Rows rows = {
      {"null workspace of a size", set_all(set(&Call::workspace, nullptr), set(&Call::workspace_size, size_t{1})),
       "workspace is null"},
      {"workspace in data_col",
       [](auto& c) {
         c.workspace = c.data_col_buffer.data() + 100;
         c.workspace_size = 1;
       },
       "data_col overlaps workspace, expected memory of its own"},
      {"workspace of SIZE_MAX bytes before data_col",
       [](auto& c) {
         c.workspace = c.feature_buffer.data() < c.data_col_buffer.data() ? c.feature_buffer.data()
                                                                          : c.data_col_buffer.data();
         c.workspace_size = SIZE_MAX;
       },
       "data_col overlaps workspace, expected memory of its own"},
  };
  expect_errors(Table{.inputs = valid_inputs(),
                      .accepted_by = {Call::kQuery},
                      .algorithms = {MLUOP_OMP_ALGORITHM_NATIVE},
                      .rows = rows});
}

TEST(OpsMaskedIm2colForwardErrors, WorkspaceOfTheDeviceAlgorithm) {
  const size_t needed = masked_im2col_workspace<uint32_t>(Handle(MLUOP_OMP_ALGORITHM_DEVICE), kSizes);
  const Table::Rows rows = {
      {"null workspace", set(&Call::workspace, nullptr), "workspace is null"},
      {"small workspace", [](auto& c) { --c.workspace_size; },
       "workspace_size is " + std::to_string(needed - 1) + ", expected at least " + std::to_string(needed)},
      {"no workspace",
       [](auto& c) {
         c.workspace = nullptr;
         c.workspace_size = 0;
       },
       "workspace_size is 0, expected at least " + std::to_string(needed)},
      {"workspace in data_col", [](auto& c) { c.workspace = c.data_col_buffer.data() + 100; },
       "data_col overlaps workspace, expected memory of its own"},
      {"feature in workspace", [](auto& c) { c.feature = c.workspace; },
       "workspace overlaps feature, expected memory of its own"},
      {"masks in workspace", [](auto& c) { c.mask_w_idx = c.workspace; },
       "workspace overlaps mask_w_idx, expected memory of its own"},
  };
  expect_errors(Table{.inputs = valid_inputs(),
                      .accepted_by = {Call::kQuery},
                      .algorithms = {MLUOP_OMP_ALGORITHM_DEVICE},
                      .rows = rows});
}

// Each tensor fits int64_t, the workspace does not.
TEST(OpsMaskedIm2colForwardErrors, WorkspaceExceedsInt64) {
  constexpr int64_t kExtent = int64_t{1} << 30;
  const auto change =
      set_all(set(&Call::feature_desc, Descriptor(MLUOP_DTYPE_FLOAT, {1, 1, kExtent, kExtent}, MLUOP_LAYOUT_NCHW)),
              set(&Call::mask_h_idx_desc, Descriptor(MLUOP_DTYPE_INT32, {kExtent})),
              set(&Call::mask_w_idx_desc, Descriptor(MLUOP_DTYPE_INT32, {kExtent})),
              set(&Call::data_col_desc, Descriptor(MLUOP_DTYPE_FLOAT, {kExtent, kExtent})), [](Call& c) {
                c.sizes.kernel_h = kExtent;
                c.sizes.kernel_w = 1;
              });
  expect_errors(Table{.inputs = valid_inputs(),
                      .functions = {Call::kQuery},
                      .algorithms = {MLUOP_OMP_ALGORITHM_DEVICE},
                      .rows = {{"2^62 bytes each", change, "the size in bytes of scratch buffer data_col ",
                                MLUOP_STATUS_BAD_PARAM, Match::kBeginning}}});
}

// The masks may have any layout.
TEST(OpsMaskedIm2colForwardErrors, LayoutsOfMasks) {
  for (const auto algorithm : kAlgorithms) {
    const Handle handle(algorithm);
    Call call(handle, valid_inputs());
    const Descriptor masks(MLUOP_DTYPE_INT32, {kSizes.mask_cnt}, MLUOP_LAYOUT_NCHW);
    call.mask_h_idx_desc = call.mask_w_idx_desc = masks;
    EXPECT_EQ(call.query(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  }
}

TEST(OpsMaskedIm2colForwardErrors, QueryWithoutResult) {
  expect_errors(
      Table{.inputs = valid_inputs(),
            .functions = {Call::kQuery},
            .rows = {{"null workspace_size", set(&Call::queried_size, nullptr), "workspace_size is null"}}});
}

// Without masks the call reads and writes nothing.
TEST(OpsMaskedIm2colForwardErrors, NoDataWithoutMasks) {
  const Handle handle;
  Call call(handle, valid_inputs({2, 5, 6, 0, 3, 3, 1, 1}));
  call.feature = call.mask_h_idx = call.mask_w_idx = nullptr;
  call.data_col = nullptr;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

// Tensors that are adjacent in memory do not overlap; the two mask tensors may.
TEST(OpsMaskedIm2colForwardErrors, AdjacentTensorsAreAccepted) {
  const Handle handle;
  const auto inputs = valid_inputs();
  Call call(handle, inputs);
  std::vector<uint32_t> both(inputs.feature);
  both.resize(both.size() + 360);
  call.feature = both.data();
  call.data_col = both.data() + inputs.feature.size();
  call.workspace = both.data() + both.size();
  call.workspace_size = 64;
  call.mask_w_idx = call.mask_h_idx;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

}  // namespace
}  // namespace mluop::test
