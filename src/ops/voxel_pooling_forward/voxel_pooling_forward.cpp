// mluOpVoxelPoolingForward: entry and checks.
#include "core/boundary.h"
#include "core/checks.h"
#include "core/log.h"
#include "ops/voxel_pooling_forward/plan.h"

namespace mluop {
namespace {

constexpr auto kName = "mluOpVoxelPoolingForward";

bool small_enough(Checks& check, std::string_view name, const TensorDescriptor& desc) {
  return check.rule(element_count(desc) < (int64_t{1} << 31), MLUOP_STATUS_NOT_SUPPORTED, name, " has ",
                    element_count(desc), " elements, expected fewer than 2^31");
}

}  // namespace
}  // namespace mluop

mluOpStatus_t MLUOP_WIN_API
mluOpVoxelPoolingForward(mluOpHandle_t handle, const int batch_size, const int num_points, const int num_channels,
                         const int num_voxel_x, const int num_voxel_y, const int num_voxel_z,
                         const mluOpTensorDescriptor_t geom_xyz_desc, const void* geom_xyz,
                         const mluOpTensorDescriptor_t input_features_desc, const void* input_features,
                         const mluOpTensorDescriptor_t output_features_desc, void* output_features,
                         const mluOpTensorDescriptor_t pos_memo_desc, void* pos_memo) {
  using namespace mluop;
  return guarded(kName, [&] {
    Checks check(kName);
    if (!check.not_null("handle", handle)) return check.status();
    const std::lock_guard lock(handle->execution);
    const auto b = batch_size, n = num_points, c = num_channels;
    if (!(check.rule(!handle->device.is_200_series, MLUOP_STATUS_ARCH_MISMATCH, "device is ", handle->device.name,
                     ", expected mlu370 or mlu590") &&
          check.positive("batch_size", b) && check.positive("num_points", n) &&
          check.positive("num_channels", c) && check.positive("num_voxel_x", num_voxel_x) &&
          check.positive("num_voxel_y", num_voxel_y) && check.positive("num_voxel_z", num_voxel_z) &&
          check.tensor("geom_xyz", geom_xyz_desc, MLUOP_DTYPE_INT32, MLUOP_LAYOUT_ARRAY, {b, n, 3}) &&
          check.tensor("input_features", input_features_desc, MLUOP_DTYPE_FLOAT, MLUOP_LAYOUT_ARRAY, {b, n, c}) &&
          check.tensor("output_features", output_features_desc, MLUOP_DTYPE_FLOAT, MLUOP_LAYOUT_ARRAY,
                       {b, num_voxel_y, num_voxel_x, c}) &&
          check.tensor("pos_memo", pos_memo_desc, MLUOP_DTYPE_INT32, MLUOP_LAYOUT_ARRAY, {b, n, 3}) &&
          small_enough(check, "geom_xyz", *geom_xyz_desc) &&
          small_enough(check, "input_features", *input_features_desc) &&
          small_enough(check, "output_features", *output_features_desc) &&
          small_enough(check, "pos_memo", *pos_memo_desc) && check.data("geom_xyz", geom_xyz_desc, geom_xyz) &&
          check.data("input_features", input_features_desc, input_features) &&
          check.data("output_features", output_features_desc, output_features) &&
          check.data("pos_memo", pos_memo_desc, pos_memo) &&
          check.no_overlap({{"output_features", output_features, byte_count(*output_features_desc)},
                            {"pos_memo", pos_memo, byte_count(*pos_memo_desc)}},
                           {{"geom_xyz", geom_xyz, byte_count(*geom_xyz_desc)},
                            {"input_features", input_features, byte_count(*input_features_desc)}}))) {
      return check.status();
    }
    const voxel_pooling_forward::Args args{
        .batch_size = b,
        .num_points = n,
        .num_channels = c,
        .num_voxel_x = num_voxel_x,
        .num_voxel_y = num_voxel_y,
        .num_voxel_z = num_voxel_z,
        .geom_xyz = static_cast<const int32_t*>(geom_xyz),
        .input_features = static_cast<const float*>(input_features),
        .output_features = static_cast<float*>(output_features),
        .pos_memo = static_cast<int32_t*>(pos_memo),
    };
    const auto plan = voxel_pooling_forward::make_plan(*handle, args);
    if (debug_log_enabled()) {
      log_debug(text("[", kName, "] geom_xyz ", describe(*geom_xyz_desc), ", input_features ",
                     describe(*input_features_desc), ", output_features ", describe(*output_features_desc),
                     ", num_voxel_z ", num_voxel_z, ", ", plan.atomics ? "atomics" : "deterministic", ", taskDim ",
                     plan.task_dim, ", tile of ", plan.tile_points, " points"));
    }
    voxel_pooling_forward::run(*handle, plan, args);
    return MLUOP_STATUS_SUCCESS;
  });
}
