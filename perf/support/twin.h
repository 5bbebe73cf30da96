// The streaming twin of a case: the least that memory traffic can cost it on this machine, at this size.
#pragma once

#include <cstdint>

#include "perf/support/buffer.h"

namespace mluop::perf {

enum class Stores { kOrdinary, kNonTemporal };

// Owns buffers of the bytes that the case must read and write, rounded up to cache lines. run() reads the one and
// writes the other, interleaved in proportion, each thread its share in address order, at the widest vector.
class Twin {
 public:
  Twin(int64_t read_bytes, int64_t write_bytes, int threads);

  void run(Stores stores);

 private:
  int threads_;
  Buffer<uint64_t> source_;
  Buffer<uint64_t> target_;
  Buffer<uint64_t> sums_;  // [threads], of what was read: it is needed, so it is read
};

}  // namespace mluop::perf
