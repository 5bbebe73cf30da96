// Flushes the caches, for measurements with cold caches.
#pragma once

#include <cstdint>

#include "perf/support/buffer.h"

namespace mluop::perf {

// Owns memory of twice the size of the LLC, at least 64 and at most 512 MiB: virtual machines report the LLC of
// the host.
class Evictor {
 public:
  Evictor();

  // Reads and writes every cache line of the memory, each thread its share.
  void evict();

 private:
  Buffer<uint64_t> memory_;
};

}  // namespace mluop::perf
