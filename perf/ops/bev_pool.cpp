// BEV pool forward and backward at the size of BEVDepth, with the geometry of its cameras: with all points (points
// out of range are skipped), and, as BEVDet prepares them, with only the points in range, sorted by cell.
#include <algorithm>
#include <numeric>
#include <vector>

#include "case/networks/bev_depth.h"
#include "case/scenes/camera_rig.h"
#include "perf/support/operator_case.h"

namespace mluop::perf::bev_pool {
namespace {

struct Row {
  const char* name;
  bool by_cell;
};
constexpr Row kCases[] = {{"camera", false}, {"camera by_cell", true}};

// The points in range, sorted by cell.
std::vector<size_t> points_by_cell(const std::vector<int32_t>& cells) {
  std::vector<size_t> points(cells.size());
  std::iota(points.begin(), points.end(), 0);
  std::erase_if(points, [&](size_t point) { return cells[point] < 0; });
  std::ranges::stable_sort(points, {}, [&](size_t point) { return cells[point]; });
  return points;
}

void select(const std::vector<size_t>& points, std::vector<int32_t>& numbers) {
  std::vector<int32_t> selected;
  for (const size_t point : points) selected.push_back(numbers[point]);
  numbers = selected;
}

template <bool kForward>
std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  const auto depths = static_cast<int32_t>(scaled(scenes::kBevDepthBins, size));
  const networks::bev_depth::Sizes sizes = networks::bev_depth::network_sizes(depths);
  networks::bev_depth::Points points(sizes, scenes::camera_geometry(sizes.batches, depths));
  const int64_t D = std::ssize(points.ranks_depth), F = sizes.images() * sizes.pixels, M = sizes.output_rows(),
                C = sizes.channels;
  if (row.by_cell) {
    const std::vector<size_t> selected = points_by_cell(points.ranks_bev);
    for (auto* numbers : {&points.ranks_depth, &points.ranks_feat, &points.ranks_bev}) select(selected, *numbers);
  }
  const int64_t P = std::ssize(points.ranks_bev);
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
  made->set("ranks_depth", points.ranks_depth);
  made->set("ranks_feat", points.ranks_feat);
  made->set("ranks_bev", points.ranks_bev);
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
