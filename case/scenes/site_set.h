// The active sites of a sparse tensor: a set of cells of a grid, one bit for each cell.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace mluop::scenes {

using Site = std::array<int32_t, 4>;  // batch, z, y, x

class SiteSet {
 public:
  // An empty set of cells of the grid [batch, z, y, x].
  explicit SiteSet(const Site& grid) : grid_(grid), is_active_(cell_of({grid[0], 0, 0, 0})) {}

  const Site& grid() const { return grid_; }
  // Returns whether the site is new.
  bool insert(const Site& site) {
    const size_t cell = cell_of(site);
    if (is_active_[cell]) return false;
    is_active_[cell] = true;
    sites_.push_back(site);
    return true;
  }
  int64_t size() const { return static_cast<int64_t>(sites_.size()); }
  // Numbers the sites in the order of their coordinates.
  void number() { std::sort(sites_.begin(), sites_.end()); }
  // The sites in the order of their numbers; before number(), in the order of insertion.
  const std::vector<Site>& sites() const { return sites_; }

 private:
  size_t cell_of(const Site& site) const {
    size_t cell = 0;
    for (size_t axis = 0; axis < site.size(); ++axis) {
      cell = cell * static_cast<size_t>(grid_[axis]) + static_cast<size_t>(site[axis]);
    }
    return cell;
  }

  Site grid_;
  std::vector<bool> is_active_;
  std::vector<Site> sites_;
};

}  // namespace mluop::scenes
