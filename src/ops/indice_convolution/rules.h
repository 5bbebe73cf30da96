// Indice convolution: rules that the operators share.
#pragma once

#include <cstdint>
#include <numeric>
#include <string_view>

#include "core/checks.h"

namespace mluop::indice_convolution {

inline constexpr int64_t kFilterBytesLimit = int64_t{1} << 56;
// Rows and pairs are numbered by int32_t.
inline constexpr int64_t kCountLimit = int64_t{1} << 31;

inline void check_row_count(std::string_view name, int64_t rows) {
  require(rows < kCountLimit, MLUOP_STATUS_NOT_SUPPORTED, name, " has ", rows, " rows, expected fewer than 2^31");
}

inline void check_filter_bytes(std::string_view name, int64_t bytes) {
  require(bytes < kFilterBytesLimit, MLUOP_STATUS_BAD_PARAM, name, " has ", bytes,
          " bytes, expected fewer than 2^56");
}

// Each of the K numbers is in [0, max].
inline void check_pair_counts(const int64_t* indice_num, int64_t K, int64_t max) {
  for (int64_t k = 0; k < K; ++k) {
    require(0 <= indice_num[k] && indice_num[k] <= max, MLUOP_STATUS_BAD_PARAM, "indice_num[", k, "] is ",
            indice_num[k], ", expected 0 to ", max);
  }
  int64_t pairs = 0;
  for (int64_t k = 0; k < K; ++k) {
    pairs += indice_num[k];
    require(pairs < kCountLimit, MLUOP_STATUS_NOT_SUPPORTED,
            "indice_num counts 2^31 pairs or more, expected fewer");
  }
}

inline int64_t sum_of_pairs(const int64_t* indice_num, int64_t K) {
  return std::accumulate(indice_num, indice_num + K, int64_t{0});
}

}  // namespace mluop::indice_convolution
