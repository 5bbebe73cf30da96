// The data caches of this machine, read from the system once per process. Plans choose chunk sizes by them;
// results do not depend on them.
#pragma once

#include <cstdint>

namespace mluop {

// Bytes of a cache line; non-temporal stores pay off where they fill whole lines.
inline constexpr int64_t kCacheLine = 64;

struct CacheSizes {
  int64_t l1, l2;  // of a core
  int64_t llc;     // at most 32 MiB: larger caches of servers are shared by more cores than a team has
};
const CacheSizes& cache_sizes();

// Whether the output of an operator with `bytes` bytes of memory traffic should bypass the caches, which could not
// hold it until it is read.
inline bool exceeds_caches(int64_t bytes) { return bytes >= cache_sizes().llc / 4; }

}  // namespace mluop
