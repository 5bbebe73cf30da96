// The pixels of consecutive taps, each once, with the sums of their weights: the samples of a bin lie close to
// each other, so that most taps have pixels in common.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "primitives/sampling/bilinear.h"

namespace mluop {

// The weights of a pixel are added in the order of the taps. A pixel that also has weights of 0 is there again
// with a weight of 0: 0 times infinity is NaN.
class WeightedPixels {
 public:
  bool is_empty() const { return found_ == 0; }

  // Whether the tap can be added: its pixels lie in a box of pixels about the first tap, and no weight is NaN.
  bool takes(const Tap& tap) const {
    return is_empty() ||
           (static_cast<uint32_t>(tap.row) - top_ < Tap::kSide - 1 &&
            static_cast<uint32_t>(tap.column) - left_ < Tap::kSide - 1 && !is_nan_ && !std::isnan(tap.weights[0]));
  }

  void add(const Tap& tap) {
    const auto row = static_cast<uint32_t>(tap.row), column = static_cast<uint32_t>(tap.column);
    if (is_empty()) {
      top_ = row - (Tap::kSide / 2 - 1);
      left_ = column - (Tap::kSide / 2 - 1);
      is_nan_ = std::isnan(tap.weights[0]);
    }
    const uint32_t first = (row - top_) * Tap::kSide + column - left_;
    uint64_t found = found_;
    for (int32_t i = 0; i < tap.count; ++i) {
      const uint32_t cell = first + static_cast<uint32_t>(tap.corners[i]);
      sums_[cell] += tap.weights[i];
      found |= uint64_t{1} << cell;
      if (tap.weights[i] == 0) zeros_ |= uint64_t{1} << cell;
    }
    found_ = found;
  }

  // Moves what was added to `pixels` and `weights`, in order of rows, then columns. W: the columns of the map.
  void finish(int64_t W) {
    count = 0;
    const int64_t origin = static_cast<int32_t>(top_) * W + static_cast<int32_t>(left_);
    for (; found_ != 0; found_ &= found_ - 1) {
      const int cell = std::countr_zero(found_);
      const auto pixel = static_cast<int32_t>(origin + cell / Tap::kSide * W + cell % Tap::kSide);
      emit(pixel, sums_[cell]);
      if (zeros_ != 0 && (zeros_ >> cell) % 2 != 0 && sums_[cell] != 0) emit(pixel, 0);
      sums_[cell] = 0;
    }
    zeros_ = 0;
  }

  static constexpr int kCells = Tap::kSide * Tap::kSide;
  int32_t count = 0;
  int32_t pixels[2 * kCells];  // y W + x
  float weights[2 * kCells];

 private:
  void emit(int32_t pixel, float weight) {
    pixels[count] = pixel;
    weights[count++] = weight;
  }

  uint64_t found_ = 0, zeros_ = 0;  // the cells of the box that have a pixel, and a weight of 0
  float sums_[kCells] = {};
  uint32_t top_ = 0, left_ = 0;  // of the box, modulo 2^32
  bool is_nan_ = false;
};

}  // namespace mluop
