// A rotating LiDAR on a car that drives down a street: ground, houses, cars, trees and walkers, by ray casting.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace mluop::test {

using Position = std::array<double, 3>;  // z, y, x in m from the sensor; x is the way that the car drives

struct Lidar {
  int rings;                                   // beams, more than one
  int columns;                                 // directions in which all beams fire during a turn
  double lowest_elevation, highest_elevation;  // degrees
  double height;                               // above the ground, m
};

// What each beam hits in a turn of the sensor: column by column, in a column from the highest beam to the lowest.
// Every beam hits something: the street ends in walls. `place` says where on the street the car is when x is the
// origin, `travelled` how many metres it has gone on since. The same numbers for the same arguments.
std::vector<Position> lidar_turn(const Lidar& lidar, double place, double travelled);

}  // namespace mluop::test
