// Site pairs by their definition: the input of each output and offset is looked up in a map of the inputs. The
// oracle of the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct SitePairsProblem {
  int64_t N, M, K, D;
  const int32_t* inputs;   // [N, 1 + D]
  const int32_t* outputs;  // [M, 1 + D]
  const int32_t* offsets;  // [K, D]
};

// indice_pairs [K, 2, N], indice_num [K]. No offset has more than N pairs.
void site_pairs(const SitePairsProblem& problem, int32_t* indice_pairs, int32_t* indice_num);

}  // namespace mluop::reference
