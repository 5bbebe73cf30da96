// Furthest point sampling: the order of points at equal distances. The CUDA kernel of mmcv has 1024 threads.
// Thread t compares the points t, t + 1024, ...; then a tree of 10 levels compares the threads, starting with
// pairs that differ in the highest bit. Among equal points the lowest rank wins: (the bits of k mod 1024 in
// reverse order, k / 1024). With fewer threads, for fewer than 1024 points, the order is the same.
#pragma once

#include <cstdint>
#include <limits>

namespace mluop::furthest_point_sample {

constexpr uint32_t reversed_10_bits(uint32_t bits) {
  bits = (bits & 0x5555) << 1 | (bits >> 1 & 0x5555);
  bits = (bits & 0x3333) << 2 | (bits >> 2 & 0x3333);
  bits = (bits & 0x0F0F) << 4 | (bits >> 4 & 0x0F0F);
  bits = (bits & 0x00FF) << 8 | bits >> 8;
  return bits >> 6;
}

// The rank of point k, which is less than 2^31 - 1, and the point of a rank.
constexpr int32_t rank_of(int64_t k) {
  const auto point = static_cast<uint32_t>(k);
  return static_cast<int32_t>(reversed_10_bits(point & 1023) << 21 | point >> 10);
}
constexpr int32_t point_of(int32_t rank) {
  const auto bits = static_cast<uint32_t>(rank);
  return static_cast<int32_t>((bits & 0x1FFFFF) << 10 | reversed_10_bits(bits >> 21));
}

// Follows the rank of every point.
inline constexpr int32_t kLastRank = std::numeric_limits<int32_t>::max();

}  // namespace mluop::furthest_point_sample
