// Get indice pairs by its definition: the oracle of the tests and the serial baseline of the perf suite. Tries
// every offset for every site; a hash map numbers the output sites.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace mluop::reference {

struct IndicePairsProblem {
  using Extent = std::array<int32_t, 3>;  // along depth, height, width
  using Site = std::array<int32_t, 4>;    // batch, depth, height, width

  int64_t offset_count() const { return int64_t{kernel[0]} * kernel[1] * kernel[2]; }

  int32_t batch_size;
  Extent input_space, output_space, kernel;
  Extent stride = {1, 1, 1}, pad = {0, 0, 0}, dilation = {1, 1, 1};
  bool sub_m = false;
  std::vector<Site> sites;  // [L]
};

struct IndicePairsResult {
  std::vector<int32_t> indice_pairs;              // [K, 2, L]
  std::vector<IndicePairsProblem::Site> outputs;  // in the order of their rows
  std::vector<int32_t> indice_num;                // [K]
};

IndicePairsResult get_indice_pairs(const IndicePairsProblem& problem);

}  // namespace mluop::reference
