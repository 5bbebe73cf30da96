// mluOpRoiAwarePool3dBackward, by both of its spellings: entries and checks.
// Start with run_backward(), then run() in roiaware_pool3d_backward_native.cpp. The kernels: find() and add() in
// roiaware_pool3d_backward_native_kernels.cpp, which use the functions above them.
#include "mlu_op.h"
#include "ops/roiaware_pool3d/roiaware_pool3d_backward_native.h"

namespace mluop {
namespace {

using roiaware_pool3d::PoolMethod;

// The parameters of the operator that are no tensors.
struct Parameters {
  int pool_method, boxes_num, out_x, out_y, out_z, channels, max_pts_each_voxel;
};

mluOpStatus_t run_backward(const char* function, mluOpHandle_t handle, const Parameters& p,
                           const TensorDescriptor* pts_idx_of_voxels_desc, const void* pts_idx_of_voxels,
                           const TensorDescriptor* argmax_desc, const void* argmax,
                           const TensorDescriptor* grad_out_desc, const void* grad_out,
                           const TensorDescriptor* grad_in_desc, void* grad_in) {
  return run_operator(function, handle, [&](Call& call) {
    constexpr auto kInt = MLUOP_DTYPE_INT32;
    const auto dtype = dtype_of(grad_out_desc);
    const int64_t R = p.boxes_num, X = p.out_x, Y = p.out_y, Z = p.out_z, C = p.channels;
    call.parameter("pool_method", p.pool_method);
    call.parameter("boxes_num", p.boxes_num, AtLeast{1});
    call.parameter("out_x", p.out_x, AtLeast{1});
    call.parameter("out_y", p.out_y, AtLeast{1});
    call.parameter("out_z", p.out_z, AtLeast{1});
    call.parameter("channels", p.channels, AtLeast{1});
    call.parameter("max_pts_each_voxel", p.max_pts_each_voxel, AtLeast{1});
    call.input("pts_idx_of_voxels", pts_idx_of_voxels_desc, pts_idx_of_voxels, kInt, kAnyLayout,
               {R, X, Y, Z, p.max_pts_each_voxel});
    call.input("argmax", argmax_desc, argmax, kInt, kAnyLayout, {R, X, Y, Z, C});
    call.input("grad_out", grad_out_desc, grad_out, dtype, kAnyLayout, {R, X, Y, Z, C});
    call.output("grad_in", grad_in_desc, grad_in, dtype, kAnyLayout, {kAny, C});

    call.check_pointers();
    call.check_not_200_series();
    require_float_or_half("grad_out", dtype);
    require(p.pool_method == 0 || p.pool_method == 1, MLUOP_STATUS_BAD_PARAM, "pool_method is ", p.pool_method,
            ", expected 0 or 1");
    call.check_parameters();
    const int64_t N = dim_of(grad_in_desc, 0);
    require_int32_count("grad_in dim 0", N);
    call.check_tensors();
    require_positive("grad_in dim 0", N);

    const roiaware_pool3d::Sizes sizes{R, N, C, p.max_pts_each_voxel, X, Y, Z};
    roiaware_pool3d::backward::native::run(call, {sizes, static_cast<PoolMethod>(p.pool_method), dtype,
                                                  static_cast<const int32_t*>(pts_idx_of_voxels),
                                                  static_cast<const int32_t*>(argmax), grad_out, grad_in});
  });
}

}  // namespace
}  // namespace mluop

mluOpStatus_t MLUOP_WIN_API mluOpRoiAwarePool3dBackward(
    mluOpHandle_t handle, const int pool_method, const int boxes_num, const int out_x, const int out_y,
    const int out_z, const int channels, const int max_pts_each_voxel,
    const mluOpTensorDescriptor_t pts_idx_of_voxels_desc, const void* pts_idx_of_voxels,
    const mluOpTensorDescriptor_t argmax_desc, const void* argmax, const mluOpTensorDescriptor_t grad_out_desc,
    const void* grad_out, const mluOpTensorDescriptor_t grad_in_desc, void* grad_in) {
  return mluop::run_backward("mluOpRoiAwarePool3dBackward", handle,
                             {pool_method, boxes_num, out_x, out_y, out_z, channels, max_pts_each_voxel},
                             pts_idx_of_voxels_desc, pts_idx_of_voxels, argmax_desc, argmax, grad_out_desc,
                             grad_out, grad_in_desc, grad_in);
}

mluOpStatus_t MLUOP_WIN_API mluOpRoiawarePool3dBackward(
    mluOpHandle_t handle, const int pool_method, const int boxes_num, const int out_x, const int out_y,
    const int out_z, const int channels, const int max_pts_each_voxel,
    const mluOpTensorDescriptor_t pts_idx_of_voxels_desc, const void* pts_idx_of_voxels,
    const mluOpTensorDescriptor_t argmax_desc, const void* argmax, const mluOpTensorDescriptor_t grad_out_desc,
    const void* grad_out, const mluOpTensorDescriptor_t grad_in_desc, void* grad_in) {
  return mluop::run_backward("mluOpRoiawarePool3dBackward", handle,
                             {pool_method, boxes_num, out_x, out_y, out_z, channels, max_pts_each_voxel},
                             pts_idx_of_voxels_desc, pts_idx_of_voxels, argmax_desc, argmax, grad_out_desc,
                             grad_out, grad_in_desc, grad_in);
}
