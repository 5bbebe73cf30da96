// Simulation of a rotating LiDAR on a moving car by ray casting. The scene is a street with houses, cars, trees
// and pedestrians.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace mluop::scenes {

using Position = std::array<double, 3>;  // z, y, x in m from the sensor; x is the direction of travel

struct Lidar {
  int rings;                                   // beams, more than one
  int columns;                                 // azimuths of all beams per turn
  double lowest_elevation, highest_elevation;  // degrees
  double height;                               // above the ground, m
};

// The sensor of KITTI.
inline constexpr Lidar kKittiLidar = {64, 1900, -24.9, 2.0, 1.73};

// The points that the beams hit during a turn, by column, and within a column from the highest beam to the lowest.
// Walls enclose the street, so every beam hits a point. `place` is the position of the origin on the street in m,
// `travelled` the distance of the car from the origin in m. The result depends only on the arguments.
std::vector<Position> lidar_turn(const Lidar& lidar, double place, double travelled);

}  // namespace mluop::scenes
