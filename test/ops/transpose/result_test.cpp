// Transpose: outputs that bypass the caches, and sizes around the squares of vectors. test/ops/contract_test.cpp
// has the tests of every operator.
#include <gtest/gtest.h>

#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/trace.h"
#include "support/values.h"

namespace mluop::test {
namespace {

void expect_transpose(mluOpDataType_t dtype, int64_t N, int64_t A, int64_t B) {
  SCOPED_TRACE(::testing::Message() << N << " x " << A << " x " << B);
  const cases::Case made =
      with_values(make_case("transpose", dtype, {{"n", N}, {"a", A}, {"b", B}}), Values::kAnyBits, 1);
  const Oracle oracle(made);
  for (const auto placement : kPlacements) expect_oracle(oracle, placement);
}

TEST(OpsTranspose, StreamedOutput) {
  MLUOP_LABELS(kSlow);
  const ScopedThreads threads(2);
  for (const auto dtype : kFloatingDtypes) expect_transpose(dtype, 2, 192, 33001);
}

// Rows and columns that large squares, small squares and single elements cover.
TEST(OpsTranspose, Remainders) {
  for (const auto dtype : kFloatingDtypes) {
    for (const int64_t A : {1, 3, 4, 15, 16, 21, 31, 32, 43}) {
      for (const int64_t B : {1, 7, 33, 127, 128, 300}) expect_transpose(dtype, 1, A, B);
    }
  }
}

}  // namespace
}  // namespace mluop::test
