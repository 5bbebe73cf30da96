#include "case/scenes/center_point.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "case/scenes/lidar_scan.h"

namespace mluop::scenes {
namespace {

constexpr Site kScanGrid = {1, 41, 1440, 1440};
constexpr Position kVoxel = {0.2, 0.075, 0.075}, kFirst = {-5, -54, -54};  // m
constexpr Lidar kLidar = {32, 1084, -30.67, 10.67, 1.84};                  // of nuScenes: 20 turns per second
constexpr double kTravelOfTurn = 0.6;                                      // m: 12 m/s
constexpr double kDistanceOfScans = 90;                                    // m
constexpr int kMaxTurns = 60;

// Adds the site to levels[level] and its output sites to the following levels. Does nothing once levels.back() has
// `max_sites` sites.
void add(std::vector<SiteSet>& levels, const Site& site, size_t level, int64_t max_sites) {
  if (levels.back().size() == max_sites || !levels[level].insert(site) || level + 1 == levels.size()) return;
  const auto& [kernel, stride, padding, dilation, submanifold] = kCenterPointSteps[level];
  Site first = site, last = site;
  for (size_t axis = 0; axis < kernel.size(); ++axis) {
    const int32_t padded = site[axis + 1] + padding[axis], extent = levels[level + 1].grid()[axis + 1];
    first[axis + 1] = std::max((padded - kernel[axis] + stride[axis]) / stride[axis], 0);
    last[axis + 1] = std::min(padded / stride[axis], extent - 1);
  }
  Site output = site;
  // In the order of the filter offsets.
  for (output[1] = last[1]; output[1] >= first[1]; --output[1]) {
    for (output[2] = last[2]; output[2] >= first[2]; --output[2]) {
      for (output[3] = last[3]; output[3] >= first[3]; --output[3]) add(levels, output, level + 1, max_sites);
    }
  }
}

bool voxel_of(const Position& position, Site& site) {
  for (size_t axis = 0; axis < position.size(); ++axis) {
    const double cell = std::floor((position[axis] - kFirst[axis]) / kVoxel[axis]);
    if (!(0 <= cell && cell < kScanGrid[axis + 1])) return false;
    site[axis + 1] = static_cast<int32_t>(cell);
  }
  return true;
}

// The sites of a scan at its last level.
SiteSet scan_of(int batch, int last_level, int64_t sites) {
  std::vector<SiteSet> levels = {SiteSet(kScanGrid)};
  for (int level = 0; level < last_level; ++level) {
    levels.emplace_back(output_grid(levels.back().grid(), kCenterPointSteps[level]));
  }
  for (int turn = 0; turn < kMaxTurns; ++turn) {
    for (const Position& position : lidar_turn(kLidar, batch * kDistanceOfScans, turn * kTravelOfTurn)) {
      Site site{};
      if (voxel_of(position, site)) add(levels, site, 0, sites);
      if (levels.back().size() < sites) continue;
      levels.back().number();
      return levels.back();
    }
  }
  throw std::invalid_argument("center_point_tensor: the scans have fewer sites");
}

}  // namespace

SparseTensor center_point_tensor(const CenterPointInput& input) {
  SparseTensor tensor;
  for (int batch = 0; batch < input.scans; ++batch) {
    const int64_t share = input.sites * (batch + 1) / input.scans - input.sites * batch / input.scans;
    const SiteSet scan = scan_of(batch, input.level, share);
    for (Site site : scan.sites()) {
      site[0] = batch;
      tensor.sites.push_back(site);
    }
    tensor.grid = scan.grid();
  }
  tensor.grid[0] = input.scans;
  return tensor;
}

}  // namespace mluop::scenes
