// mluOpRoiAwarePool3dForward and its workspace query, by both of their spellings: entries and checks.
// Start with run_forward(), whose rules are in roiaware_pool3d_rules.h, then run() in
// roiaware_pool3d_forward_native.cpp. The kernels: prepare() in primitives/geometry/point_boxes.cpp, bound() in
// primitives/geometry/bounded_points.cpp, then pool() in roiaware_pool3d_forward_native_kernels.cpp, which uses
// the functions above it and visit_points_in_box() of primitives/geometry/bounded_points-inl.h.
#include "mlu_op.h"
#include "ops/roiaware_pool3d/roiaware_pool3d.h"
#include "ops/roiaware_pool3d/roiaware_pool3d_rules.h"

namespace mluop::roiaware_pool3d {
namespace {

mluOpStatus_t run_forward(const char* function, mluOpHandle_t handle, const Parameters& p, int pts_num,
                          const TensorDescriptor* rois_desc, const void* rois, const TensorDescriptor* pts_desc,
                          const void* pts, const TensorDescriptor* pts_feature_desc, const void* pts_feature,
                          void* workspace, size_t workspace_size, const TensorDescriptor* argmax_desc,
                          void* argmax, const TensorDescriptor* pts_idx_of_voxels_desc, void* pts_idx_of_voxels,
                          const TensorDescriptor* pooled_features_desc, void* pooled_features) {
  return run_operator(function, handle, [&](Call& call) {
    constexpr auto kInt = MLUOP_DTYPE_INT32;
    const auto dtype = dtype_of(rois_desc);
    const int64_t R = p.boxes_num, X = p.out_x, Y = p.out_y, Z = p.out_z, C = p.channels;
    declare(call, p);
    call.parameter("pts_num", pts_num, AtLeast{1});
    call.input("rois", rois_desc, rois, dtype, kAnyLayout, {R, 7});
    call.input("pts", pts_desc, pts, dtype, kAnyLayout, {pts_num, 3});
    call.input("pts_feature", pts_feature_desc, pts_feature, dtype, kAnyLayout, {pts_num, C});
    call.output("argmax", argmax_desc, argmax, kInt, kAnyLayout, {R, X, Y, Z, C});
    call.output("pts_idx_of_voxels", pts_idx_of_voxels_desc, pts_idx_of_voxels, kInt, kAnyLayout,
                {R, X, Y, Z, p.max_pts_each_voxel});
    call.output("pooled_features", pooled_features_desc, pooled_features, dtype, kAnyLayout, {R, X, Y, Z, C});

    check_parameters(call, p, "rois", dtype);
    call.check_tensors();
    const Arena arena = call.workspace(workspace, workspace_size, forward::native::workspace_bytes(R, pts_num));

    forward::native::run(
        call,
        {p.sizes(pts_num), p.method(), dtype, rois, pts, pts_feature, static_cast<int32_t*>(argmax),
         static_cast<int32_t*>(pts_idx_of_voxels), pooled_features},
        arena);
  });
}

mluOpStatus_t query_forward(const char* function, mluOpHandle_t handle, const TensorDescriptor* rois_desc,
                            const TensorDescriptor* pts_desc, const TensorDescriptor* pts_feature_desc,
                            size_t* workspace_size) {
  return run_workspace_query(function, handle, workspace_size, [&](Call& call) {
    const auto dtype = dtype_of(rois_desc);
    const int64_t R = dim_of(rois_desc, 0), N = dim_of(pts_desc, 0), C = dim_of(pts_feature_desc, 1);
    call.input("rois", rois_desc, nullptr, dtype, kAnyLayout, {kAny, 7});
    call.input("pts", pts_desc, nullptr, dtype, kAnyLayout, {kAny, 3});
    call.input("pts_feature", pts_feature_desc, nullptr, dtype, kAnyLayout, {N, kAny});
    call.check_pointers();
    call.check_not_200_series();
    require_element_type("rois", dtype);
    call.check_tensors();
    require_positive("rois dim 0", R);
    require_positive("pts dim 0", N);
    require_positive("pts_feature dim 1", C);
    return forward::native::workspace_bytes(R, N);
  });
}

}  // namespace
}  // namespace mluop::roiaware_pool3d

mluOpStatus_t MLUOP_WIN_API mluOpGetRoiAwarePool3dForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t rois_desc, const mluOpTensorDescriptor_t pts_desc,
    const mluOpTensorDescriptor_t pts_feature_desc, size_t* workspace_size) {
  return mluop::roiaware_pool3d::query_forward("mluOpGetRoiAwarePool3dForwardWorkspaceSize", handle, rois_desc,
                                               pts_desc, pts_feature_desc, workspace_size);
}

mluOpStatus_t MLUOP_WIN_API mluOpGetRoiawarePool3dForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t rois_desc, const mluOpTensorDescriptor_t pts_desc,
    const mluOpTensorDescriptor_t pts_feature_desc, size_t* workspace_size) {
  return mluop::roiaware_pool3d::query_forward("mluOpGetRoiawarePool3dForwardWorkspaceSize", handle, rois_desc,
                                               pts_desc, pts_feature_desc, workspace_size);
}

mluOpStatus_t MLUOP_WIN_API mluOpRoiAwarePool3dForward(
    mluOpHandle_t handle, const int pool_method, const int boxes_num, const int pts_num, const int channels,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const mluOpTensorDescriptor_t pts_desc,
    const void* pts, const mluOpTensorDescriptor_t pts_feature_desc, const void* pts_feature, void* workspace,
    size_t workspace_size, const int max_pts_each_voxel, const int out_x, const int out_y, const int out_z,
    const mluOpTensorDescriptor_t argmax_desc, void* argmax, const mluOpTensorDescriptor_t pts_idx_of_voxels_desc,
    void* pts_idx_of_voxels, const mluOpTensorDescriptor_t pooled_features_desc, void* pooled_features) {
  return mluop::roiaware_pool3d::run_forward(
      "mluOpRoiAwarePool3dForward", handle,
      {pool_method, boxes_num, channels, max_pts_each_voxel, out_x, out_y, out_z}, pts_num, rois_desc, rois,
      pts_desc, pts, pts_feature_desc, pts_feature, workspace, workspace_size, argmax_desc, argmax,
      pts_idx_of_voxels_desc, pts_idx_of_voxels, pooled_features_desc, pooled_features);
}

mluOpStatus_t MLUOP_WIN_API mluOpRoiawarePool3dForward(
    mluOpHandle_t handle, const int pool_method, const int boxes_num, const int pts_num, const int channels,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const mluOpTensorDescriptor_t pts_desc,
    const void* pts, const mluOpTensorDescriptor_t pts_feature_desc, const void* pts_feature, void* workspace,
    size_t workspace_size, const int max_pts_each_voxel, const int out_x, const int out_y, const int out_z,
    const mluOpTensorDescriptor_t argmax_desc, void* argmax, const mluOpTensorDescriptor_t pts_idx_of_voxels_desc,
    void* pts_idx_of_voxels, const mluOpTensorDescriptor_t pooled_features_desc, void* pooled_features) {
  return mluop::roiaware_pool3d::run_forward(
      "mluOpRoiawarePool3dForward", handle,
      {pool_method, boxes_num, channels, max_pts_each_voxel, out_x, out_y, out_z}, pts_num, rois_desc, rois,
      pts_desc, pts, pts_feature_desc, pts_feature, workspace, workspace_size, argmax_desc, argmax,
      pts_idx_of_voxels_desc, pts_idx_of_voxels, pooled_features_desc, pooled_features);
}
