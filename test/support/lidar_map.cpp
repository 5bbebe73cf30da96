#include "support/lidar_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "support/lidar_scan.h"

namespace mluop::test {
namespace {

// The sensor of KITTI.
constexpr double kLowestElevation = -24.8, kHighestElevation = 2.0, kHeight = 1.73;

// The first `points` points of a turn, by ring.
std::vector<Position> scan(int points, int rings) {
  const int columns = (points + rings - 1) / rings;
  const auto turn = lidar_turn({rings, columns, kLowestElevation, kHighestElevation, kHeight}, 0, 0);
  std::vector<Position> positions;
  for (int i = 0; i < points; ++i)
    positions.push_back(turn[static_cast<size_t>(i % columns * rings + i / columns)]);
  return positions;
}

// For each point the cell of a grid with this edge length; cells compare by (z, y, x).
std::vector<uint64_t> cells_of(const std::vector<Position>& positions, double edge) {
  std::vector<uint64_t> cells;
  for (const Position& position : positions) {
    uint64_t cell = 0;
    for (const double coordinate : position) {
      cell = cell << 21 | static_cast<uint64_t>(std::floor(coordinate / edge) + (1 << 20));
    }
    cells.push_back(cell);
  }
  return cells;
}

std::vector<uint64_t> distinct(std::vector<uint64_t> cells) {
  std::sort(cells.begin(), cells.end());
  cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
  return cells;
}

// The largest edge length with at least `voxels` voxels, by bisection.
double edge_of(const std::vector<Position>& positions, size_t voxels) {
  double small = 0.001, large = 10;
  for (int step = 0; step < 20; ++step) {
    const double edge = std::sqrt(small * large);
    (distinct(cells_of(positions, edge)).size() >= voxels ? small : large) = edge;
  }
  return small;
}

}  // namespace

std::vector<int32_t> lidar_coors(int points, int voxels, int rings) {
  const auto positions = scan(points, rings);
  const double edge = edge_of(positions, static_cast<size_t>(voxels));
  std::array<int32_t, 3> lowest = {INT32_MAX, INT32_MAX, INT32_MAX};
  std::vector<int32_t> coors;
  for (const Position& position : positions) {
    for (size_t axis = 0; axis < position.size(); ++axis) {
      coors.push_back(static_cast<int32_t>(std::floor(position[axis] / edge)));
      lowest[axis] = std::min(lowest[axis], coors.back());
    }
  }
  for (size_t i = 0; i < coors.size(); ++i) coors[i] -= lowest[i % 3];
  return coors;
}

std::vector<int32_t> lidar_map(int points, int voxels, int rings) {
  const auto positions = scan(points, rings);
  const auto wanted = static_cast<size_t>(voxels);
  const auto cells = cells_of(positions, edge_of(positions, wanted));
  const auto numbered = distinct(cells);
  if (numbered.size() < wanted) throw std::invalid_argument("lidar_map: more voxels than the points can fill");
  std::vector<int32_t> map;
  for (const uint64_t cell : cells) {
    const auto rank =
        static_cast<uint64_t>(std::lower_bound(numbered.begin(), numbered.end(), cell) - numbered.begin());
    // Merges adjacent voxels if there are more than `voxels`.
    map.push_back(static_cast<int32_t>(rank * wanted / numbered.size()));
  }
  return map;
}

}  // namespace mluop::test
