#include "support/lidar_scan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <stdexcept>

namespace mluop::test {
namespace {

using Position = std::array<double, 3>;  // z, y, x in m

constexpr double kSensorHeight = 1.73;
constexpr double kLowestElevation = -24.8, kHighestElevation = 2.0;  // degrees
constexpr double kRangeNoise = 0.02;                                 // m

double radians(double degrees) { return degrees * std::numbers::pi / 180; }

// How far it is to houses, trees and cars: smooth, between 6 and 52 m.
double obstacle_distance(double azimuth) { return 29 + 15 * std::sin(3 * azimuth) + 8 * std::sin(11 * azimuth); }

std::vector<Position> scan(int points, int rings) {
  std::mt19937 random(64);
  std::normal_distribution<double> noise(0, kRangeNoise);
  const int ring_points = (points + rings - 1) / rings;
  std::vector<Position> positions;
  for (int i = 0; i < points; ++i) {
    const double share = static_cast<double>(i / ring_points) / (rings - 1);
    const double elevation = radians(kHighestElevation + (kLowestElevation - kHighestElevation) * share);
    const double azimuth = 2 * std::numbers::pi * (i % ring_points) / ring_points;
    const double ground = elevation < 0 ? kSensorHeight / -std::tan(elevation) : HUGE_VAL;
    const double distance = std::min(ground, obstacle_distance(azimuth)) + noise(random);
    positions.push_back({kSensorHeight + distance * std::tan(elevation), distance * std::sin(azimuth),
                         distance * std::cos(azimuth)});
  }
  return positions;
}

// For each point the cell of a grid with this edge; cells compare by (z, y, x).
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

}  // namespace

std::vector<int32_t> lidar_map(int points, int voxels, int rings) {
  const auto positions = scan(points, rings);
  const auto wanted = static_cast<size_t>(voxels);
  // The largest edge that gives at least so many voxels.
  double small = 0.001, large = 10;
  for (int step = 0; step < 20; ++step) {
    const double edge = std::sqrt(small * large);
    (distinct(cells_of(positions, edge)).size() >= wanted ? small : large) = edge;
  }
  const auto cells = cells_of(positions, small);
  const auto numbered = distinct(cells);
  if (numbered.size() < wanted) throw std::invalid_argument("lidar_map: more voxels than the points can fill");
  std::vector<int32_t> map;
  for (const uint64_t cell : cells) {
    const auto rank =
        static_cast<uint64_t>(std::lower_bound(numbered.begin(), numbered.end(), cell) - numbered.begin());
    // What is left over goes to neighbours.
    map.push_back(static_cast<int32_t>(rank * wanted / numbered.size()));
  }
  return map;
}

}  // namespace mluop::test
