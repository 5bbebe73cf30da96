// Voxel pooling forward and backward at the size of BEVDepth, with the geometry of its cameras and with uniform
// coordinates.
#include <array>
#include <random>

#include "case/scenes/camera_rig.h"
#include "perf/support/operator_case.h"

namespace mluop::perf::voxel_pooling {
namespace {

using Sizes = reference::VoxelPoolingForwardSizes;
using Coordinates = std::vector<int32_t>;

constexpr uint32_t kSeed = 1;

// Scales the number of depth bins over the same range.
int depth_bins(double size) { return static_cast<int>(scaled(scenes::kBevDepthBins, size)); }

Sizes sizes_of(int depths) {
  Sizes sizes = scenes::kBevDepthSizes;
  sizes.num_points = sizes.num_points / scenes::kBevDepthBins * depths;
  return sizes;
}

Coordinates camera(const Sizes& sizes, int depths) { return scenes::camera_geometry(sizes.batch_size, depths); }
Coordinates uniform(const Sizes& sizes, int) { return scenes::uniform_geometry(sizes, kSeed); }

// The output of voxel pooling forward for a geometry with one layer of voxels.
template <Coordinates (*kGeometry)(const Sizes&, int)>
Coordinates memo(const Sizes& sizes, int depths) {
  const Coordinates geometry = kGeometry(sizes, depths);
  Coordinates memo(geometry.size(), -1);
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

// Draws every point from a box of these extents.
Coordinates drawn(const Sizes& sizes, const std::array<int, 3>& extents) {
  std::mt19937 random(kSeed);
  Coordinates coordinates;
  for (int64_t point = 0; point < sizes.points(); ++point) {
    for (const int extent : extents) {
      const bool is_fixed = extent == 1;
      coordinates.push_back(is_fixed ? 0 : std::uniform_int_distribution<int32_t>(0, extent - 1)(random));
    }
  }
  return coordinates;
}

// Every point has the coordinates 1, 1, `last`.
Coordinates equal(const Sizes& sizes, int32_t last) {
  Coordinates coordinates(static_cast<size_t>(sizes.geom_count()), 1);
  for (size_t i = 2; i < coordinates.size(); i += 3) coordinates[i] = last;
  return coordinates;
}

// coordinates: the geometry, or the memo of the backward operator.
struct Row {
  const char* name;
  Coordinates (*coordinates)(const Sizes& sizes, int depths);
  bool one_batch = false;  // so that the points of one cell can be all points
};
constexpr Row kForward[] = {{"camera", camera}, {"uniform", uniform}};
constexpr Row kForwardCliffs[] = {
    {"voxel_pooling uniform",
     [](const Sizes& s, int) {
       return drawn(s, {s.num_voxel_x, s.num_voxel_y, s.num_voxel_z});
     },
     true},
    {"voxel_pooling one_cell", [](const Sizes& s, int) { return equal(s, 0); }, true}};
constexpr Row kBackward[] = {{"camera", memo<camera>}, {"uniform", memo<uniform>}};
constexpr Row kBackwardCliffs[] = {
    {"voxel_pooling_backward uniform",
     [](const Sizes& s, int) {
       return drawn(s, {s.batch_size, s.num_voxel_y, s.num_voxel_x});
     }},
    {"voxel_pooling_backward one_cell", [](const Sizes& s, int) { return equal(s, 1); }}};

std::unique_ptr<Case> make_forward(const Row& row, const Variant& variant, double size) {
  const int depths = depth_bins(size);
  Sizes s = sizes_of(depths);
  if (row.one_batch) s.num_points *= std::exchange(s.batch_size, 1);
  auto made =
      make_case("voxel_pooling_forward", variant,
                {{"batch_size", s.batch_size},
                 {"num_points", s.num_points},
                 {"num_channels", s.num_channels},
                 {"num_voxel_x", s.num_voxel_x},
                 {"num_voxel_y", s.num_voxel_y},
                 {"num_voxel_z", s.num_voxel_z}},
                {{"geom_xyz", MLUOP_DTYPE_INT32, {s.batch_size, s.num_points, 3}},
                 {"input_features", variant.dtype, {s.batch_size, s.num_points, s.num_channels}},
                 {"output_features", variant.dtype, {s.batch_size, s.num_voxel_y, s.num_voxel_x, s.num_channels}},
                 {"pos_memo", MLUOP_DTYPE_INT32, {s.batch_size, s.num_points, 3}}});
  made->set("geom_xyz", row.coordinates(s, depths));
  made->fill_uniform("input_features", kSeed);
  made->dump("num_voxel", {s.num_voxel_x, s.num_voxel_y, s.num_voxel_z});
  return made;
}

std::unique_ptr<Case> make_backward(const Row& row, const Variant& variant, double size) {
  const int depths = depth_bins(size);
  const Sizes s = sizes_of(depths);
  auto made = make_case(
      "voxel_pooling_backward", variant, {},
      {{"grad_output_features", variant.dtype, {s.batch_size, s.num_voxel_y, s.num_voxel_x, s.num_channels}},
       {"pos_memo", MLUOP_DTYPE_INT32, {s.batch_size, s.num_points, 3}},
       {"grad_input_features", variant.dtype, {s.batch_size, s.num_points, s.num_channels}}});
  std::mt19937 random(kSeed);
  made->fill_bits("grad_output_features", random);
  made->set("pos_memo", row.coordinates(s, depths));
  made->options.largest_input = made->bytes("pos_memo");
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "voxel_pooling_forward", kNativeAndDevice, kForward, make_forward);
  append_cases(specs, "voxel_pooling_backward", kNative, kBackward, make_backward);
  append_cases(specs, kCliffs, kNativeAndDeviceFloat, kForwardCliffs, make_forward);
  append_cases(specs, kCliffs, kNativeFloat, kBackwardCliffs, make_backward);
  return specs;
}

}  // namespace mluop::perf::voxel_pooling
