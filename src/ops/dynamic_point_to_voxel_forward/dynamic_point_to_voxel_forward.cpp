// mluOpDynamicPointToVoxelForward and its workspace query: entries and checks.
// Start with the entry at the end of this file, then run() and class Steps above it in
// dynamic_point_to_voxel_forward_native.cpp, key_words.h, shared_voxels.h, and from top to bottom
// dynamic_point_to_voxel_forward_native_kernels.cpp: keys, sorted points, then reduce_voxels() and Reducer.
#include "ops/dynamic_point_to_voxel_forward/dynamic_point_to_voxel_forward.h"

namespace mluop::dynamic_point_to_voxel_forward {
namespace {

constexpr auto kBadParam = MLUOP_STATUS_BAD_PARAM;

// The tensors shared by the operator and its query; data are null in the query.
struct Points {
  bool empty() const { return dim_of(feats_desc, 0) == 0; }

  const TensorDescriptor *feats_desc, *coors_desc;
  const void* feats = nullptr;
  void* coors = nullptr;
};

void declare_points(Call& call, const Points& points) {
  call.input("feats", points.feats_desc, points.feats, MLUOP_DTYPE_FLOAT, kAnyLayout, {kAny, kAny});
  call.inout("coors", points.coors_desc, points.coors, MLUOP_DTYPE_INT32, kAnyLayout,
             {dim_of(points.feats_desc, 0), kAxes});
  if (points.empty()) call.reads_nothing();
}

// The rules shared by the operator and its query. Their tensors must be declared.
void check_arguments(Call& call, const Points& points) {
  constexpr int64_t kMaxPoints = int64_t{1} << 31;
  call.check_pointers();
  call.check_not_200_series();
  require(dim_of(points.feats_desc, 0) < kMaxPoints, MLUOP_STATUS_NOT_SUPPORTED, "feats has ",
          dim_of(points.feats_desc, 0), " points, expected fewer than 2^31");
  call.check_tensors();
}

}  // namespace
}  // namespace mluop::dynamic_point_to_voxel_forward

mluOpStatus_t MLUOP_WIN_API
mluOpGetDynamicPointToVoxelForwardWorkspaceSize(mluOpHandle_t handle, const mluOpTensorDescriptor_t feats_desc,
                                                const mluOpTensorDescriptor_t coors_desc, size_t* workspace_size) {
  using namespace mluop;
  using namespace mluop::dynamic_point_to_voxel_forward;
  return run_workspace_query("mluOpGetDynamicPointToVoxelForwardWorkspaceSize", handle, workspace_size,
                             [&](Call& call) {
                               const Points points{feats_desc, coors_desc};
                               declare_points(call, points);
                               check_arguments(call, points);
                               return points.empty() ? 0 : native::workspace_bytes(points.feats_desc->dims[0]);
                             });
}

mluOpStatus_t MLUOP_WIN_API mluOpDynamicPointToVoxelForward(
    const mluOpHandle_t handle, const mluOpReduceMode_t reduce_type, const mluOpTensorDescriptor_t feats_desc,
    const void* feats, const mluOpTensorDescriptor_t coors_desc, void* coors, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t voxel_feats_desc, void* voxel_feats,
    const mluOpTensorDescriptor_t voxel_coors_desc, void* voxel_coors,
    const mluOpTensorDescriptor_t point2voxel_map_desc, void* point2voxel_map,
    const mluOpTensorDescriptor_t voxel_points_count_desc, void* voxel_points_count,
    const mluOpTensorDescriptor_t voxel_num_desc, void* voxel_num) {
  using namespace mluop;
  using namespace mluop::dynamic_point_to_voxel_forward;
  return run_operator("mluOpDynamicPointToVoxelForward", handle, [&](Call& call) {
    using namespace dynamic_point_to_voxel_forward;
    const Points points{feats_desc, coors_desc, feats, coors};
    const bool empty = points.empty();
    const int64_t n = dim_of(feats_desc, 0), c = dim_of(feats_desc, 1), m = dim_of(voxel_feats_desc, 0);
    constexpr auto kInt = MLUOP_DTYPE_INT32;
    call.parameter("reduce_type", reduce_type);
    declare_points(call, points);
    // Rows past the last voxel are unchanged.
    call.inout("voxel_feats", voxel_feats_desc, voxel_feats, MLUOP_DTYPE_FLOAT, kAnyLayout, {kAny, c});
    call.inout("voxel_coors", voxel_coors_desc, voxel_coors, kInt, kAnyLayout, {m, kAxes});
    call.output("point2voxel_map", point2voxel_map_desc, point2voxel_map, kInt, kAnyLayout, {n});
    call.inout("voxel_points_count", voxel_points_count_desc, voxel_points_count, kInt, kAnyLayout, {m});
    call.output("voxel_num", voxel_num_desc, voxel_num, kInt, kAnyLayout, {1});
    check_arguments(call, points);
    call.check_parameters();
    require(m <= n || empty, kBadParam, "voxel_feats dim 0 is ", m, ", expected at most feats dim 0, which is ",
            n);
    const Arena arena = call.workspace(workspace, workspace_size, empty ? 0 : native::workspace_bytes(n));
    if (empty) {
      *static_cast<int32_t*>(voxel_num) = 0;
      return;
    }
    const Args args{
        .reduce_type = reduce_type,
        .point_count = n,
        .max_voxels = m,
        .channels = c,
        .feats = static_cast<const float*>(feats),
        .coors = static_cast<int32_t*>(coors),
        .voxel_feats = static_cast<float*>(voxel_feats),
        .voxel_coors = static_cast<int32_t*>(voxel_coors),
        .point2voxel_map = static_cast<int32_t*>(point2voxel_map),
        .voxel_points_count = static_cast<int32_t*>(voxel_points_count),
        .voxel_num = static_cast<int32_t*>(voxel_num),
    };
    native::run(call, args, arena);
  });
}
