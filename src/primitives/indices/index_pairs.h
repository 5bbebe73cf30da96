// Index pairs of sparse operators, and their rules.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/checks.h"

namespace mluop {

// Index pairs. All arguments are checked, except for the values of indice_pairs.
struct IndexPairs {
  const int32_t* inputs(int64_t k) const { return indice_pairs + (2 * k + input_side) * L; }
  const int32_t* outputs(int64_t k) const { return indice_pairs + (2 * k + 1 - input_side) * L; }

  int64_t K;
  int64_t L;                    // the maximum number of pairs of an offset
  int64_t N, M;                 // inputs are less than N, outputs less than M
  int64_t pair_count;           // the sum of indice_num
  int64_t input_side;           // 0 or 1: indice_pairs[k, input_side] are the inputs
  const int32_t* indice_pairs;  // [K, 2, L]
  const int64_t* indice_num;    // [K]
  // The tensors whose rows are the inputs and the outputs.
  std::string_view inputs_of, outputs_of;
};

// Requires that int32_t can index the rows: NOT_SUPPORTED.
void check_row_count(std::string_view name, int64_t rows);

// Requires that each of the K numbers is in [0, max] (BAD_PARAM) and that int32_t can index the pairs
// (NOT_SUPPORTED).
void check_pair_counts(const int64_t* indice_num, int64_t K, int64_t max);

int64_t sum_of_pairs(const int64_t* indice_num, int64_t K);

// BAD_PARAM that names the out-of-range index of pair `pair`, its value and its bound.
Failure bad_index(const IndexPairs& pairs, int64_t pair);

}  // namespace mluop
