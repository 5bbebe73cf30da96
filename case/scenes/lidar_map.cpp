#include "case/scenes/lidar_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "case/scenes/lidar_scan.h"

namespace mluop::scenes {
namespace {

// The sensor of KITTI.
constexpr double kLowestElevation = -24.8, kHighestElevation = 2.0, kHeight = 1.73;

using Voxel = std::array<int32_t, 3>;  // z, y, x

// The first `points` points of a turn, by ring.
std::vector<Position> scan(int points, int rings) {
  const int columns = (points + rings - 1) / rings;
  const auto turn = lidar_turn({rings, columns, kLowestElevation, kHighestElevation, kHeight}, 0, 0);
  std::vector<Position> positions;
  for (int i = 0; i < points; ++i)
    positions.push_back(turn[static_cast<size_t>(i % columns * rings + i / columns)]);
  return positions;
}

std::vector<Voxel> voxels_of(const std::vector<Position>& positions, double edge) {
  std::vector<Voxel> voxels;
  for (const auto& [z, y, x] : positions) {
    const auto cell = [&](double coordinate) { return static_cast<int32_t>(std::floor(coordinate / edge)); };
    voxels.push_back({cell(z), cell(y), cell(x)});
  }
  return voxels;
}

std::vector<Voxel> distinct(std::vector<Voxel> voxels) {
  std::sort(voxels.begin(), voxels.end());
  voxels.erase(std::unique(voxels.begin(), voxels.end()), voxels.end());
  return voxels;
}

// The voxels of the points, with the largest edge length for which there are at least `count`, by bisection.
std::vector<Voxel> lidar_voxels(int points, int count, int rings) {
  const auto positions = scan(points, rings);
  double small = 0.001, large = 10;
  for (int step = 0; step < 20; ++step) {
    const double edge = std::sqrt(small * large);
    (distinct(voxels_of(positions, edge)).size() >= static_cast<size_t>(count) ? small : large) = edge;
  }
  return voxels_of(positions, small);
}

}  // namespace

std::vector<int32_t> lidar_coors(int points, int voxels, int rings) {
  std::vector<int32_t> coors;
  for (const Voxel& voxel : lidar_voxels(points, voxels, rings)) {
    coors.insert(coors.end(), voxel.begin(), voxel.end());
  }
  for (size_t axis = 0; axis < 3; ++axis) {
    int32_t lowest = INT32_MAX;
    for (size_t i = axis; i < coors.size(); i += 3) lowest = std::min(lowest, coors[i]);
    for (size_t i = axis; i < coors.size(); i += 3) coors[i] -= lowest;
  }
  return coors;
}

std::vector<int32_t> lidar_map(int points, int voxels, int rings) {
  const auto voxels_of_points = lidar_voxels(points, voxels, rings);
  const auto numbered = distinct(voxels_of_points);
  const auto wanted = static_cast<size_t>(voxels);
  if (numbered.size() < wanted) throw std::invalid_argument("lidar_map: more voxels than the points can fill");
  std::vector<int32_t> map;
  for (const Voxel& voxel : voxels_of_points) {
    const auto rank =
        static_cast<size_t>(std::lower_bound(numbered.begin(), numbered.end(), voxel) - numbered.begin());
    // Merges adjacent voxels if there are more than `voxels`.
    map.push_back(static_cast<int32_t>(rank * wanted / numbered.size()));
  }
  return map;
}

}  // namespace mluop::scenes
