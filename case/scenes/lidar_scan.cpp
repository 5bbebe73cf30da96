#include "case/scenes/lidar_scan.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace mluop::scenes {
namespace {

constexpr double kStreetHalfLength = 300;  // m
constexpr double kNoise = 0.02;            // m, in each coordinate

struct Box {
  double x_low, x_high, y_low, y_high, z_low, z_high;
};

// The intersection of a box with the vertical plane through the sensor at an azimuth: distances and heights.
struct Slice {
  double near, far, low, high;
};

double radians(double degrees) { return degrees * std::numbers::pi / 180; }

// Uses 32 random bits. std::uniform_real_distribution differs between systems.
double uniform(std::mt19937& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random()) * 0x1p-32;
}

// A row of boxes along the street, on the side where y has the sign of `side`.
struct Row {
  double first_gap, last_gap, first_length, last_length;  // ranges of gaps and of boxes
  double first_distance, last_distance, depth;            // of the fronts from the center line
  double z_low, lowest_top, highest_top;
};

constexpr Row kRowProfiles[] = {
    {1, 9, 8, 22, 10, 19, 12, 0, 4, 12},            // houses
    {0.8, 14, 3.8, 5.2, 4.5, 5.5, 1.8, 0, 1.4, 2},  // parked cars
    {15, 60, 3.8, 9, 1, 1.6, 1.9, 0, 1.4, 3},       // moving cars
    {6, 18, 0.3, 0.6, 7, 8, 0.4, 0, 2.5, 3},        // tree trunks
    {4, 12, 2, 5, 5.5, 7, 3, 2.4, 3.5, 7},          // tree crowns
    {3, 25, 0.4, 0.7, 6, 9, 0.5, 0, 1.5, 1.9},      // pedestrians
};

std::vector<Box> street() {
  std::mt19937 random(7);
  std::vector<Box> boxes;
  for (const Row& row : kRowProfiles) {
    for (const double side : {-1.0, 1.0}) {
      double x = -kStreetHalfLength;
      while (x < kStreetHalfLength) {
        x += uniform(random, row.first_gap, row.last_gap);
        const double length = uniform(random, row.first_length, row.last_length);
        const double front = side * uniform(random, row.first_distance, row.last_distance);
        const double back = front + side * row.depth;
        const double top = uniform(random, row.lowest_top, row.highest_top);
        boxes.push_back({x, x + length, std::min(front, back), std::max(front, back), row.z_low, top});
        x += length;
      }
    }
  }
  // Enclosing walls, higher than any beam.
  constexpr double kEnd = kStreetHalfLength + 50, kSide = 60, kThickness = 5, kTop = 1000;
  boxes.push_back({-kEnd, kEnd, kSide, kSide + kThickness, 0, kTop});
  boxes.push_back({-kEnd, kEnd, -kSide - kThickness, -kSide, 0, kTop});
  boxes.push_back({kEnd, kEnd + kThickness, -kSide, kSide, 0, kTop});
  boxes.push_back({-kEnd - kThickness, -kEnd, -kSide, kSide, 0, kTop});
  return boxes;
}

// The slices of all boxes that a ray from (x, 0) intersects.
std::vector<Slice> slices_of(const std::vector<Box>& boxes, double x, double azimuth) {
  const double per_x = 1 / std::cos(azimuth), per_y = 1 / std::sin(azimuth);
  std::vector<Slice> slices;
  for (const Box& box : boxes) {
    const auto [x_near, x_far] = std::minmax({(box.x_low - x) * per_x, (box.x_high - x) * per_x});
    const auto [y_near, y_far] = std::minmax({box.y_low * per_y, box.y_high * per_y});
    const double near = std::max(x_near, y_near), far = std::min(x_far, y_far);
    if (0 < near && near < far) slices.push_back({near, far, box.z_low, box.z_high});
  }
  return slices;
}

// The horizontal distance of the first hit of a beam.
double distance_of_hit(const std::vector<Slice>& slices, double height, double slope) {
  double nearest = slope < 0 ? -height / slope : HUGE_VAL;
  for (const Slice& slice : slices) {
    const double z = height + slice.near * slope;
    double hit = slice.near;
    if (z > slice.high) hit = slope < 0 ? (slice.high - height) / slope : HUGE_VAL;
    if (z < slice.low) hit = slope > 0 ? (slice.low - height) / slope : HUGE_VAL;
    if (hit <= slice.far) nearest = std::min(nearest, hit);
  }
  return nearest;
}

}  // namespace

std::vector<Position> lidar_turn(const Lidar& lidar, double place, double travelled) {
  static const std::vector<Box> boxes = street();
  // Each turn has different noise.
  std::mt19937 random(static_cast<uint32_t>((place + travelled + kStreetHalfLength) * 1000));
  std::normal_distribution<double> noise(0, kNoise);
  std::vector<Position> positions;
  positions.reserve(static_cast<size_t>(lidar.columns) * static_cast<size_t>(lidar.rings));
  for (int column = 0; column < lidar.columns; ++column) {
    // The offset of half a column keeps beams from being parallel to the sides of the boxes.
    const double azimuth = 2 * std::numbers::pi * (column + 0.5) / lidar.columns;
    const auto slices = slices_of(boxes, place + travelled, azimuth);
    for (int ring = 0; ring < lidar.rings; ++ring) {
      const double share = static_cast<double>(ring) / (lidar.rings - 1);
      const double slope =
          std::tan(radians(lidar.highest_elevation + (lidar.lowest_elevation - lidar.highest_elevation) * share));
      const double distance = distance_of_hit(slices, lidar.height, slope);
      positions.push_back({distance * slope + noise(random), distance * std::sin(azimuth) + noise(random),
                           travelled + distance * std::cos(azimuth) + noise(random)});
    }
  }
  return positions;
}

}  // namespace mluop::scenes
