// Dynamic point to voxel forward: keys of points, numbers in the lexicographic order of their coordinates.
//
// Each axis counts from the lowest coordinate of the points with a voxel. Adjacent axes share a word of 32 bits
// while the product of their extents fits: one word for the grid of a network, at most three for coordinates of
// any range. Points without voxel come last.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "ops/dynamic_point_to_voxel_forward/dynamic_point_to_voxel_forward.h"

namespace mluop::dynamic_point_to_voxel_forward::native {

// The bounds of the coordinates of the points with a voxel, and the number of these points.
struct Bounds {
  std::array<int32_t, kAxes> lowest;
  std::array<int32_t, kAxes> negated_highest;
  int64_t valid_count;
};

// The sum over the axes of (coordinate - lowest) * factor; the factors of axes in other words are 0.
struct KeyWord {
  int bits() const { return static_cast<int>(std::bit_width(no_voxel)); }

  std::array<uint32_t, kAxes> lowest;
  std::array<uint32_t, kAxes> factor;
  uint32_t no_voxel;  // key of a point without a voxel: above all other keys
};

// The words of a key, least significant first.
struct KeyWords {
  explicit KeyWords(const Bounds& bounds) {
    constexpr uint64_t kMaxKeys = UINT32_MAX;
    uint64_t extent_of_word = 0;
    for (int axis = kAxes - 1; axis >= 0; --axis) {
      const bool any = bounds.valid_count > 0;
      const int32_t lowest = any ? bounds.lowest[axis] : 0;
      const auto extent = static_cast<uint64_t>(any ? 1 - int64_t{bounds.negated_highest[axis]} - lowest : 1);
      const bool fits = count > 0 && extent_of_word * extent <= kMaxKeys;
      if (!fits) {
        words[count++] = {};
        extent_of_word = 1;
      }
      KeyWord& word = words[count - 1];
      word.lowest[axis] = static_cast<uint32_t>(lowest);
      word.factor[axis] = static_cast<uint32_t>(extent_of_word);
      extent_of_word *= extent;
      word.no_voxel = static_cast<uint32_t>(extent_of_word);
    }
  }

  std::array<KeyWord, kAxes> words;
  size_t count = 0;
};

}  // namespace mluop::dynamic_point_to_voxel_forward::native
