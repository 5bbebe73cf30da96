// Fetches rows of tensors into the caches before they are used.
#pragma once

#include <hwy/base.h>

#include <algorithm>
#include <cstdint>

namespace mluop {

// What is read once should not displace what is used again.
enum class Use { kReadOnce, kRead, kWrite };

// Fetches a row; what follows in a long one the hardware fetches by itself. Always inline: GCC drops calls of a
// function that only prefetches, as if they had no effect.
template <Use kUse>
HWY_INLINE void prefetch_row(const void* row, int64_t row_bytes) {
  constexpr int64_t kMaxBytes = 1 << 10;
  constexpr int64_t kLine = 64;
  for (int64_t i = 0; i < std::min(row_bytes, kMaxBytes); i += kLine) {
    __builtin_prefetch(static_cast<const char*>(row) + i, kUse == Use::kWrite, kUse == Use::kReadOnce ? 0 : 3);
  }
}

}  // namespace mluop
