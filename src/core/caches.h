// The data caches of this machine, read from the system once per process. Plans size chunks by them; no result
// depends on them.
#pragma once

#include <cstdint>

namespace mluop {

// Bytes of a cache line; non-temporal stores pay where they fill whole lines.
inline constexpr int64_t kCacheLine = 64;

struct CacheSizes {
  int64_t l1, l2;  // of a core
  int64_t llc;     // at most 32 MiB: servers share larger ones among more cores than a team has
};
const CacheSizes& cache_sizes();

// Whether the output of an operator that moves `bytes` bytes should bypass the caches: they would not hold it
// until it is read.
inline bool exceeds_caches(int64_t bytes) { return bytes >= cache_sizes().llc / 4; }

}  // namespace mluop
