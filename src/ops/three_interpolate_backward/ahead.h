// Three interpolate backward: fetches the points that are transposed next, while others are added up.
#pragma once

#include <cstdint>

namespace mluop::three_interpolate_backward {

class Ahead {
 public:
  Ahead() = default;
  // Rows of `count` elements, `stride` elements apart.
  template <class T>
  Ahead(const T* from, int64_t stride, int64_t count, int64_t rows)
      : row_(reinterpret_cast<const char*>(from)),
        stride_(stride * static_cast<int64_t>(sizeof(T))),
        bytes_(count * static_cast<int64_t>(sizeof(T))),
        rows_(rows) {}

  int64_t lines() const { return (bytes_ + kLine - 1) / kLine * rows_; }

  // Fetches the next lines, if there are.
  void fetch(int64_t lines) {
    for (; lines > 0 && rows_ > 0; --lines) {
      // Into the second level: the first is busy with what is added up.
      __builtin_prefetch(row_ + at_, 0, 2);
      at_ += kLine;
      if (at_ < bytes_) continue;
      at_ = 0;
      row_ += stride_;
      --rows_;
    }
  }

 private:
  static constexpr int64_t kLine = 64;

  const char* row_ = nullptr;
  int64_t stride_ = 0;
  int64_t bytes_ = 0;
  int64_t rows_ = 0;
  int64_t at_ = 0;
};

}  // namespace mluop::three_interpolate_backward
