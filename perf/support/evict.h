// Cold caches: as a network leaves them that has done other things since the operator's last call.
#pragma once

#include <cstdint>

#include "perf/support/buffer.h"

namespace mluop::perf {

// Memory twice as large as the last cache of the machine, within limits: virtual machines report that of their
// host.
class Evictor {
 public:
  Evictor();

  // Reads and writes all of it, every thread its share.
  void run();

 private:
  Buffer<uint64_t> memory_;
};

}  // namespace mluop::perf
