// Sums over channels: channel c is added to partial sum c % 16, in the order of c; then the upper half of the
// partial sums is added to the lower half, until one is left.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mluop::reference {

class PartialSums {
 public:
  void add(int64_t channel, float term) { sums_[static_cast<size_t>(channel) % sums_.size()] += term; }
  float total() {
    for (size_t half = sums_.size() / 2; half > 0; half /= 2) {
      for (size_t i = 0; i < half; ++i) sums_[i] += sums_[i + half];
    }
    return sums_[0];
  }

 private:
  std::array<float, 16> sums_{};
};

}  // namespace mluop::reference
