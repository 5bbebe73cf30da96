#include "ops/indice_convolution/bad_index.h"

namespace mluop::indice_convolution {

Failure bad_index(const IndexPairs& pairs, int64_t pair) {
  int64_t k = 0;
  int64_t l = pair;
  while (l >= pairs.indice_num[k]) l -= pairs.indice_num[k++];
  const bool bad_input = pairs.inputs(k)[l] >= pairs.N;
  const bool bad_output = pairs.outputs(k)[l] >= pairs.M;
  // If both are bad, the first one in indice_pairs.
  const bool input = bad_input && (!bad_output || pairs.input_side == 0);
  return {MLUOP_STATUS_BAD_PARAM,
          text("indice_pairs[", k, ", ", input ? pairs.input_side : 1 - pairs.input_side, ", ", l, "] is ",
               input ? pairs.inputs(k)[l] : pairs.outputs(k)[l], ", expected less than ",
               input ? pairs.N : pairs.M, ", the rows of ", input ? pairs.inputs_of : pairs.outputs_of)};
}

}  // namespace mluop::indice_convolution
