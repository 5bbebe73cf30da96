#include "ops/indice_convolution_forward/bad_index.h"

namespace mluop::indice_convolution_forward {

Failure bad_index(const Args& args, int64_t pair) {
  int64_t k = 0;
  int64_t l = pair;
  while (l >= args.indice_num[k]) l -= args.indice_num[k++];
  const bool input = args.inputs(k)[l] >= args.N;
  return {MLUOP_STATUS_BAD_PARAM,
          text("indice_pairs[", k, ", ", input ? 0 : 1, ", ", l, "] is ",
               input ? args.inputs(k)[l] : args.outputs(k)[l], ", expected less than ", input ? args.N : args.M,
               ", the rows of ", input ? "features" : "features_out")};
}

}  // namespace mluop::indice_convolution_forward
