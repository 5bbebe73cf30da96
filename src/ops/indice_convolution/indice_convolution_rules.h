// Indice convolution: the rules that the operators share, and the error of an index that a kernel has found.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/checks.h"
#include "ops/indice_convolution/indice_convolution_args.h"

namespace mluop::indice_convolution {

void check_row_count(std::string_view name, int64_t rows);

void check_filter_bytes(std::string_view name, int64_t bytes);

// Each of the K numbers is in [0, max].
void check_pair_counts(const int64_t* indice_num, int64_t K, int64_t max);

int64_t sum_of_pairs(const int64_t* indice_num, int64_t K);

// BAD_PARAM: names the index of pair `pair` that is out of bounds, its value and its bound.
Failure bad_index(const IndexPairs& pairs, int64_t pair);

}  // namespace mluop::indice_convolution
