// The streaming twin of a case: the least that memory traffic can cost it on this machine, at this size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "perf/support/buffer.h"

namespace mluop::perf {

enum class Stores { kOrdinary, kNonTemporal };

// Reads as many bytes as the case must and writes as many, rounded up to cache lines, interleaved in proportion,
// each thread its share in address order, at the widest vector. It reads `source`, memory of the case itself, if
// that is long enough and starts on a cache line: on virtual machines some pages are faster than others, and what
// is compared should lie in the same. Else it reads a buffer of its own.
class Twin {
 public:
  Twin(int64_t read_bytes, int64_t write_bytes, int threads, std::span<const std::byte> source);

  void run(Stores stores);

 private:
  int threads_;
  int64_t read_words_;
  Buffer<uint64_t> own_source_;
  const uint64_t* source_;
  Buffer<uint64_t> target_;
  Buffer<uint64_t> sums_;  // [threads], of what was read: it is needed, so it is read
};

}  // namespace mluop::perf
