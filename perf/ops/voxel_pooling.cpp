// Voxel pooling forward and backward at the size of BEVDepth, with the geometry of its cameras and with uniform
// coordinates.
#include <algorithm>
#include <random>

#include "perf/bounds/voxel_pooling_forward.h"
#include "perf/ops/catalogue.h"
#include "perf/support/npy_folder.h"
#include "perf/support/operator_case.h"
#include "support/camera_rig.h"

namespace mluop::perf {
namespace {

using Sizes = reference::VoxelPoolingForwardSizes;

constexpr uint32_t kSeed = 1;

// Scales the number of depth bins over the same range.
int depth_bins(double size) { return static_cast<int>(scaled(test::kBevDepthBins, size)); }

Sizes sizes_of(int depths) {
  Sizes sizes = test::kBevDepthSizes;
  sizes.num_points = sizes.num_points / test::kBevDepthBins * depths;
  return sizes;
}

std::vector<int32_t> camera(const Sizes& sizes, int depths) {
  return test::camera_geometry(sizes.batch_size, depths);
}
std::vector<int32_t> uniform(const Sizes& sizes, int) { return test::uniform_geometry(sizes, kSeed); }

// Every point is in range: anywhere, or in the cell x, y = 1, 1.
std::vector<int32_t> in_range(const Sizes& sizes, int) {
  std::mt19937 random(kSeed);
  const auto below = [&](int bound) { return std::uniform_int_distribution<int32_t>(0, bound - 1)(random); };
  std::vector<int32_t> geometry;
  for (int64_t point = 0; point < sizes.points(); ++point) {
    geometry.push_back(below(sizes.num_voxel_x));
    geometry.push_back(below(sizes.num_voxel_y));
    geometry.push_back(0);
  }
  return geometry;
}
std::vector<int32_t> one_cell(const Sizes& sizes, int) {
  std::vector<int32_t> geometry(static_cast<size_t>(sizes.geom_count()), 1);
  for (size_t i = 2; i < geometry.size(); i += 3) geometry[i] = 0;
  return geometry;
}

// What voxel pooling forward writes for a geometry of one layer of voxels.
std::vector<int32_t> memo_of(const Sizes& sizes, const std::vector<int32_t>& geometry) {
  std::vector<int32_t> memo(geometry.size(), -1);
  for (size_t i = 0; i < geometry.size(); i += 3) {
    const int32_t x = geometry[i], y = geometry[i + 1], z = geometry[i + 2];
    if (x < 0 || x >= sizes.num_voxel_x || y < 0 || y >= sizes.num_voxel_y || z < 0 || z >= sizes.num_voxel_z) {
      continue;
    }
    memo[i] = static_cast<int32_t>(i / 3 / static_cast<size_t>(sizes.num_points));
    memo[i + 1] = y;
    memo[i + 2] = x;
  }
  return memo;
}
std::vector<int32_t> camera_memo(const Sizes& sizes, int depths) { return memo_of(sizes, camera(sizes, depths)); }
std::vector<int32_t> uniform_memo(const Sizes& sizes, int depths) {
  return memo_of(sizes, uniform(sizes, depths));
}

// Every point has a cell: any, or that at x, y = 1, 1.
std::vector<int32_t> any_cell(const Sizes& sizes, int) {
  std::mt19937 random(kSeed);
  std::vector<int32_t> memo;
  for (int64_t point = 0; point < sizes.points(); ++point) {
    for (const int extent : {sizes.batch_size, sizes.num_voxel_y, sizes.num_voxel_x}) {
      memo.push_back(std::uniform_int_distribution<int32_t>(0, extent - 1)(random));
    }
  }
  return memo;
}
std::vector<int32_t> memo_of_ones(const Sizes& sizes, int) {
  return std::vector<int32_t>(static_cast<size_t>(sizes.geom_count()), 1);
}

// coordinates: the geometry, or the memo of the backward operator.
struct Row {
  const char* name;
  std::vector<int32_t> (*coordinates)(const Sizes& sizes, int depths);
  bool one_batch = false;  // so that the points of one cell can be all points
};
constexpr Row kForward[] = {{"camera", camera}, {"uniform", uniform}};
constexpr Row kForwardCliffs[] = {{"voxel_pooling uniform", in_range, true},
                                  {"voxel_pooling one_cell", one_cell, true}};
constexpr Row kBackward[] = {{"camera", camera_memo}, {"uniform", uniform_memo}};
constexpr Row kBackwardCliffs[] = {{"voxel_pooling_backward uniform", any_cell},
                                   {"voxel_pooling_backward one_cell", memo_of_ones}};

std::unique_ptr<Case> make_forward(const Row& row, const Variant& variant, double size) {
  const int depths = depth_bins(size);
  Sizes s = sizes_of(depths);
  if (row.one_batch) s.num_points *= std::exchange(s.batch_size, 1);
  cases::Parameters parameters;
  parameters.set("batch_size", s.batch_size);
  parameters.set("num_points", s.num_points);
  parameters.set("num_channels", s.num_channels);
  parameters.set("num_voxel_x", s.num_voxel_x);
  parameters.set("num_voxel_y", s.num_voxel_y);
  parameters.set("num_voxel_z", s.num_voxel_z);
  auto made = std::make_unique<OperatorCase>(
      "voxel_pooling_forward", variant.algorithm, parameters,
      std::vector<TensorShape>{
          {"geom_xyz", MLUOP_DTYPE_INT32, {s.batch_size, s.num_points, 3}},
          {"input_features", variant.dtype, {s.batch_size, s.num_points, s.num_channels}},
          {"output_features", variant.dtype, {s.batch_size, s.num_voxel_y, s.num_voxel_x, s.num_channels}},
          {"pos_memo", MLUOP_DTYPE_INT32, {s.batch_size, s.num_points, 3}}});
  made->set("geom_xyz", row.coordinates(s, depths));
  made->fill_uniform("input_features", kSeed);
  made->set_parameter_writer([s](const NpyFolder& folder) {
    folder.write("num_voxel", {s.num_voxel_x, s.num_voxel_y, s.num_voxel_z});
  });
  made->set_bound([&made = *made, s] {
    const cases::Arguments& a = made.expected();
    return voxel_pooling_forward_bound(s, a[1].is_half(), a[0].as<int32_t>(), a[1].data, a[2].data,
                                       a[3].as<int32_t>(), thread_count());
  });
  return made;
}

std::unique_ptr<Case> make_backward(const Row& row, const Variant& variant, double size) {
  const int depths = depth_bins(size);
  const Sizes s = sizes_of(depths);
  auto made = std::make_unique<OperatorCase>(
      "voxel_pooling_backward", variant.algorithm, cases::Parameters(),
      std::vector<TensorShape>{
          {"grad_output_features", variant.dtype, {s.batch_size, s.num_voxel_y, s.num_voxel_x, s.num_channels}},
          {"pos_memo", MLUOP_DTYPE_INT32, {s.batch_size, s.num_points, 3}},
          {"grad_input_features", variant.dtype, {s.batch_size, s.num_points, s.num_channels}}});
  std::mt19937 random(kSeed);
  made->fill_bits("grad_output_features", random);
  made->set("pos_memo", row.coordinates(s, depths));
  made->set_largest_input("pos_memo");
  return made;
}

}  // namespace

std::vector<CaseSpec> voxel_pooling_cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "voxel_pooling_forward", kNativeAndDevice, kForward, make_forward);
  append_cases(specs, "voxel_pooling_backward", kNative, kBackward, make_backward);
  return specs;
}

std::vector<CaseSpec> voxel_pooling_cliffs() {
  std::vector<CaseSpec> specs;
  append_cases(specs, kCliffs, kNativeAndDeviceFloat, kForwardCliffs, make_forward);
  append_cases(specs, kCliffs, kNativeFloat, kBackwardCliffs, make_backward);
  return specs;
}

}  // namespace mluop::perf
