// BEV pool forward and backward at the size of BEVDepth, with the geometry of its cameras: all points, of which
// those out of range are skipped, and as BEVDet prepares them, those in range by cell.
#include <algorithm>
#include <numeric>
#include <vector>

#include "perf/ops/catalogue.h"
#include "perf/support/operator_case.h"
#include "support/camera_rig.h"

namespace mluop::perf::bev_pool {
namespace {

constexpr int64_t kCameras = 6;

struct Row {
  const char* name;
  bool by_cell;
};
constexpr Row kCases[] = {{"camera", false}, {"camera by_cell", true}};

// The cell of each point, -1 out of range.
std::vector<int32_t> cells_of(const reference::VoxelPoolingForwardSizes& sizes, int depths) {
  const std::vector<int32_t> geometry = test::camera_geometry(sizes.batch_size, depths);
  const auto per_batch = static_cast<int64_t>(sizes.num_points) / test::kBevDepthBins * depths;
  std::vector<int32_t> cells;
  for (int64_t point = 0; point < sizes.batch_size * per_batch; ++point) {
    const int32_t* const at = geometry.data() + 3 * point;
    const bool is_inside = at[0] >= 0 && at[0] < sizes.num_voxel_x && at[1] >= 0 && at[1] < sizes.num_voxel_y &&
                           at[2] >= 0 && at[2] < sizes.num_voxel_z;
    const int64_t row = point / per_batch * sizes.num_voxel_y + at[1];
    cells.push_back(is_inside ? static_cast<int32_t>(row * sizes.num_voxel_x + at[0]) : -1);
  }
  return cells;
}

template <bool kForward>
std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  const auto& sizes = test::kBevDepthSizes;
  // Scales the number of depth bins over the same range.
  const auto depths = static_cast<int>(scaled(test::kBevDepthBins, size));
  const int64_t pixels = sizes.num_points / test::kBevDepthBins / kCameras, C = sizes.num_channels;
  const std::vector<int32_t> cells = cells_of(sizes, depths);
  const auto D = static_cast<int64_t>(cells.size()), F = sizes.batch_size * kCameras * pixels,
             M = int64_t{sizes.batch_size} * sizes.num_voxel_y * sizes.num_voxel_x;
  std::vector<int32_t> points(cells.size());
  std::iota(points.begin(), points.end(), 0);
  const auto cell_of = [&](int32_t point) { return cells[static_cast<size_t>(point)]; };
  if (row.by_cell) {
    std::erase_if(points, [&](int32_t point) { return cell_of(point) < 0; });
    std::ranges::stable_sort(points, {}, cell_of);
  }
  std::vector<int32_t> rows, of_points;
  for (const int32_t point : points) {
    rows.push_back(static_cast<int32_t>(point / (depths * pixels) * pixels + point % pixels));
    of_points.push_back(cell_of(point));
  }
  const auto P = static_cast<int64_t>(points.size());
  std::vector<TensorShape> tensors = {{"depth", variant.dtype, {D}},
                                      {"features", variant.dtype, {F, C}},
                                      {"ranks_depth", MLUOP_DTYPE_INT32, {P}},
                                      {"ranks_feat", MLUOP_DTYPE_INT32, {P}},
                                      {"ranks_bev", MLUOP_DTYPE_INT32, {P}}};
  if (kForward) {
    tensors.push_back({"output", variant.dtype, {M, C}});
  } else {
    tensors.insert(tensors.begin(), {"grad_output", variant.dtype, {M, C}});
    tensors.push_back({"grad_depth", variant.dtype, {D}});
    tensors.push_back({"grad_features", variant.dtype, {F, C}});
  }
  auto made = make_case(kForward ? "bev_pool_forward" : "bev_pool_backward", variant, {}, tensors);
  made->fill_uniform("depth", 1);
  made->fill_uniform("features", 2);
  if (!kForward) made->fill_uniform("grad_output", 3);
  made->set("ranks_depth", points);
  made->set("ranks_feat", rows);
  made->set("ranks_bev", of_points);
  if (kForward) made->dump("num_cells", {M});
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "bev_pool_forward", kNative, kCases, make<true>);
  append_cases(specs, "bev_pool_backward", kNative, kCases, make<false>);
  return specs;
}

}  // namespace mluop::perf::bev_pool
