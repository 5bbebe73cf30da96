// Sums at the edges of half, for every operator that adds half tensors up in fp32 and rounds once, at the end.
#pragma once

#include <cmath>
#include <vector>

namespace mluop::test {

// The sum of the addends, each times the factor; addends and factor are halves.
struct HalfSum {
  std::vector<double> addends;
  double factor, sum;
};

inline std::vector<HalfSum> half_sums() {
  return {
      {{65504, 65504, -65504}, 1, 65504},      // exceeds half on the way, and returns
      {{65504, 65504}, 1, HUGE_VAL},           // or stays above
      {{65504, 15.9921875}, 1, 65504},         // below the tie between the largest half and what comes next
      {{65504, 16}, 1, HUGE_VAL},              // the tie
      {{0x1p-14}, 0x1p-10, 0x1p-24},           // the least subnormal
      {{0x1p-14}, 0x1p-11, 0},                 // half of it: a tie that goes to 0
      {{0x1p-14, 0x1p-24}, 0x1p-11, 0x1p-24},  // just above that tie
      {{2048, 1}, 1, 2048},                    // a tie that goes down to the even neighbour
      {{2048, 3}, 1, 2052},                    // and one that goes up
      {{2048, 1, 0x1p-10}, 1, 2050},           // just above a tie
  };
}

}  // namespace mluop::test
