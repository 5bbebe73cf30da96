// mluOpDynamicScatterBackward, mluOpDynamicPointToVoxelBackward and their workspace queries: entries and checks.
// Start with compute_grad_feats() below, then run() in dynamic_scatter_backward_native.cpp, then the kernels in
// dynamic_scatter_backward_native_kernels.cpp: check() and gather() for sum and mean, rank() and match() for the
// maximum. The maximum also has a device algorithm: run() in dynamic_scatter_backward_device.cpp.
#include "ops/dynamic_scatter_backward/dynamic_scatter_backward.h"

namespace mluop::dynamic_scatter_backward {
namespace {

constexpr auto kBadParam = MLUOP_STATUS_BAD_PARAM;

// A tensor parameter; its data is null in a query.
struct Input {
  const TensorDescriptor* desc;
  const void* data = nullptr;
};

struct Inputs {
  bool has_features() const { return dim_of(feats.desc, 0) > 0 && dim_of(feats.desc, 1) > 0; }

  Input grad_voxel_feats, feats, voxel_feats, point2voxel_map, voxel_points_count, voxel_num;
};

void declare_feats(Call& call, const Input& feats) {
  call.input("feats", feats.desc, feats.data, MLUOP_DTYPE_FLOAT, kAnyLayout, {kAny, kAny});
}

void declare_inputs(Call& call, const Inputs& in) {
  const int64_t n = dim_of(in.feats.desc, 0), c = dim_of(in.feats.desc, 1), m = dim_of(in.voxel_feats.desc, 0);
  const auto input = [&](std::string_view name, const Input& tensor, mluOpDataType_t dtype,
                         std::initializer_list<int64_t> shape) {
    call.input(name, tensor.desc, tensor.data, dtype, kAnyLayout, shape);
  };
  input("grad_voxel_feats", in.grad_voxel_feats, MLUOP_DTYPE_FLOAT, {m, c});
  declare_feats(call, in.feats);
  input("voxel_feats", in.voxel_feats, MLUOP_DTYPE_FLOAT, {kAny, c});
  input("point2voxel_map", in.point2voxel_map, MLUOP_DTYPE_INT32, {n});
  input("voxel_points_count", in.voxel_points_count, MLUOP_DTYPE_INT32, {m});
  input("voxel_num", in.voxel_num, MLUOP_DTYPE_INT32, {1});
  if (!in.has_features()) call.reads_nothing();
}

void check_feats_size(const TensorDescriptor& feats) {
  constexpr int64_t kMaxBytes = int64_t{1} << 60;  // sums of several such sizes fit int64_t
  require(dim_of(&feats, 0) < (int64_t{1} << 31), MLUOP_STATUS_NOT_SUPPORTED, "feats has ", dim_of(&feats, 0),
          " points, expected fewer than 2^31");
  require(byte_count(feats) < kMaxBytes, kBadParam, "feats has ", byte_count(feats),
          " bytes, expected fewer than 2^60");
}

void check_voxel_count(const Inputs& in) {
  const int64_t n = in.feats.desc->dims[0], m = in.voxel_feats.desc->dims[0];
  require(m <= n || !in.has_features(), kBadParam, "voxel_feats dim 0 is ", m,
          ", expected at most feats dim 0, which is ", n);
}

// The rules shared by the operators and their queries. Their tensors must be declared.
void check_arguments(Call& call, const TensorDescriptor* feats_desc) {
  call.check_pointers();
  call.check_parameters();
  check_feats_size(*feats_desc);
  call.check_tensors();
}

// The design document describes the maximum only.
bool uses_device_algorithm(const Call& call, mluOpReduceMode_t reduce_type) {
  return call.context().algorithm == MLUOP_OMP_ALGORITHM_DEVICE && reduce_type == MLUOP_REDUCE_DMAX;
}

// The result of both queries.
size_t workspace_bytes(const Call& call, mluOpReduceMode_t reduce_type, const TensorDescriptor& feats) {
  const int64_t n = feats.dims[0], c = feats.dims[1];
  return uses_device_algorithm(call, reduce_type) ? device::workspace_bytes(n, c)
                                                  : native::workspace_bytes(reduce_type, n, c);
}

void check_voxel_num(int32_t voxel_num, int64_t m) {
  require(0 <= voxel_num && voxel_num <= m, kBadParam, "voxel_num[0] is ", voxel_num, ", expected 0 to ", m);
}

mluOpStatus_t compute_grad_feats(std::string_view function, mluOpHandle_t handle, mluOpReduceMode_t reduce_type,
                                 const Inputs& in, void* workspace, size_t workspace_size,
                                 const TensorDescriptor* grad_feats_desc, void* grad_feats) {
  return run_operator(function, handle, [&](Call& call) {
    const int64_t n = dim_of(in.feats.desc, 0), c = dim_of(in.feats.desc, 1);
    call.parameter("reduce_type", reduce_type);
    declare_inputs(call, in);
    call.output("grad_feats", grad_feats_desc, grad_feats, MLUOP_DTYPE_FLOAT, kAnyLayout, {n, c});
    check_arguments(call, in.feats.desc);
    check_voxel_count(in);
    const Arena arena =
        call.workspace(workspace, workspace_size, workspace_bytes(call, reduce_type, *in.feats.desc));
    if (!in.has_features()) return;
    const int32_t voxel_num = *static_cast<const int32_t*>(in.voxel_num.data);
    check_voxel_num(voxel_num, in.voxel_feats.desc->dims[0]);
    const Args args{
        .reduce_type = reduce_type,
        .point_count = static_cast<int32_t>(n),
        .voxel_count = voxel_num,
        .channels = c,
        .grad_voxel_feats = static_cast<const float*>(in.grad_voxel_feats.data),
        .feats = static_cast<const float*>(in.feats.data),
        .voxel_feats = static_cast<const float*>(in.voxel_feats.data),
        .point2voxel_map = static_cast<const int32_t*>(in.point2voxel_map.data),
        .voxel_points_count = static_cast<const int32_t*>(in.voxel_points_count.data),
        .grad_feats = static_cast<float*>(grad_feats),
    };
    if (uses_device_algorithm(call, reduce_type)) {
      device::run(call, args, arena);
    } else {
      native::run(call, args, arena);
    }
  });
}

// A descriptor that the query does not read.
struct UnusedDescriptor {
  std::string_view name;
  const TensorDescriptor* desc;
};

mluOpStatus_t query_workspace(std::string_view function, mluOpHandle_t handle, mluOpReduceMode_t reduce_type,
                              const TensorDescriptor* feats_desc, std::initializer_list<UnusedDescriptor> unused,
                              size_t* workspace_size) {
  return run_workspace_query(function, handle, workspace_size, [&](Call& call) {
    for (const UnusedDescriptor& descriptor : unused) require_not_null(descriptor.name, descriptor.desc);
    call.parameter("reduce_type", reduce_type);
    declare_feats(call, {feats_desc});
    check_arguments(call, feats_desc);
    return workspace_bytes(call, reduce_type, *feats_desc);
  });
}

}  // namespace
}  // namespace mluop::dynamic_scatter_backward

mluOpStatus_t MLUOP_WIN_API mluOpGetDynamicScatterBackwardWorkspaceSize(const mluOpHandle_t handle,
                                                                        const mluOpReduceMode_t reduce_type,
                                                                        const mluOpTensorDescriptor_t feats_desc,
                                                                        size_t* workspace_size) {
  return mluop::dynamic_scatter_backward::query_workspace("mluOpGetDynamicScatterBackwardWorkspaceSize", handle,
                                                          reduce_type, feats_desc, {}, workspace_size);
}

// All other descriptors are only checked for null: mmcv passes the descriptor of grad_feats as
// grad_voxel_feats_desc.
mluOpStatus_t MLUOP_WIN_API mluOpGetDynamicPointToVoxelBackwardWorkspaceSize(
    const mluOpHandle_t handle, const mluOpReduceMode_t reduce_type,
    const mluOpTensorDescriptor_t grad_voxel_feats_desc, const mluOpTensorDescriptor_t feats_desc,
    const mluOpTensorDescriptor_t voxel_feats_desc, const mluOpTensorDescriptor_t point2voxel_map_desc,
    const mluOpTensorDescriptor_t voxel_points_count_desc, const mluOpTensorDescriptor_t voxel_num_desc,
    size_t* workspace_size) {
  return mluop::dynamic_scatter_backward::query_workspace("mluOpGetDynamicPointToVoxelBackwardWorkspaceSize",
                                                          handle, reduce_type, feats_desc,
                                                          {{"grad_voxel_feats_desc", grad_voxel_feats_desc},
                                                           {"voxel_feats_desc", voxel_feats_desc},
                                                           {"point2voxel_map_desc", point2voxel_map_desc},
                                                           {"voxel_points_count_desc", voxel_points_count_desc},
                                                           {"voxel_num_desc", voxel_num_desc}},
                                                          workspace_size);
}

mluOpStatus_t MLUOP_WIN_API mluOpDynamicScatterBackward(
    const mluOpHandle_t handle, const mluOpReduceMode_t reduce_type,
    const mluOpTensorDescriptor_t grad_voxel_feats_desc, const void* grad_voxel_feats,
    const mluOpTensorDescriptor_t feats_desc, const void* feats, const mluOpTensorDescriptor_t voxel_feats_desc,
    const void* voxel_feats, const mluOpTensorDescriptor_t point2voxel_map_desc, const void* point2voxel_map,
    const mluOpTensorDescriptor_t voxel_points_count_desc, const void* voxel_points_count,
    const mluOpTensorDescriptor_t voxel_num_desc, void* voxel_num, void* workspace, const size_t workspace_size,
    const mluOpTensorDescriptor_t grad_feats_desc, void* grad_feats) {
  return mluop::dynamic_scatter_backward::compute_grad_feats("mluOpDynamicScatterBackward", handle, reduce_type,
                                                             {{grad_voxel_feats_desc, grad_voxel_feats},
                                                              {feats_desc, feats},
                                                              {voxel_feats_desc, voxel_feats},
                                                              {point2voxel_map_desc, point2voxel_map},
                                                              {voxel_points_count_desc, voxel_points_count},
                                                              {voxel_num_desc, voxel_num}},
                                                             workspace, workspace_size, grad_feats_desc,
                                                             grad_feats);
}

mluOpStatus_t MLUOP_WIN_API mluOpDynamicPointToVoxelBackward(
    const mluOpHandle_t handle, const mluOpReduceMode_t reduce_type,
    const mluOpTensorDescriptor_t grad_voxel_feats_desc, const void* grad_voxel_feats,
    const mluOpTensorDescriptor_t feats_desc, const void* feats, const mluOpTensorDescriptor_t voxel_feats_desc,
    const void* voxel_feats, const mluOpTensorDescriptor_t point2voxel_map_desc, const void* point2voxel_map,
    const mluOpTensorDescriptor_t voxel_points_count_desc, const void* voxel_points_count,
    const mluOpTensorDescriptor_t voxel_num_desc, const void* voxel_num, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t grad_feats_desc, void* grad_feats) {
  return mluop::dynamic_scatter_backward::compute_grad_feats(
      "mluOpDynamicPointToVoxelBackward", handle, reduce_type,
      {{grad_voxel_feats_desc, grad_voxel_feats},
       {feats_desc, feats},
       {voxel_feats_desc, voxel_feats},
       {point2voxel_map_desc, point2voxel_map},
       {voxel_points_count_desc, voxel_points_count},
       {voxel_num_desc, voxel_num}},
      workspace, workspace_size, grad_feats_desc, grad_feats);
}
