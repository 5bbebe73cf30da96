// Sums at the limits of half, for operators that accumulate half tensors in fp32 and round once at the end.
#pragma once

#include <cmath>
#include <vector>

namespace mluop::test {

// The sum of the addends, each times the factor. Half represents addends and factor exactly.
struct HalfSum {
  std::vector<double> addends;
  double factor, sum;
};

inline std::vector<HalfSum> half_sums() {
  return {
      {{65504, 65504, -65504}, 1, 65504},      // an intermediate sum exceeds half
      {{65504, 65504}, 1, HUGE_VAL},           // the sum exceeds half
      {{65504, 15.9921875}, 1, 65504},         // below the tie between the largest half and 2^16
      {{65504, 16}, 1, HUGE_VAL},              // the tie
      {{0x1p-14}, 0x1p-10, 0x1p-24},           // the smallest subnormal
      {{0x1p-14}, 0x1p-11, 0},                 // half of it: a tie rounded to 0
      {{0x1p-14, 0x1p-24}, 0x1p-11, 0x1p-24},  // just above that tie
      {{2048, 1}, 1, 2048},                    // a tie rounded down to even
      {{2048, 3}, 1, 2052},                    // a tie rounded up to even
      {{2048, 1, 0x1p-10}, 1, 2050},           // just above a tie
  };
}

}  // namespace mluop::test
