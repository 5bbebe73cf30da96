// Copies between GDRAM and NRAM. Kernels of the device algorithm access GDRAM only through these functions and
// team/row_guard.h, so that the statistics count each task's traffic.
#pragma once

#include <cstdint>
#include <cstring>

#include "team/launch.h"

namespace mluop {

// nram[0, bytes) = gdram[0, bytes)
inline void load(Task& task, void* nram, const void* gdram, int64_t bytes) {
  task.statistics->bytes_loaded += bytes;
  std::memcpy(nram, gdram, static_cast<size_t>(bytes));
}

// gdram[0, bytes) = nram[0, bytes)
inline void store(Task& task, void* gdram, const void* nram, int64_t bytes) {
  task.statistics->bytes_stored += bytes;
  std::memcpy(gdram, nram, static_cast<size_t>(bytes));
}

// Rows of row_bytes bytes; strides are bytes from one row to the next.
inline void load_rows(Task& task, void* nram, int64_t nram_stride, const void* gdram, int64_t gdram_stride,
                      int64_t row_bytes, int64_t rows) {
  for (int64_t i = 0; i < rows; ++i) {
    load(task, static_cast<char*>(nram) + i * nram_stride, static_cast<const char*>(gdram) + i * gdram_stride,
         row_bytes);
  }
}
inline void store_rows(Task& task, void* gdram, int64_t gdram_stride, const void* nram, int64_t nram_stride,
                       int64_t row_bytes, int64_t rows) {
  for (int64_t i = 0; i < rows; ++i) {
    store(task, static_cast<char*>(gdram) + i * gdram_stride, static_cast<const char*>(nram) + i * nram_stride,
          row_bytes);
  }
}

}  // namespace mluop
