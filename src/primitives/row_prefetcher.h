// Fetches the rows of grouped items into the cache ahead of their use: they are scattered over memory, where no
// hardware expects them.
#pragma once

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstdint>

#include "primitives/group.h"

namespace mluop {

// How far ahead, and how much of a row: what follows in a long row the hardware fetches by itself. Measured on
// rows of 80 channels.
inline constexpr int64_t kPrefetchBytes = 5 << 10;
inline constexpr int64_t kMaxPrefetchRows = 64;
inline constexpr int64_t kMaxPrefetchedRow = 1 << 10;

// Walks over the rows of the runs at places [place, end), in front of whoever uses them.
class RowPrefetcher {
 public:
  // The row of item i: rows[i * stride, i * stride + channels). Fetches the first rows.
  RowPrefetcher(const float* rows, int64_t stride, int64_t channels, const Run* runs, int64_t place, int64_t end)
      : rows_(rows),
        stride_(stride),
        bytes_(std::min<int64_t>(channels * int64_t{sizeof(float)}, kMaxPrefetchedRow)),
        runs_(runs),
        place_(place),
        end_(end) {
    advance(std::clamp<int64_t>(kPrefetchBytes / (channels * int64_t{sizeof(float)}), 1, kMaxPrefetchRows));
  }

  // Fetches the next rows, as many as have been used.
  void advance(int64_t rows) {
    for (; rows > 0; --rows) {
      if (left_ == 0) {
        if (place_ >= end_) return;
        const Run& run = runs_[place_];
        row_ = reinterpret_cast<const char*>(rows_ + run.first * stride_);
        left_ = run.count;
        place_ += run.count;
      }
      for (int64_t i = 0; i < bytes_; i += kLine) hwy::Prefetch(row_ + i);
      row_ += stride_ * int64_t{sizeof(float)};
      --left_;
    }
  }

 private:
  static constexpr int64_t kLine = 64;

  const float* rows_;
  int64_t stride_;
  int64_t bytes_;
  const Run* runs_;
  int64_t place_;
  int64_t end_;
  const char* row_ = nullptr;
  int32_t left_ = 0;
};

}  // namespace mluop
