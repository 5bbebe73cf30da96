#include "support/center_point.h"

#include <cmath>
#include <stdexcept>

#include "support/lidar_scan.h"

namespace mluop::test {
namespace {

constexpr Site kScanGrid = {1, 41, 1440, 1440};
constexpr Position kVoxel = {0.2, 0.075, 0.075}, kFirst = {-5, -54, -54};  // m
constexpr Lidar kLidar = {32, 1084, -30.67, 10.67, 1.84};                  // of nuScenes: 20 turns per second
constexpr double kTravelOfTurn = 0.6;                                      // m: 12 m/s
constexpr double kDistanceOfScans = 90;                                    // m
constexpr int kMaxTurns = 60;

// A scan at all levels up to the last. Points are added one at a time.
class Scan {
 public:
  explicit Scan(int levels) {
    Site grid = kScanGrid;
    levels_.emplace_back(grid);
    grids_.push_back(grid);
    for (int level = 0; level < levels; ++level) {
      grid = output_grid(grid, kCenterPointSteps[level]);
      levels_.emplace_back(grid);
      grids_.push_back(grid);
    }
  }

  // Adds the voxel to `level`, and its output sites to the following levels, while the last has fewer than
  // `max_sites` sites.
  void add(const Site& site, size_t level, int64_t max_sites) {
    if (last().size() == max_sites || !levels_[level].insert(site) || level + 1 == levels_.size()) return;
    for (const Contribution& contribution : contributions(site, grids_[level + 1], kCenterPointSteps[level])) {
      add(contribution.output, level + 1, max_sites);
    }
  }

  const SiteSet& last() const { return levels_.back(); }
  const Site& last_grid() const { return grids_.back(); }

 private:
  std::vector<SiteSet> levels_;
  std::vector<Site> grids_;
};

bool voxel_of(const Position& position, Site& site) {
  for (size_t axis = 0; axis < position.size(); ++axis) {
    const double cell = std::floor((position[axis] - kFirst[axis]) / kVoxel[axis]);
    if (!(0 <= cell && cell < kScanGrid[axis + 1])) return false;
    site[axis + 1] = static_cast<int32_t>(cell);
  }
  return true;
}

Scan scan_of(int batch, int level, int64_t sites) {
  Scan scan(level);
  for (int turn = 0; turn < kMaxTurns; ++turn) {
    for (const Position& position : lidar_turn(kLidar, batch * kDistanceOfScans, turn * kTravelOfTurn)) {
      Site site{};
      if (voxel_of(position, site)) scan.add(site, 0, sites);
      if (scan.last().size() == sites) return scan;
    }
  }
  throw std::invalid_argument("center_point_tensor: the scans have fewer sites");
}

}  // namespace

SparseTensor center_point_tensor(const CenterPointInput& input) {
  SparseTensor tensor;
  for (int batch = 0; batch < input.scans; ++batch) {
    const int64_t share = input.sites * (batch + 1) / input.scans - input.sites * batch / input.scans;
    const Scan scan = scan_of(batch, input.level, share);
    for (Site site : scan.last().sites()) {
      site[0] = batch;
      tensor.sites.push_back(site);
    }
    tensor.grid = scan.last_grid();
  }
  tensor.grid[0] = input.scans;
  return tensor;
}

}  // namespace mluop::test
