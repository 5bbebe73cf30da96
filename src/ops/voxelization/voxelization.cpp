// mluOpVoxelization and its workspace query: entries and checks.
// Start with the entry at the end of this file, then run() in voxelization_native.cpp, Role, Sizes and Workspace
// in voxelization_native_kernels.h, and the kernels in voxelization_native_kernels.cpp, in the order of their
// launches from locate_points() to copy_points().
#include <algorithm>
#include <cmath>

#include "core/sizes.h"
#include "ops/voxelization/voxelization.h"

namespace mluop::voxelization {
namespace {

constexpr auto kBadParam = MLUOP_STATUS_BAD_PARAM;

// The parameters shared by the operator and its query.
struct Parameters {
  const TensorDescriptor *points_desc, *voxel_size_desc, *coors_range_desc;
  int32_t max_points, max_voxels, NDim;
  bool deterministic;
  const TensorDescriptor *voxels_desc, *coors_desc, *num_points_per_voxel_desc, *voxel_num_desc;

  // There are no voxels: nothing is read.
  bool is_empty() const { return max_voxels == 0; }
};

// The data of the tensors; null in the query.
struct Data {
  const void *points, *voxel_size, *coors_range;
  void *voxels, *coors, *num_points_per_voxel, *voxel_num;
};

// Declares the tensors and checks everything except their data and the workspace.
void check_arguments(Call& call, const Parameters& p, const Data& data) {
  constexpr auto kFloat = MLUOP_DTYPE_FLOAT, kInt = MLUOP_DTYPE_INT32;
  const int64_t N = dim_of(p.points_desc, 0), F = dim_of(p.points_desc, 1);
  call.parameter("max_points", p.max_points, AtLeast{0});
  call.parameter("max_voxels", p.max_voxels, AtLeast{0});
  call.parameter("ndim", p.NDim);
  call.parameter("deterministic", p.deterministic);
  call.input("points", p.points_desc, data.points, kFloat, kAnyLayout, {kAny, kAny});
  call.input("voxel_size", p.voxel_size_desc, data.voxel_size, kFloat, kAnyLayout, {3});
  call.input("coors_range", p.coors_range_desc, data.coors_range, kFloat, kAnyLayout, {6});
  call.output("voxels", p.voxels_desc, data.voxels, kFloat, kAnyLayout, {p.max_voxels, p.max_points, F});
  call.output("coors", p.coors_desc, data.coors, kInt, kAnyLayout, {p.max_voxels, 3});
  call.output("num_points_per_voxel", p.num_points_per_voxel_desc, data.num_points_per_voxel, kInt, kAnyLayout,
              {p.max_voxels});
  call.output("voxel_num", p.voxel_num_desc, data.voxel_num, kInt, kAnyLayout, {1});
  if (p.is_empty()) call.reads_nothing();

  call.check_pointers();
  call.check_not_200_series();
  require(p.NDim == 3, kBadParam, "NDim is ", p.NDim, ", expected 3");
  require(p.deterministic, kBadParam, "deterministic is false, expected true");
  call.check_parameters();
  require_int32_count("points dim 0", N);
  call.check_tensors();
  require_positive("points dim 0", N);
  require(F >= 3, kBadParam, "points dim 1 is ", F, ", expected at least NDim, which is 3");
}

std::array<Axis, 3> make_axes(const float* voxel_size, const float* coors_range) {
  constexpr float kMaxAxisCells = 0x1p31F;
  constexpr int64_t kMaxCells = int64_t{1} << 62;
  for (int i = 0; i < 3; ++i) {
    require(voxel_size[i] > 0 && std::isfinite(voxel_size[i]), kBadParam, "voxel_size[", i, "] is ", voxel_size[i],
            ", expected a positive finite number");
  }
  for (int i = 0; i < 6; ++i) {
    require(std::isfinite(coors_range[i]), kBadParam, "coors_range[", i, "] is ", coors_range[i],
            ", expected a finite number");
  }
  std::array<Axis, 3> axes{};
  for (int i = 0; i < 3; ++i) {
    const float low = coors_range[i], size = voxel_size[i];
    const float cells = std::max(std::round((coors_range[i + 3] - low) / size), 0.0F);
    require(cells <= kMaxAxisCells, MLUOP_STATUS_NOT_SUPPORTED, "axis ", i, " has ", cells,
            " cells, expected at most 2^31");
    axes[static_cast<size_t>(i)] = {low, size, cells};
  }
  const auto cells_of = [&](size_t i) { return static_cast<int64_t>(axes[i].cells); };
  const auto cells = checked_product(cells_of(0) * cells_of(1), cells_of(2));
  require(cells && *cells <= kMaxCells, MLUOP_STATUS_NOT_SUPPORTED, "the grid has more than 2^62 cells");
  return axes;
}

}  // namespace
}  // namespace mluop::voxelization

mluOpStatus_t MLUOP_WIN_API mluOpGetVoxelizationWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t points_desc, const mluOpTensorDescriptor_t voxel_size_desc,
    const mluOpTensorDescriptor_t coors_range_desc, const int32_t max_points, const int32_t max_voxels,
    const int32_t NDim, const bool deterministic, const mluOpTensorDescriptor_t voxels_desc,
    const mluOpTensorDescriptor_t coors_desc, const mluOpTensorDescriptor_t num_points_per_voxel_desc,
    const mluOpTensorDescriptor_t voxel_num_desc, size_t* size) {
  using namespace mluop;
  using namespace mluop::voxelization;
  return run_workspace_query("mluOpGetVoxelizationWorkspaceSize", handle, size, [&](Call& call) {
    const Parameters parameters{
        points_desc, voxel_size_desc, coors_range_desc,          max_points,    max_voxels, NDim, deterministic,
        voxels_desc, coors_desc,      num_points_per_voxel_desc, voxel_num_desc};
    check_arguments(call, parameters, {});
    return parameters.is_empty() ? 0 : native::workspace_bytes(points_desc->dims[0]);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpVoxelization(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t points_desc, const void* points,
    const mluOpTensorDescriptor_t voxel_size_desc, const void* voxel_size,
    const mluOpTensorDescriptor_t coors_range_desc, const void* coors_range, const int32_t max_points,
    const int32_t max_voxels, const int32_t NDim, const bool deterministic, void* workspace, size_t workspace_size,
    const mluOpTensorDescriptor_t voxels_desc, void* voxels, const mluOpTensorDescriptor_t coors_desc, void* coors,
    const mluOpTensorDescriptor_t num_points_per_voxel_desc, void* num_points_per_voxel,
    const mluOpTensorDescriptor_t voxel_num_desc, void* voxel_num) {
  using namespace mluop;
  using namespace mluop::voxelization;
  return run_operator("mluOpVoxelization", handle, [&](Call& call) {
    const Parameters parameters{
        points_desc, voxel_size_desc, coors_range_desc,          max_points,    max_voxels, NDim, deterministic,
        voxels_desc, coors_desc,      num_points_per_voxel_desc, voxel_num_desc};
    check_arguments(call, parameters,
                    {points, voxel_size, coors_range, voxels, coors, num_points_per_voxel, voxel_num});
    if (parameters.is_empty()) {
      *static_cast<int32_t*>(voxel_num) = 0;
      return;
    }
    const int64_t N = points_desc->dims[0];
    const Arena arena = call.workspace(workspace, workspace_size, native::workspace_bytes(N));
    native::run(
        call,
        {
            .N = N,
            .F = points_desc->dims[1],
            .max_points = max_points,
            .max_voxels = max_voxels,
            .axes = make_axes(static_cast<const float*>(voxel_size), static_cast<const float*>(coors_range)),
            .points = static_cast<const float*>(points),
            .voxels = static_cast<float*>(voxels),
            .coors = static_cast<int32_t*>(coors),
            .num_points_per_voxel = static_cast<int32_t*>(num_points_per_voxel),
            .voxel_num = static_cast<int32_t*>(voxel_num),
        },
        arena);
  });
}
