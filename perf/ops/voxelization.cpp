// Voxelization of LiDAR scans in the grids of SECOND and PointPillars on KITTI (one turn of 64 beams) and of
// CenterPoint on nuScenes (ten turns of 32 beams), and at the size of the design document.
#include "reference/voxelization.h"

#include <algorithm>

#include "case/scenes/lidar_scan.h"
#include "perf/support/operator_case.h"

namespace mluop::perf::voxelization {
namespace {

using Problem = reference::VoxelizationProblem;
enum class Placement { kScan, kUniform, kOneCell, kOutOfRange };

constexpr scenes::Lidar kNuScenes = {32, 1085, -30.67, 10.67, 1.84};
constexpr double kTravelOfTurn = 0.5;  // m

struct Row {
  const char* name;
  scenes::Lidar lidar;
  Problem problem;
  Placement placement = Placement::kScan;
};

constexpr Row kCases[] = {{"second_kitti 121600x4_5x20000",
                           scenes::kKittiLidar,
                           {121600, 4, 5, 20000, {0.05F, 0.05F, 0.1F}, {0, -40, -3, 70.4F, 40, 1}}},
                          {"pointpillars_kitti 121600x4_32x16000",
                           scenes::kKittiLidar,
                           {121600, 4, 32, 16000, {0.16F, 0.16F, 4}, {0, -39.68F, -3, 69.12F, 39.68F, 1}}},
                          {"centerpoint_nuscenes 347200x5_10x120000",
                           kNuScenes,
                           {347200, 5, 10, 120000, {0.075F, 0.075F, 0.2F}, {-54, -54, -5, 54, 54, 3}}},
                          {"document 253999x5_20x30000",
                           kNuScenes,
                           {253999, 5, 20, 30000, {0.25F, 0.25F, 8}, {-50, -50, -5, 50, 50, 3}}}};
constexpr Problem kCliff = {253999, 5, 20, 30000, {0.5F, 0.5F, 8}, {-50, -50, -5, 50, 50, 3}};
constexpr Row kCliffCases[] = {{"voxelization uniform", kNuScenes, kCliff, Placement::kUniform},
                               {"voxelization scan", kNuScenes, kCliff, Placement::kScan},
                               {"voxelization one cell", kNuScenes, kCliff, Placement::kOneCell},
                               {"voxelization out of range", kNuScenes, kCliff, Placement::kOutOfRange}};

// Turns of the sensor until there are enough points; or uniform points in the range; or one of these points
// repeated.
void set_coordinates(const Problem& p, const scenes::Lidar& lidar, Placement placement, float* values) {
  for (int64_t i = 0; placement != Placement::kScan && i < p.N; ++i) {
    float* point = values + i * p.F;
    for (int axis = 0; axis < 3; ++axis) {
      const float low = p.coors_range[axis], high = p.coors_range[axis + 3];
      if (placement == Placement::kUniform) point[axis] = low + (point[axis] + 1) / 2 * (high - low);
      if (placement == Placement::kOneCell) point[axis] = low;
      if (placement == Placement::kOutOfRange) point[axis] = high;
    }
  }
  for (int64_t i = 0, turn = 0; placement == Placement::kScan && i < p.N; ++turn) {
    for (const scenes::Position& position :
         scenes::lidar_turn(lidar, 0, static_cast<double>(turn) * kTravelOfTurn)) {
      if (i == p.N) break;
      float* point = values + i * p.F;
      for (size_t axis = 0; axis < 3; ++axis) point[axis] = static_cast<float>(position[2 - axis]);
      ++i;
    }
  }
}

std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  Problem p = row.problem;
  p.N = scaled(p.N, size);
  p.max_voxels = scaled(p.max_voxels, size);
  auto made =
      make_case("voxelization", variant,
                {{"max_points", p.max_points}, {"max_voxels", p.max_voxels}, {"ndim", 3}, {"deterministic", 1}},
                {{"points", MLUOP_DTYPE_FLOAT, {p.N, p.F}},
                 {"voxel_size", MLUOP_DTYPE_FLOAT, {3}},
                 {"coors_range", MLUOP_DTYPE_FLOAT, {6}},
                 {"voxels", MLUOP_DTYPE_FLOAT, {p.max_voxels, p.max_points, p.F}},
                 {"coors", MLUOP_DTYPE_INT32, {p.max_voxels, 3}},
                 {"num_points_per_voxel", MLUOP_DTYPE_INT32, {p.max_voxels}},
                 {"voxel_num", MLUOP_DTYPE_INT32, {1}}});
  made->fill_uniform("points", 1);
  set_coordinates(p, row.lidar, row.placement, made->values<float>("points").data());
  std::ranges::copy(p.voxel_size, made->values<float>("voxel_size").begin());
  std::ranges::copy(p.coors_range, made->values<float>("coors_range").begin());
  made->options.measures_memory = true;
  made->options.checksummed = {made->bytes("voxels"), made->bytes("coors")};
  made->dump("limits", {p.max_points, p.max_voxels});
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "voxelization", kNativeFloat, kCases, make);
  append_cases(specs, kCliffs, kNativeFloat, kCliffCases, make);
  return specs;
}

}  // namespace mluop::perf::voxelization
