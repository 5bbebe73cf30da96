// mluOpVoxelPoolingForward: entry and checks.
// Start with the entry below, then run() in voxel_pooling_forward_native.cpp, then locate() and sort_points() in
// voxel_pooling_forward_native_kernels.cpp and primitives/sort/bucket_sums.h. The device algorithm: run() in
// voxel_pooling_forward_device.cpp, then pool() in voxel_pooling_forward_device_kernels.cpp.
#include "ops/voxel_pooling_forward/voxel_pooling_forward.h"

namespace mluop::voxel_pooling_forward {
namespace {

constexpr int64_t kCountLimit = int64_t{1} << 31;

// Cells and points are indexed by int32.
void check_count(std::string_view name, const TensorDescriptor& desc, std::string_view rows) {
  const int64_t count = element_count(desc) / desc.dims[static_cast<size_t>(desc.dim_count - 1)];
  require(count < kCountLimit, MLUOP_STATUS_NOT_SUPPORTED, name, " has ", count, " ", rows,
          ", expected fewer than 2^31");
}

// The device indexes elements by int32.
void check_element_count(std::string_view name, const TensorDescriptor& desc) {
  const int64_t count = element_count(desc);
  require(count < kCountLimit, MLUOP_STATUS_NOT_SUPPORTED, name, " has ", count,
          " elements, expected fewer than 2^31 with the device algorithm");
}

}  // namespace
}  // namespace mluop::voxel_pooling_forward

mluOpStatus_t MLUOP_WIN_API
mluOpVoxelPoolingForward(mluOpHandle_t handle, const int batch_size, const int num_points, const int num_channels,
                         const int num_voxel_x, const int num_voxel_y, const int num_voxel_z,
                         const mluOpTensorDescriptor_t geom_xyz_desc, const void* geom_xyz,
                         const mluOpTensorDescriptor_t input_features_desc, const void* input_features,
                         const mluOpTensorDescriptor_t output_features_desc, void* output_features,
                         const mluOpTensorDescriptor_t pos_memo_desc, void* pos_memo) {
  using namespace mluop;
  using namespace mluop::voxel_pooling_forward;
  return run_operator("mluOpVoxelPoolingForward", handle, [&](Call& call) {
    const auto array = MLUOP_LAYOUT_ARRAY;
    const auto b = batch_size, n = num_points, c = num_channels;
    const mluOpDataType_t dtype = dtype_of(input_features_desc);
    call.parameter("batch_size", batch_size, AtLeast{1});
    call.parameter("num_points", num_points, AtLeast{1});
    call.parameter("num_channels", num_channels, AtLeast{1});
    call.parameter("num_voxel_x", num_voxel_x, AtLeast{1});
    call.parameter("num_voxel_y", num_voxel_y, AtLeast{1});
    call.parameter("num_voxel_z", num_voxel_z, AtLeast{1});
    call.input("geom_xyz", geom_xyz_desc, geom_xyz, MLUOP_DTYPE_INT32, array, {b, n, 3});
    call.input("input_features", input_features_desc, input_features, dtype, array, {b, n, c});
    call.output("output_features", output_features_desc, output_features, dtype, array,
                {b, num_voxel_y, num_voxel_x, c});
    call.output("pos_memo", pos_memo_desc, pos_memo, MLUOP_DTYPE_INT32, array, {b, n, 3});

    call.check_pointers();
    call.check_not_200_series();
    require_element_type("input_features", dtype);
    call.check_parameters();
    call.check_tensors();
    check_count("input_features", *input_features_desc, "points");
    check_count("output_features", *output_features_desc, "cells");
    const bool on_device = call.context().algorithm == MLUOP_OMP_ALGORITHM_DEVICE;
    if (on_device) {
      check_element_count("geom_xyz", *geom_xyz_desc);
      check_element_count("input_features", *input_features_desc);
      check_element_count("output_features", *output_features_desc);
    }

    const Args args{
        .batch_size = b,
        .num_points = n,
        .num_channels = c,
        .num_voxel_x = num_voxel_x,
        .num_voxel_y = num_voxel_y,
        .num_voxel_z = num_voxel_z,
        .dtype = dtype,
        .geom_xyz = static_cast<const int32_t*>(geom_xyz),
        .input_features = input_features,
        .output_features = output_features,
        .pos_memo = static_cast<int32_t*>(pos_memo),
    };
    if (on_device) {
      device::run(call, args);
    } else {
      native::run(call, args);
    }
  });
}
