// mluOpRoiAwarePool3dBackward, by both of its spellings: entries and checks.
// Start with run_backward(), whose rules are in roiaware_pool3d_rules.h, then run() in
// roiaware_pool3d_backward_native.cpp. The kernels: find() and add() in
// roiaware_pool3d_backward_native_kernels.cpp, which use the functions above them.
#include "mlu_op.h"
#include "ops/roiaware_pool3d/roiaware_pool3d.h"
#include "ops/roiaware_pool3d/roiaware_pool3d_rules.h"

namespace mluop::roiaware_pool3d {
namespace {

mluOpStatus_t run_backward(const char* function, mluOpHandle_t handle, const Parameters& p,
                           const TensorDescriptor* pts_idx_of_voxels_desc, const void* pts_idx_of_voxels,
                           const TensorDescriptor* argmax_desc, const void* argmax,
                           const TensorDescriptor* grad_out_desc, const void* grad_out,
                           const TensorDescriptor* grad_in_desc, void* grad_in) {
  return run_operator(function, handle, [&](Call& call) {
    constexpr auto kInt = MLUOP_DTYPE_INT32;
    const auto dtype = dtype_of(grad_out_desc);
    const int64_t R = p.boxes_num, X = p.out_x, Y = p.out_y, Z = p.out_z, C = p.channels;
    declare(call, p);
    call.input("pts_idx_of_voxels", pts_idx_of_voxels_desc, pts_idx_of_voxels, kInt, kAnyLayout,
               {R, X, Y, Z, p.max_pts_each_voxel});
    call.input("argmax", argmax_desc, argmax, kInt, kAnyLayout, {R, X, Y, Z, C});
    call.input("grad_out", grad_out_desc, grad_out, dtype, kAnyLayout, {R, X, Y, Z, C});
    call.output("grad_in", grad_in_desc, grad_in, dtype, kAnyLayout, {kAny, C});

    check_parameters(call, p, "grad_out", dtype);
    const int64_t N = dim_of(grad_in_desc, 0);
    require_int32_count("grad_in dim 0", N);
    call.check_tensors();
    require_positive("grad_in dim 0", N);

    backward::native::run(call, {p.sizes(N), p.method(), dtype, static_cast<const int32_t*>(pts_idx_of_voxels),
                                 static_cast<const int32_t*>(argmax), grad_out, grad_in});
  });
}

}  // namespace
}  // namespace mluop::roiaware_pool3d

mluOpStatus_t MLUOP_WIN_API mluOpRoiAwarePool3dBackward(
    mluOpHandle_t handle, const int pool_method, const int boxes_num, const int out_x, const int out_y,
    const int out_z, const int channels, const int max_pts_each_voxel,
    const mluOpTensorDescriptor_t pts_idx_of_voxels_desc, const void* pts_idx_of_voxels,
    const mluOpTensorDescriptor_t argmax_desc, const void* argmax, const mluOpTensorDescriptor_t grad_out_desc,
    const void* grad_out, const mluOpTensorDescriptor_t grad_in_desc, void* grad_in) {
  return mluop::roiaware_pool3d::run_backward(
      "mluOpRoiAwarePool3dBackward", handle,
      {pool_method, boxes_num, channels, max_pts_each_voxel, out_x, out_y, out_z}, pts_idx_of_voxels_desc,
      pts_idx_of_voxels, argmax_desc, argmax, grad_out_desc, grad_out, grad_in_desc, grad_in);
}

mluOpStatus_t MLUOP_WIN_API mluOpRoiawarePool3dBackward(
    mluOpHandle_t handle, const int pool_method, const int boxes_num, const int out_x, const int out_y,
    const int out_z, const int channels, const int max_pts_each_voxel,
    const mluOpTensorDescriptor_t pts_idx_of_voxels_desc, const void* pts_idx_of_voxels,
    const mluOpTensorDescriptor_t argmax_desc, const void* argmax, const mluOpTensorDescriptor_t grad_out_desc,
    const void* grad_out, const mluOpTensorDescriptor_t grad_in_desc, void* grad_in) {
  return mluop::roiaware_pool3d::run_backward(
      "mluOpRoiawarePool3dBackward", handle,
      {pool_method, boxes_num, channels, max_pts_each_voxel, out_x, out_y, out_z}, pts_idx_of_voxels_desc,
      pts_idx_of_voxels, argmax_desc, argmax, grad_out_desc, grad_out, grad_in_desc, grad_in);
}
