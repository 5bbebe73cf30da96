// mluOpOmpNmsMatch and its workspace query: entries and checks.
// Start with the entry at the end of this file, then run() in nms_match_native.cpp, and suppress() in
// primitives/geometry/suppression.cpp.
#include "ops/nms_match/nms_match.h"

namespace mluop::nms_match {
namespace {

// Declares the boxes of the operator and of its query.
void declare_dets(Call& call, const TensorDescriptor* desc, const void* dets) {
  call.input("dets", desc, dets, MLUOP_DTYPE_FLOAT, kAnyLayout, {kAny, kColumns});
  if (dim_of(desc, 0) == 0) call.reads_nothing();
}

}  // namespace
}  // namespace mluop::nms_match

mluOpStatus_t MLUOP_WIN_API mluOpOmpGetNmsMatchWorkspaceSize(mluOpHandle_t handle,
                                                             const mluOpTensorDescriptor_t dets_desc,
                                                             size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::nms_match;
  return run_workspace_query("mluOpOmpGetNmsMatchWorkspaceSize", handle, workspace_size, [&](Call& call) {
    declare_dets(call, dets_desc, nullptr);
    call.check_pointers();
    require_int32_count("dets dim 0", dim_of(dets_desc, 0));
    call.check_tensors();
    return native::workspace_bytes(dets_desc->dims[0]);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpNmsMatch(mluOpHandle_t handle, const float iou_threshold,
                                             const mluOpTensorDescriptor_t dets_desc, const void* dets,
                                             void* workspace, size_t workspace_size,
                                             const mluOpTensorDescriptor_t members_desc, void* members,
                                             const mluOpTensorDescriptor_t group_sizes_desc, void* group_sizes,
                                             int32_t* group_num) {
  using namespace mluop;
  using namespace mluop::nms_match;
  return run_operator("mluOpOmpNmsMatch", handle, [&](Call& call) {
    const int64_t N = dim_of(dets_desc, 0);
    call.parameter("iou_threshold", iou_threshold);
    declare_dets(call, dets_desc, dets);
    call.output("members", members_desc, members, MLUOP_DTYPE_INT32, kAnyLayout, {N});
    call.output("group_sizes", group_sizes_desc, group_sizes, MLUOP_DTYPE_INT32, kAnyLayout, {N});
    call.output("group_num", group_num);

    call.check_pointers();
    require_int32_count("dets dim 0", N);
    call.check_tensors();
    const Arena arena = call.workspace(workspace, workspace_size, native::workspace_bytes(N));
    if (N == 0) {
      *group_num = 0;
      return;
    }
    native::run(call,
                {
                    .N = N,
                    .iou_threshold = iou_threshold,
                    .dets = static_cast<const float*>(dets),
                    .members = static_cast<int32_t*>(members),
                    .group_sizes = static_cast<int32_t*>(group_sizes),
                    .group_num = group_num,
                },
                arena);
  });
}
