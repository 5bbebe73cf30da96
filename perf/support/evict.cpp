#include "perf/support/evict.h"

#include <unistd.h>

#include <algorithm>

#include "perf/support/parallel.h"

namespace mluop::perf {
namespace {

constexpr int64_t kMinBytes = int64_t{64} << 20, kMaxBytes = int64_t{512} << 20;

int64_t bytes_to_evict() {
  int64_t llc_bytes = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
  llc_bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
  return std::clamp(2 * llc_bytes, kMinBytes, kMaxBytes);
}

}  // namespace

Evictor::Evictor() : memory_(bytes_to_evict() / static_cast<int64_t>(sizeof(uint64_t))) {}

void Evictor::evict() {
  constexpr int64_t kLineWords = kLineBytes / static_cast<int64_t>(sizeof(uint64_t));
  const auto lines = static_cast<int64_t>(memory_.values().size()) / kLineWords;
  const int threads = thread_count();
  parallel(threads, [&](int id) {
    const int64_t end = share(lines, threads, id + 1);
    for (int64_t line = share(lines, threads, id); line < end; ++line) ++memory_.data()[line * kLineWords];
  });
}

}  // namespace mluop::perf
