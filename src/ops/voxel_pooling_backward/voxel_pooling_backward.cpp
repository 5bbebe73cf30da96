// mluOpOmpVoxelPoolingBackward: entry and checks.
// Start with the entry below, then run() in voxel_pooling_backward_native.cpp, then the kernels in the order of
// their launches: voxel_pooling_backward_native_kernels.h, and check() and gather() in
// voxel_pooling_backward_native_kernels.cpp.
#include "ops/voxel_pooling_backward/voxel_pooling_backward.h"
#include "core/dtype.h"
#include "mlu_op_omp.h"

mluOpStatus_t MLUOP_WIN_API mluOpOmpVoxelPoolingBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_features_desc,
    const void* grad_output_features, const mluOpTensorDescriptor_t pos_memo_desc, const void* pos_memo,
    const mluOpTensorDescriptor_t grad_input_features_desc, void* grad_input_features) {
  using namespace mluop;
  using namespace mluop::voxel_pooling_backward;
  return run_operator("mluOpOmpVoxelPoolingBackward", handle, [&](Call& call) {
    const auto array = MLUOP_LAYOUT_ARRAY;
    const mluOpDataType_t dtype = dtype_of(grad_output_features_desc);
    const int64_t B = dim_of(grad_output_features_desc, 0), C = dim_of(grad_output_features_desc, 3);
    const int64_t N = dim_of(pos_memo_desc, 1);
    call.input("grad_output_features", grad_output_features_desc, grad_output_features, dtype, array,
               {kAny, kAny, kAny, kAny});
    call.input("pos_memo", pos_memo_desc, pos_memo, MLUOP_DTYPE_INT32, array, {B, kAny, 3});
    call.output("grad_input_features", grad_input_features_desc, grad_input_features, dtype, array, {B, N, C});
    const bool is_empty = B * N * C == 0;
    if (is_empty) call.reads_nothing();

    call.check_pointers();
    call.check_not_200_series();
    require_element_type("grad_output_features", dtype);
    call.check_tensors();
    if (is_empty) return;

    const Args args{
        .batch_size = B,
        .num_points = N,
        .num_voxel_y = grad_output_features_desc->dims[1],
        .num_voxel_x = grad_output_features_desc->dims[2],
        .row_bytes = C * static_cast<int64_t>(size_of(dtype)),
        .grad_output = static_cast<const std::byte*>(grad_output_features),
        .pos_memo = static_cast<const int32_t*>(pos_memo),
        .grad_input = static_cast<std::byte*>(grad_input_features),
    };
    native::run(call, args);
  });
}
