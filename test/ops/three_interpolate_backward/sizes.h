// Sizes of mluOpThreeInterpolateBackward, and the cases of these sizes.
#pragma once

#include <string>
#include <vector>

#include "support/operator_call.h"
#include "support/trace.h"

namespace mluop::test {

struct BackwardSizes {
  int64_t B, C, N, M;  // batches, channels, points, features
};

inline std::string text_of(const BackwardSizes& s) { return product_text({s.B, s.C, s.N, s.M}); }

// Gradients are in [-1, 1), weights in [0, 1), indices uniform.
inline cases::Case make_backward(mluOpDataType_t dtype, const BackwardSizes& s) {
  return make_case("three_interpolate_backward", dtype, {{"b", s.B}, {"c", s.C}, {"n", s.N}, {"m", s.M}});
}

inline std::vector<float> backward_of(const cases::Case& made, mluOpOmpAlgorithm_t algorithm) {
  const Handle handle(algorithm);
  const OperatorCall call(handle, made);
  require(call.run());
  EXPECT_TRUE(call.intact());
  return call.floats("grad_features");
}

}  // namespace mluop::test
