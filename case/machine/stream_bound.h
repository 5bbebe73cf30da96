// The stream bound: the time to stream the compulsory bytes of a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "case/machine/buffer.h"

namespace mluop::machine {

enum class Stores { kOrdinary, kNonTemporal };

// Reads and writes as many bytes as the call must, rounded up to cache lines. Reads and writes are interleaved in
// proportion; each thread streams its share in address order with the widest vectors. Reads `source`, an input of
// the case, if it is large enough and aligned to a cache line, otherwise a separate buffer: on virtual machines
// the bandwidth depends on the physical pages, so bound and call should read the same pages.
class StreamBound {
 public:
  StreamBound(int64_t read_bytes, int64_t write_bytes, int threads, std::span<const std::byte> source);

  void run(Stores stores);

 private:
  int threads_;
  int64_t read_words_;
  Buffer<uint64_t> own_source_;
  const uint64_t* source_;
  Buffer<uint64_t> target_;
  Buffer<uint64_t> sums_;  // [threads], keep the compiler from removing the reads
};

}  // namespace mluop::machine
