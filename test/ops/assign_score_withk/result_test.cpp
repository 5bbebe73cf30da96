// The operators of assign score with k: an example of their definitions, sizes with special paths in the kernels,
// and requirements on indices. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr const char* kForward = "assign_score_withk_forward";
constexpr const char* kBackward = "assign_score_withk_backward";

// Two points, one kernel and two channels; a center with both points as neighbors, the second of which is the
// center.
Case make_example(const char* op, mluOpDataType_t dtype) {
  Case made = make_case(op, dtype, {{"b", 1}, {"n0", 2}, {"n1", 1}, {"k", 2}, {"m", 1}, {"o", 2}});
  set_values(made, "points", std::vector<float>{1, 2, 5, 7});
  set_values(made, "centers", std::vector<float>{10, 10, 1, 1});
  set_values(made, "scores", std::vector<float>{2, 3});
  set_values(made, "knn_idx", std::vector<int32_t>{1, 0});
  return made;
}

TEST(OpsAssignScoreWithk, WorkedExample) {
  for (const auto dtype : kFloatingDtypes) {
    const Handle handle;
    const OperatorCall forward(handle, make_example(kForward, dtype));
    ASSERT_EQ(forward.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(forward.floats("output"), (std::vector<float>{8, 0, 12, 3}));
    Case made = make_example(kBackward, dtype);
    set_values(made, "grad_output", std::vector<float>{1, 2, 3, 4});
    const OperatorCall backward(handle, made);
    ASSERT_EQ(backward.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(backward.floats("grad_points"), (std::vector<float>{6, 12, 2, 6}));
    EXPECT_EQ(backward.floats("grad_centers"), (std::vector<float>{0, 0, -8, -18}));
    EXPECT_EQ(backward.floats("grad_scores"), (std::vector<float>{22, 4}));
  }
}

TEST(OpsAssignScoreWithk, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const std::map<std::string, int64_t> sizes[] = {
      {{"n0", 1}, {"n1", 40}, {"k", 13}, {"m", 3}, {"o", 17}},   // one point of all rows
      {{"n0", 300}, {"n1", 2}, {"k", 1}, {"m", 17}, {"o", 80}},  // most points have no row
      {{"n0", 9}, {"n1", 257}, {"k", 1}, {"m", 1}, {"o", 1}},    // a tile of rows plus one
      {{"n0", 5}, {"n1", 1}, {"k", 300}, {"m", 16}, {"o", 31}},  // a center of several tiles
  };
  for (const char* op : {kForward, kBackward}) {
    for (const auto& each : sizes) {
      for (const auto dtype : kFloatingDtypes) expect_oracle_everywhere(make_case(op, dtype, each));
    }
  }
}

// Kernels that process a point in chunks, and outputs written past the caches.
TEST(OpsAssignScoreWithk, ChunksAndStreams) {
  MLUOP_LABELS(kSlow);
  const ScopedThreads threads(2);
  {
    const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "4");
    expect_oracle(make_case(kBackward, MLUOP_DTYPE_FLOAT, {{"m", 40}, {"o", 70}}));
  }
  for (const auto dtype : kFloatingDtypes) {
    expect_oracle(make_case(kForward, dtype, {{"b", 1}, {"n1", 9001}, {"k", 9}, {"m", 2}, {"o", 64}}),
                  Placement::kMisaligned);
  }
}

TEST(OpsAssignScoreWithkErrors, Indices) {
  for (const char* op : {kForward, kBackward}) {
    expect_errors(make_example(op, MLUOP_DTYPE_FLOAT),
                  {{set_element("knn_idx", 1, 2), "knn_idx[0, 0, 1] is 2, expected 0 to 1"},
                   {set_element("knn_idx", 0, -1), "knn_idx[0, 0, 0] is -1, expected 0 to 1"},
                   {with_sizes(op, {{"n0", 0}}), "points dim 1 is 0, expected at least 1"}});
  }
}

}  // namespace
}  // namespace mluop::test
