#include "support/site_set.h"

#include <bit>
#include <cstddef>

namespace mluop::test {

SiteSet::SiteSet(const Site& grid) : grid_(grid) {
  uint64_t cells = 1;
  for (const int32_t extent : grid) cells *= static_cast<uint64_t>(extent);
  words_.resize(cells / 64 + 1);
}

uint64_t SiteSet::cell(const Site& site) const {
  uint64_t cell = 0;
  for (size_t axis = 0; axis < site.size(); ++axis) {
    cell = cell * static_cast<uint64_t>(grid_[axis]) + static_cast<uint64_t>(site[axis]);
  }
  return cell;
}

bool SiteSet::insert(const Site& site) {
  const uint64_t at = cell(site);
  const uint64_t bit = uint64_t{1} << at % 64;
  if ((words_[at / 64] & bit) != 0) return false;
  words_[at / 64] |= bit;
  ++size_;
  return true;
}

void SiteSet::number() {
  before_.clear();
  before_.reserve(words_.size());
  int32_t count = 0;
  for (const uint64_t word : words_) {
    before_.push_back(count);
    count += std::popcount(word);
  }
}

int32_t SiteSet::find(const Site& site) const {
  const uint64_t at = cell(site);
  const uint64_t word = words_[at / 64];
  const uint64_t bit = uint64_t{1} << at % 64;
  return (word & bit) == 0 ? -1 : before_[at / 64] + std::popcount(word & (bit - 1));
}

std::vector<Site> SiteSet::sites() const {
  std::vector<Site> sites;
  sites.reserve(static_cast<size_t>(size_));
  for (size_t i = 0; i < words_.size(); ++i) {
    for (uint64_t word = words_[i]; word != 0; word &= word - 1) {
      uint64_t cell = i * 64 + static_cast<uint64_t>(std::countr_zero(word));
      Site site;
      for (size_t axis = site.size(); axis-- > 0;) {
        site[axis] = static_cast<int32_t>(cell % static_cast<uint64_t>(grid_[axis]));
        cell /= static_cast<uint64_t>(grid_[axis]);
      }
      sites.push_back(site);
    }
  }
  return sites;
}

}  // namespace mluop::test
