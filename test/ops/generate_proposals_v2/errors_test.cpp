// Requirements of mluOpGenerateProposalsV2 and its workspace queries on scalars and sizes.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

constexpr const char* kOp = "generate_proposals_v2";

TEST(OpsGenerateProposalsV2Errors, ScalarsAndSizes) {
  const cases::Case made = make_case(kOp, MLUOP_DTYPE_FLOAT, {});
  expect_errors(made, {{set("post_nms_top_n", -1), "post_nms_top_n is -1, expected at least 0"},
                       {set("post_nms_top_n", 1 << 30), "rpn_rois dim 0 is 2147483648, expected fewer than 2^31",
                        MLUOP_STATUS_NOT_SUPPORTED},
                       {set_real("nms_thresh", 0), "nms_thresh is 0, expected more than 0"},
                       {set_real("nms_thresh", -0.5), "nms_thresh is -0.5, expected more than 0"},
                       {set_real("eta", 0.5), "eta is 0.5, expected at least 1"}});
  expect_errors(made,
                {{set_shape("scores", {2, 1 << 16, 1 << 15, 1}),
                  "scores has 2147483648 anchors a picture, expected fewer than 2^31", MLUOP_STATUS_NOT_SUPPORTED},
                 {with_sizes(kOp, {{"h", 0}}), "scores dim 1 is 0, expected at least 1"},
                 {with_sizes(kOp, {{"w", 0}}), "scores dim 2 is 0, expected at least 1"},
                 {with_sizes(kOp, {{"n", 0}, {"a", 0}}), "scores dim 3 is 0, expected at least 1"}},
                {.query = Query::kFails});
}

// The deprecated query writes a size for any number of candidates.
TEST(OpsGenerateProposalsV2, DeprecatedQuery) {
  const Handle handle;
  OperatorCall few(handle, make_case(kOp, MLUOP_DTYPE_FLOAT, {{"pre_nms_top_n", 1}}));
  OperatorCall all(handle, make_case(kOp, MLUOP_DTYPE_FLOAT, {{"pre_nms_top_n", 0}}));
  size_t size = 0;
  EXPECT_EQ(mluOpGetGenerateProposalsV2WorkspaceSize(handle, all["scores"].desc, &size), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(size, all.arguments.workspace_size);
  EXPECT_LT(few.arguments.workspace_size, size);
  EXPECT_EQ(mluOpGetGenerateProposalsV2WorkspaceSize(handle, nullptr, &size), MLUOP_STATUS_BAD_PARAM);
  EXPECT_STREQ(mluOpOmpGetLastError(), "[mluOpGetGenerateProposalsV2WorkspaceSize] scores_desc is null");
}

// Without rois the call reads no data, and writes their numbers.
TEST(OpsGenerateProposalsV2, NoRois) {
  const Handle handle;
  OperatorCall call(handle, make_case(kOp, MLUOP_DTYPE_FLOAT, {{"post_nms_top_n", 0}}));
  for (const char* id : {"scores", "bbox_deltas", "im_shape", "anchors", "variances"}) call[id].data = nullptr;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.int32s("rpn_rois_num"), (std::vector<int32_t>{0, 0}));
  EXPECT_EQ(call.int32s("rpn_rois_batch_size"), std::vector<int32_t>{0});
}

}  // namespace
}  // namespace mluop::test
