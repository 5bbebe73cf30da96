// The index pairs of a case, as lists, for reductions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "case/model.h"

namespace mluop::cases {

// The pairs (input row, output row) of each offset that the case counts in indice_num.
using Rulebook = std::vector<std::vector<std::array<int32_t, 2>>>;

// The rulebook of a case whose third input is indice_pairs [K, 2, L], inline.
Rulebook rulebook_of(const Case& the_case);
int64_t pair_count(const Rulebook& rulebook);
// Replaces indice_pairs and indice_num. Pairs of an offset beyond the first L are dropped.
void set_rulebook(Case& the_case, const Rulebook& rulebook, int64_t L);
// The pairs with these positions, ascending, in the order of offsets.
Rulebook kept_pairs(const Rulebook& rulebook, const std::vector<int64_t>& kept);
// The pairs whose row (side 0: input, 1: output) is among `kept`, renumbered to its position there.
Rulebook with_rows(const Rulebook& rulebook, size_t side, const std::vector<int64_t>& kept);

}  // namespace mluop::cases
