#include "primitives/indices/index_pairs.h"

#include <numeric>

namespace mluop {
namespace {

// Rows and pairs are numbered by int32_t.
constexpr int64_t kCountLimit = int64_t{1} << 31;

}  // namespace

void check_row_count(std::string_view name, int64_t rows) {
  require(rows < kCountLimit, MLUOP_STATUS_NOT_SUPPORTED, name, " has ", rows, " rows, expected fewer than 2^31");
}

void check_pair_counts(const int64_t* indice_num, int64_t K, int64_t max) {
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

int64_t sum_of_pairs(const int64_t* indice_num, int64_t K) {
  return std::accumulate(indice_num, indice_num + K, int64_t{0});
}

Failure bad_index(const IndexPairs& pairs, int64_t pair) {
  int64_t k = 0;
  int64_t l = pair;
  while (l >= pairs.indice_num[k]) l -= pairs.indice_num[k++];
  const bool bad_input = pairs.inputs(k)[l] >= pairs.N;
  const bool bad_output = pairs.outputs(k)[l] >= pairs.M;
  // If both are bad, reports the first one in indice_pairs.
  const bool input = bad_input && (!bad_output || pairs.input_side == 0);
  return {MLUOP_STATUS_BAD_PARAM,
          text("indice_pairs[", k, ", ", input ? pairs.input_side : 1 - pairs.input_side, ", ", l, "] is ",
               input ? pairs.inputs(k)[l] : pairs.outputs(k)[l], ", expected less than ",
               input ? pairs.N : pairs.M, ", the rows of ", input ? pairs.inputs_of : pairs.outputs_of)};
}

}  // namespace mluop
