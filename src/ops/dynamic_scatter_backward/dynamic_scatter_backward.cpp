// mluOpDynamicScatterBackward, mluOpDynamicPointToVoxelBackward and their workspace queries: entry and checks.
#include "core/boundary.h"
#include "core/checks.h"
#include "core/log.h"
#include "ops/dynamic_scatter_backward/plan.h"

namespace mluop {
namespace {

// The tensors of a call by their names; those that a query does not take are absent.
struct Descriptors {
  mluOpTensorDescriptor_t grad_voxel_feats, feats, voxel_feats, point2voxel_map, voxel_points_count, voxel_num;
};

struct Data {
  const void *grad_voxel_feats, *feats, *voxel_feats, *point2voxel_map, *voxel_points_count, *voxel_num;
};

// Sums of several such tensors stay within int64_t.
constexpr int64_t kMaxBytes = int64_t{1} << 60;

bool reduces_by_max(Checks& check, mluOpReduceMode_t reduce_type) {
  return check.rule(reduce_type == MLUOP_REDUCE_DMAX, MLUOP_STATUS_BAD_PARAM, "reduce_type is ",
                    static_cast<int>(reduce_type), ", expected MLUOP_REDUCE_DMAX (2)");
}

bool feats_tensor(Checks& check, const TensorDescriptor* desc) {
  return check.tensor("feats", desc, MLUOP_DTYPE_FLOAT, MLUOP_LAYOUT_ARRAY, {-1, -1}) &&
         check.rule(desc->dims[0] < (int64_t{1} << 31), MLUOP_STATUS_NOT_SUPPORTED, "feats has ", desc->dims[0],
                    " points, expected fewer than 2^31") &&
         check.rule(byte_count(*desc) < kMaxBytes, MLUOP_STATUS_BAD_PARAM, "feats has ", byte_count(*desc),
                    " bytes, expected fewer than 2^60");
}

bool input_tensors(Checks& check, const Descriptors& desc) {
  if (!(feats_tensor(check, desc.feats) && check.tensor("voxel_feats", desc.voxel_feats, MLUOP_DTYPE_FLOAT,
                                                        MLUOP_LAYOUT_ARRAY, {-1, desc.feats->dims[1]}))) {
    return false;
  }
  const int64_t n = desc.feats->dims[0], m = desc.voxel_feats->dims[0], c = desc.feats->dims[1];
  return check.tensor("grad_voxel_feats", desc.grad_voxel_feats, MLUOP_DTYPE_FLOAT, MLUOP_LAYOUT_ARRAY, {m, c}) &&
         check.tensor("point2voxel_map", desc.point2voxel_map, MLUOP_DTYPE_INT32, MLUOP_LAYOUT_ARRAY, {n}) &&
         check.tensor("voxel_points_count", desc.voxel_points_count, MLUOP_DTYPE_INT32, MLUOP_LAYOUT_ARRAY, {m}) &&
         check.tensor("voxel_num", desc.voxel_num, MLUOP_DTYPE_INT32, MLUOP_LAYOUT_ARRAY, {1});
}

bool no_more_voxels_than_points(Checks& check, const Descriptors& desc) {
  return check.rule(desc.voxel_feats->dims[0] <= desc.feats->dims[0], MLUOP_STATUS_BAD_PARAM,
                    "voxel_feats dim 0 is ", desc.voxel_feats->dims[0],
                    ", expected at most feats dim 0, which is ", desc.feats->dims[0]);
}

// Of both queries: feats alone decides.
size_t query(const TensorDescriptor& feats) {
  return dynamic_scatter_backward::workspace_bytes(static_cast<int32_t>(feats.dims[0]), feats.dims[1]);
}

mluOpStatus_t backward(std::string_view name, mluOpHandle_t handle, mluOpReduceMode_t reduce_type,
                       const Descriptors& desc, const Data& data, void* workspace, size_t workspace_size,
                       const TensorDescriptor* grad_feats_desc, void* grad_feats) {
  return guarded(name, [&] {
    Checks check(name);
    if (!check.not_null("handle", handle)) return check.status();
    const std::lock_guard lock(handle->execution);
    if (!(reduces_by_max(check, reduce_type) && input_tensors(check, desc) &&
          check.tensor("grad_feats", grad_feats_desc, MLUOP_DTYPE_FLOAT, MLUOP_LAYOUT_ARRAY,
                       {desc.feats->dims[0], desc.feats->dims[1]}))) {
      return check.status();
    }
    if (element_count(*desc.feats) == 0) {
      if (debug_log_enabled()) log_debug(text("[", name, "] feats ", describe(*desc.feats), ", nothing to do"));
      return MLUOP_STATUS_SUCCESS;
    }
    const auto bytes = [](const TensorDescriptor* of) { return byte_count(*of); };
    const size_t needed = query(*desc.feats);
    const int64_t m = desc.voxel_feats->dims[0];
    if (!(no_more_voxels_than_points(check, desc) &&
          check.data("grad_voxel_feats", desc.grad_voxel_feats, data.grad_voxel_feats) &&
          check.data("feats", desc.feats, data.feats) &&
          check.data("voxel_feats", desc.voxel_feats, data.voxel_feats) &&
          check.data("point2voxel_map", desc.point2voxel_map, data.point2voxel_map) &&
          check.data("voxel_points_count", desc.voxel_points_count, data.voxel_points_count) &&
          check.data("voxel_num", desc.voxel_num, data.voxel_num) &&
          check.data("grad_feats", grad_feats_desc, grad_feats) &&
          check.rule(workspace_size >= needed, MLUOP_STATUS_BAD_PARAM, "workspace_size is ", workspace_size,
                     ", expected at least ", needed) &&
          check.not_null("workspace", workspace) &&
          check.no_overlap({{"grad_feats", grad_feats, bytes(grad_feats_desc)},
                            {"workspace", workspace, static_cast<int64_t>(needed)}},
                           {{"grad_voxel_feats", data.grad_voxel_feats, bytes(desc.grad_voxel_feats)},
                            {"feats", data.feats, bytes(desc.feats)},
                            {"voxel_feats", data.voxel_feats, bytes(desc.voxel_feats)},
                            {"point2voxel_map", data.point2voxel_map, bytes(desc.point2voxel_map)},
                            {"voxel_points_count", data.voxel_points_count, bytes(desc.voxel_points_count)},
                            {"voxel_num", data.voxel_num, bytes(desc.voxel_num)}}))) {
      return check.status();
    }
    const int32_t voxel_num = *static_cast<const int32_t*>(data.voxel_num);
    if (!check.rule(0 <= voxel_num && voxel_num <= m, MLUOP_STATUS_BAD_PARAM, "voxel_num[0] is ", voxel_num,
                    ", expected 0 to ", m)) {
      return check.status();
    }
    const dynamic_scatter_backward::Args args{
        .point_count = static_cast<int32_t>(desc.feats->dims[0]),
        .voxel_count = voxel_num,
        .channels = desc.feats->dims[1],
        .grad_voxel_feats = static_cast<const float*>(data.grad_voxel_feats),
        .feats = static_cast<const float*>(data.feats),
        .voxel_feats = static_cast<const float*>(data.voxel_feats),
        .point2voxel_map = static_cast<const int32_t*>(data.point2voxel_map),
        .grad_feats = static_cast<float*>(grad_feats),
    };
    const auto plan = dynamic_scatter_backward::make_plan(*handle, args);
    if (debug_log_enabled()) {
      log_debug(text("[", name, "] feats ", describe(*desc.feats), ", voxel_feats ", describe(*desc.voxel_feats),
                     ", voxel_num[0] ", voxel_num, ", ", plan.atomics ? "atomics" : "deterministic", ", taskDim ",
                     plan.task_dim));
    }
    dynamic_scatter_backward::run(*handle, plan, args, static_cast<std::byte*>(workspace));
    return MLUOP_STATUS_SUCCESS;
  });
}

}  // namespace
}  // namespace mluop

mluOpStatus_t MLUOP_WIN_API mluOpGetDynamicScatterBackwardWorkspaceSize(const mluOpHandle_t handle,
                                                                        const mluOpReduceMode_t reduce_type,
                                                                        const mluOpTensorDescriptor_t feats_desc,
                                                                        size_t* workspace_size) {
  using namespace mluop;
  constexpr auto kName = "mluOpGetDynamicScatterBackwardWorkspaceSize";
  return guarded(kName, [&] {
    Checks check(kName);
    if (!(check.not_null("handle", handle) && reduces_by_max(check, reduce_type) &&
          feats_tensor(check, feats_desc) && check.not_null("workspace_size", workspace_size))) {
      return check.status();
    }
    *workspace_size = query(*feats_desc);
    return MLUOP_STATUS_SUCCESS;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetDynamicPointToVoxelBackwardWorkspaceSize(
    const mluOpHandle_t handle, const mluOpReduceMode_t reduce_type,
    const mluOpTensorDescriptor_t grad_voxel_feats_desc, const mluOpTensorDescriptor_t feats_desc,
    const mluOpTensorDescriptor_t voxel_feats_desc, const mluOpTensorDescriptor_t point2voxel_map_desc,
    const mluOpTensorDescriptor_t voxel_points_count_desc, const mluOpTensorDescriptor_t voxel_num_desc,
    size_t* workspace_size) {
  using namespace mluop;
  constexpr auto kName = "mluOpGetDynamicPointToVoxelBackwardWorkspaceSize";
  return guarded(kName, [&] {
    Checks check(kName);
    const Descriptors desc{grad_voxel_feats_desc,   feats_desc,    voxel_feats_desc, point2voxel_map_desc,
                           voxel_points_count_desc, voxel_num_desc};
    if (!(check.not_null("handle", handle) && reduces_by_max(check, reduce_type) && input_tensors(check, desc) &&
          (element_count(*feats_desc) == 0 || no_more_voxels_than_points(check, desc)) &&
          check.not_null("workspace_size", workspace_size))) {
      return check.status();
    }
    *workspace_size = query(*feats_desc);
    return MLUOP_STATUS_SUCCESS;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpDynamicScatterBackward(
    const mluOpHandle_t handle, const mluOpReduceMode_t reduce_type,
    const mluOpTensorDescriptor_t grad_voxel_feats_desc, const void* grad_voxel_feats,
    const mluOpTensorDescriptor_t feats_desc, const void* feats, const mluOpTensorDescriptor_t voxel_feats_desc,
    const void* voxel_feats, const mluOpTensorDescriptor_t point2voxel_map_desc, const void* point2voxel_map,
    const mluOpTensorDescriptor_t voxel_points_count_desc, const void* voxel_points_count,
    const mluOpTensorDescriptor_t voxel_num_desc, void* voxel_num, void* workspace, const size_t workspace_size,
    const mluOpTensorDescriptor_t grad_feats_desc, void* grad_feats) {
  return mluop::backward("mluOpDynamicScatterBackward", handle, reduce_type,
                         {grad_voxel_feats_desc, feats_desc, voxel_feats_desc, point2voxel_map_desc,
                          voxel_points_count_desc, voxel_num_desc},
                         {grad_voxel_feats, feats, voxel_feats, point2voxel_map, voxel_points_count, voxel_num},
                         workspace, workspace_size, grad_feats_desc, grad_feats);
}

mluOpStatus_t MLUOP_WIN_API mluOpDynamicPointToVoxelBackward(
    const mluOpHandle_t handle, const mluOpReduceMode_t reduce_type,
    const mluOpTensorDescriptor_t grad_voxel_feats_desc, const void* grad_voxel_feats,
    const mluOpTensorDescriptor_t feats_desc, const void* feats, const mluOpTensorDescriptor_t voxel_feats_desc,
    const void* voxel_feats, const mluOpTensorDescriptor_t point2voxel_map_desc, const void* point2voxel_map,
    const mluOpTensorDescriptor_t voxel_points_count_desc, const void* voxel_points_count,
    const mluOpTensorDescriptor_t voxel_num_desc, const void* voxel_num, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t grad_feats_desc, void* grad_feats) {
  return mluop::backward("mluOpDynamicPointToVoxelBackward", handle, reduce_type,
                         {grad_voxel_feats_desc, feats_desc, voxel_feats_desc, point2voxel_map_desc,
                          voxel_points_count_desc, voxel_num_desc},
                         {grad_voxel_feats, feats, voxel_feats, point2voxel_map, voxel_points_count, voxel_num},
                         workspace, workspace_size, grad_feats_desc, grad_feats);
}
