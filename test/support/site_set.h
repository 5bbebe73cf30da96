// The active sites of a sparse tensor: a set of cells of a grid, numbered in the order of their coordinates.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace mluop::test {

using Site = std::array<int32_t, 4>;  // batch, z, y, x

class SiteSet {
 public:
  // An empty set with one bit per cell of the grid [batch, z, y, x].
  explicit SiteSet(const Site& grid);

  // Returns whether the site is new. Sites inserted after number() have no number.
  bool insert(const Site& site);
  int64_t size() const { return size_; }

  // Numbers the sites in the order of their coordinates.
  void number();
  // The number of a site in [0, size()), -1 if it is not in the set. After number().
  int32_t find(const Site& site) const;
  // In the order of their numbers.
  std::vector<Site> sites() const;

 private:
  uint64_t cell(const Site& site) const;

  Site grid_;
  int64_t size_ = 0;
  std::vector<uint64_t> words_;  // a bit for each cell
  std::vector<int32_t> before_;  // for each word, the number of sites in the preceding words
};

}  // namespace mluop::test
