#include "core/caches.h"

#include <unistd.h>

#include <algorithm>

namespace mluop {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;

// The size that the system reports, limited to [min, max]; `fallback` if it reports none.
int64_t cache_size(int name, int64_t fallback, int64_t min, int64_t max) {
  const int64_t bytes = sysconf(name);
  return std::clamp(bytes > 0 ? bytes : fallback, min, max);
}

CacheSizes read_cache_sizes() {
#ifdef _SC_LEVEL1_DCACHE_SIZE
  return {cache_size(_SC_LEVEL1_DCACHE_SIZE, 32 * kKiB, 16 * kKiB, 128 * kKiB),
          cache_size(_SC_LEVEL2_CACHE_SIZE, kMiB, 256 * kKiB, 4 * kMiB),
          cache_size(_SC_LEVEL3_CACHE_SIZE, 32 * kMiB, 8 * kMiB, 32 * kMiB)};
#else
  return {32 * kKiB, kMiB, 32 * kMiB};
#endif
}

}  // namespace

const CacheSizes& cache_sizes() {
  static const CacheSizes sizes = read_cache_sizes();
  return sizes;
}

}  // namespace mluop
