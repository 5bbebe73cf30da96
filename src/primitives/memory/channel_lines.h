// Cache lines of a row: the work items of launches that divide the channels of rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/caches.h"
#include "team/split.h"

namespace mluop {

// Number of channels of type T in a cache line.
template <class T>
inline constexpr int64_t kLineChannels = kCacheLine / int64_t{sizeof(T)};

// The channels of the lines [begin, end) of rows of `channels` channels: whole vectors, except at the end of a
// row.
template <class T>
Range channels_of_lines(int64_t begin, int64_t end, int64_t channels) {
  return {begin * kLineChannels<T>, std::min(end * kLineChannels<T>, channels)};
}

}  // namespace mluop
