// Every rule of mluOpMaskedIm2colForward and of its workspace query: one bad argument, one status, a message that
// names the parameter, and outputs that stay as they were.
#include <gtest/gtest.h>

#include <climits>
#include <functional>
#include <string>

#include "ops/masked_im2col_forward/call.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using Call = MaskedIm2colCall<uint32_t>;

constexpr MaskedIm2colSizes kSizes = {2, 5, 6, 20, 3, 3, 1, 1};  // data_col is [18, 20]
constexpr size_t kUnset = 77;

struct BadCall {
  const char* rule;
  std::function<void(Call&)> spoil;
  const char* message;  // after the name of the function
};

Descriptor strided(mluOpDataType_t dtype, mluOpTensorLayout_t layout, const std::vector<int64_t>& dims,
                   const std::vector<int64_t>& strides) {
  Descriptor desc;
  require(mluOpSetTensorDescriptorEx_v2(desc, layout, dtype, static_cast<int>(dims.size()), dims.data(),
                                        strides.data()));
  return desc;
}

void expect_refused(const BadCall& bad, const Handle& handle) {
  SCOPED_TRACE(bad.rule);
  auto random = seeded_random();
  Call call(handle, random_masked_im2col<uint32_t>(kSizes, random));
  const std::vector<uint32_t> before = call.data_col_buffer.values();
  bad.spoil(call);
  EXPECT_EQ(call.run(), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpOmpGetLastError(), std::string("[mluOpMaskedIm2colForward] ") + bad.message);
  EXPECT_EQ(call.data_col_buffer.values(), before);
  EXPECT_TRUE(call.intact());
}

void expect_query_refused(const BadCall& bad, const Handle& handle) {
  SCOPED_TRACE(bad.rule);
  auto random = seeded_random();
  Call call(handle, random_masked_im2col<uint32_t>(kSizes, random));
  size_t bytes = kUnset;
  call.workspace_bytes = &bytes;
  bad.spoil(call);
  EXPECT_EQ(call.query(), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(mluOpOmpGetLastError(), std::string("[mluOpGetMaskedIm2colForwardWorkspaceSize] ") + bad.message);
  EXPECT_EQ(bytes, kUnset);
}

// The rules that operator and query share.
TEST(OpsMaskedIm2colForwardErrors, Shapes) {
  const auto kNchw = MLUOP_LAYOUT_NCHW;
  const auto kFloat = MLUOP_DTYPE_FLOAT, kHalf = MLUOP_DTYPE_HALF, kInt = MLUOP_DTYPE_INT32;
  const Descriptor empty;
  const Descriptor int_feature(kInt, {1, 2, 5, 6}, kNchw), double_feature(MLUOP_DTYPE_DOUBLE, {1, 2, 5, 6}, kNchw),
      half_feature(kHalf, {1, 2, 5, 6}, kNchw), nhwc_feature(kFloat, {1, 5, 6, 2}, MLUOP_LAYOUT_NHWC),
      array_feature(kFloat, {1, 2, 5, 6}), flat_feature(kFloat, {2, 5, 6}, kNchw),
      batch_feature(kFloat, {2, 2, 5, 6}, kNchw), no_batch(kFloat, {0, 2, 5, 6}, kNchw),
      no_channels(kFloat, {1, 0, 5, 6}, kNchw), no_rows(kFloat, {1, 2, 0, 6}, kNchw),
      no_columns(kFloat, {1, 2, 5, 0}, kNchw), channels_feature(kFloat, {1, 3, 5, 6}, kNchw),
      many_channels(kFloat, {1, int64_t{1} << 60, 1, 1}, kNchw);
  const Descriptor strided_feature = strided(kFloat, kNchw, {1, 2, 5, 6}, {60, 1, 12, 2});
  const Descriptor float_mask(kFloat, {20}), long_mask(MLUOP_DTYPE_INT64, {20}), nchw_mask(kInt, {20}, kNchw),
      flat_mask(kInt, {20, 1}), short_mask(kInt, {19}), no_mask(kInt, {0});
  const Descriptor strided_mask = strided(kInt, MLUOP_LAYOUT_ARRAY, {20}, {2});
  const Descriptor half_col(kHalf, {18, 20}), nchw_col(kFloat, {18, 20}, kNchw), deep_col(kFloat, {18, 20, 1}),
      rows_col(kFloat, {17, 20}), no_rows_col(kFloat, {0, 20}), masks_col(kFloat, {18, 21}),
      no_masks_col(kFloat, {18, 0}), swapped_col(kFloat, {20, 18});
  const Descriptor strided_col = strided(kFloat, MLUOP_LAYOUT_ARRAY, {18, 20}, {21, 1});

  const BadCall kTable[] = {
      {"null handle", [](auto& c) { c.handle = nullptr; }, "handle is null"},
      {"null feature desc", [](auto& c) { c.feature_desc = nullptr; }, "feature_desc is null"},
      {"null mask_h desc", [](auto& c) { c.mask_h_idx_desc = nullptr; }, "mask_h_idx_desc is null"},
      {"null mask_w desc", [](auto& c) { c.mask_w_idx_desc = nullptr; }, "mask_w_idx_desc is null"},
      {"null data_col desc", [](auto& c) { c.data_col_desc = nullptr; }, "data_col_desc is null"},
      {"empty descriptor", [&](auto& c) { c.feature_desc = empty; },
       "feature has data type INVALID, expected HALF or FLOAT"},
      {"int feature", [&](auto& c) { c.feature_desc = int_feature; },
       "feature has data type INT32, expected HALF or FLOAT"},
      {"double feature", [&](auto& c) { c.feature_desc = double_feature; },
       "feature has data type DOUBLE, expected HALF or FLOAT"},
      {"half feature, float data_col", [&](auto& c) { c.feature_desc = half_feature; },
       "data_col has data type FLOAT, expected HALF"},
      {"NHWC feature", [&](auto& c) { c.feature_desc = nhwc_feature; }, "feature has layout NHWC, expected NCHW"},
      {"ARRAY feature", [&](auto& c) { c.feature_desc = array_feature; },
       "feature has layout ARRAY, expected NCHW"},
      {"feature dims", [&](auto& c) { c.feature_desc = flat_feature; }, "feature has 3 dimensions, expected 4"},
      {"two batches", [&](auto& c) { c.feature_desc = batch_feature; }, "feature dim 0 is 2, expected 1"},
      {"no batch", [&](auto& c) { c.feature_desc = no_batch; }, "feature dim 0 is 0, expected 1"},
      {"no channels", [&](auto& c) { c.feature_desc = no_channels; },
       "feature has shape [1, 0, 5, 6], expected no dimension of 0"},
      {"no rows", [&](auto& c) { c.feature_desc = no_rows; },
       "feature has shape [1, 2, 0, 6], expected no dimension of 0"},
      {"no columns", [&](auto& c) { c.feature_desc = no_columns; },
       "feature has shape [1, 2, 5, 0], expected no dimension of 0"},
      {"feature channels", [&](auto& c) { c.feature_desc = channels_feature; },
       "data_col dim 0 is 18, expected 27"},
      {"rows exceed int64", [&](auto& c) { c.feature_desc = many_channels; },
       "feature dim 1 is 1152921504606846976, expected fewer than 2^63 / (kernel_h x kernel_w)"},
      {"feature strides", [&](auto& c) { c.feature_desc = strided_feature; },
       "feature has strides [60, 1, 12, 2], expected a contiguous tensor of shape [1, 2, 5, 6]"},
      {"mask_h dtype", [&](auto& c) { c.mask_h_idx_desc = float_mask; },
       "mask_h_idx has data type FLOAT, expected INT32"},
      {"mask_w dtype", [&](auto& c) { c.mask_w_idx_desc = long_mask; },
       "mask_w_idx has data type INT64, expected INT32"},
      {"mask_h layout", [&](auto& c) { c.mask_h_idx_desc = nchw_mask; },
       "mask_h_idx has layout NCHW, expected ARRAY"},
      {"mask_w layout", [&](auto& c) { c.mask_w_idx_desc = nchw_mask; },
       "mask_w_idx has layout NCHW, expected ARRAY"},
      {"mask_h dims", [&](auto& c) { c.mask_h_idx_desc = flat_mask; }, "mask_h_idx has 2 dimensions, expected 1"},
      {"mask_w dims", [&](auto& c) { c.mask_w_idx_desc = flat_mask; }, "mask_w_idx has 2 dimensions, expected 1"},
      {"fewer mask_h", [&](auto& c) { c.mask_h_idx_desc = short_mask; }, "mask_w_idx dim 0 is 20, expected 19"},
      {"fewer mask_w", [&](auto& c) { c.mask_w_idx_desc = short_mask; }, "mask_w_idx dim 0 is 19, expected 20"},
      {"no mask_w", [&](auto& c) { c.mask_w_idx_desc = no_mask; }, "mask_w_idx dim 0 is 0, expected 20"},
      {"no masks, but data_col has", [&](auto& c) { c.mask_h_idx_desc = c.mask_w_idx_desc = no_mask; },
       "data_col dim 1 is 20, expected 0"},
      {"mask_h strides", [&](auto& c) { c.mask_h_idx_desc = strided_mask; },
       "mask_h_idx has strides [2], expected a contiguous tensor of shape [20]"},
      {"mask_w strides", [&](auto& c) { c.mask_w_idx_desc = strided_mask; },
       "mask_w_idx has strides [2], expected a contiguous tensor of shape [20]"},
      {"zero kernel_h", [](auto& c) { c.sizes.kernel_h = 0; }, "kernel_h is 0, expected at least 1"},
      {"least kernel_h", [](auto& c) { c.sizes.kernel_h = INT_MIN; },
       "kernel_h is -2147483648, expected at least 1"},
      {"negative kernel_w", [](auto& c) { c.sizes.kernel_w = -1; }, "kernel_w is -1, expected at least 1"},
      {"both kernels negative", [](auto& c) { c.sizes.kernel_h = c.sizes.kernel_w = -3; },
       "kernel_h is -3, expected at least 1"},
      {"kernel and data_col differ", [](auto& c) { c.sizes.kernel_h = 2; }, "data_col dim 0 is 18, expected 12"},
      {"largest kernel", [](auto& c) { c.sizes.kernel_h = c.sizes.kernel_w = INT_MAX; },
       "data_col dim 0 is 18, expected 9223372028264841218"},
      {"data_col dtype", [&](auto& c) { c.data_col_desc = half_col; },
       "data_col has data type HALF, expected FLOAT"},
      {"data_col layout", [&](auto& c) { c.data_col_desc = nchw_col; },
       "data_col has layout NCHW, expected ARRAY"},
      {"data_col dims", [&](auto& c) { c.data_col_desc = deep_col; }, "data_col has 3 dimensions, expected 2"},
      {"data_col rows", [&](auto& c) { c.data_col_desc = rows_col; }, "data_col dim 0 is 17, expected 18"},
      {"data_col without rows", [&](auto& c) { c.data_col_desc = no_rows_col; },
       "data_col dim 0 is 0, expected 18"},
      {"data_col masks", [&](auto& c) { c.data_col_desc = masks_col; }, "data_col dim 1 is 21, expected 20"},
      {"data_col without masks", [&](auto& c) { c.data_col_desc = no_masks_col; },
       "data_col dim 1 is 0, expected 20"},
      {"data_col transposed", [&](auto& c) { c.data_col_desc = swapped_col; },
       "data_col dim 0 is 20, expected 18"},
      {"data_col strides", [&](auto& c) { c.data_col_desc = strided_col; },
       "data_col has strides [21, 1], expected a contiguous tensor of shape [18, 20]"},
  };
  const Handle handle;
  for (const BadCall& bad : kTable) {
    expect_refused(bad, handle);
    expect_query_refused(bad, handle);
  }
}

TEST(OpsMaskedIm2colForwardErrors, Data) {
  std::vector<uint32_t> shared(360 + 60);
  const BadCall kTable[] = {
      {"null feature", [](auto& c) { c.feature = nullptr; },
       "feature is null, expected the data of a tensor [1, 2, 5, 6]"},
      {"null mask_h", [](auto& c) { c.mask_h_idx = nullptr; },
       "mask_h_idx is null, expected the data of a tensor [20]"},
      {"null mask_w", [](auto& c) { c.mask_w_idx = nullptr; },
       "mask_w_idx is null, expected the data of a tensor [20]"},
      {"null data_col", [](auto& c) { c.data_col = nullptr; },
       "data_col is null, expected the data of a tensor [18, 20]"},
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
      {"workspace in data_col",
       [](auto& c) {
         c.workspace = c.data_col_buffer.data() + 100;
         c.workspace_size = 1;
       },
       "data_col overlaps workspace, expected memory of its own"},
      {"workspace of all sizes before data_col",
       [](auto& c) {
         c.workspace = c.feature_buffer.data() < c.data_col_buffer.data() ? c.feature_buffer.data()
                                                                          : c.data_col_buffer.data();
         c.workspace_size = SIZE_MAX;
       },
       "data_col overlaps workspace, expected memory of its own"},
  };
  const Handle handle;
  for (const BadCall& bad : kTable) expect_refused(bad, handle);
}

TEST(OpsMaskedIm2colForwardErrors, QueryWithoutResult) {
  const Handle handle;
  expect_query_refused(
      {"null workspace_size", [](auto& c) { c.workspace_bytes = nullptr; }, "workspace_size is null"}, handle);
}

// A feature without masks is still a tensor with elements.
TEST(OpsMaskedIm2colForwardErrors, NullFeatureWithoutMasks) {
  const Handle handle;
  auto random = seeded_random();
  Call call(handle, random_masked_im2col<uint32_t>({2, 5, 6, 0, 3, 3, 1, 1}, random));
  call.feature = nullptr;
  EXPECT_EQ(call.run(), MLUOP_STATUS_BAD_PARAM);
}

// Tensors that touch without sharing a byte are apart; masks may share one array.
TEST(OpsMaskedIm2colForwardErrors, AdjacentTensorsAreAccepted) {
  const Handle handle;
  auto random = seeded_random();
  const auto inputs = random_masked_im2col<uint32_t>(kSizes, random);
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
