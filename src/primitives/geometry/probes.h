// Evenly spaced centers of each batch, which are searched first; their cost decides how the others are searched.
#pragma once

#include <cstdint>

namespace mluop {

struct Probes {
  int64_t center(int64_t probe) const { return probe * step + step / 2; }
  bool contain(int64_t m) const { return m < count * step && m % step == step / 2; }

  int64_t count;  // probes of a batch; 0: none
  int64_t step;
};

}  // namespace mluop
