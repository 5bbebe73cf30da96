// mluOpOmpSoftNms against the serial loop of its definition, bit for bit, at sizes and with values that its
// kernels distinguish. test/ops/contract_test.cpp has the tests of every operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "ops/soft_nms/soft_nms_native_kernels.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr int kMethods[] = {MLUOP_OMP_SOFT_NMS_NAIVE, MLUOP_OMP_SOFT_NMS_LINEAR, MLUOP_OMP_SOFT_NMS_GAUSSIAN};

Case make(int64_t N, int64_t side, int method, int offset = 0) {
  return make_case("soft_nms", MLUOP_DTYPE_FLOAT,
                   {{"n", N}, {"side", side}, {"method", method}, {"offset", offset}});
}

struct Example {
  int method;
  std::vector<float> boxes, scores;
  float min_score;
  std::vector<float> dets;  // of the chosen boxes
  std::vector<int32_t> inds;
};

// Four disjoint boxes.
const std::vector<float> kApart = {0, 0, 1, 1, 2, 0, 3, 1, 4, 0, 5, 1, 6, 0, 7, 1};

const Example kExamples[] = {
    // IoU 0.5, which equals the threshold, and 0.
    {MLUOP_OMP_SOFT_NMS_NAIVE,
     {0, 0, 4, 2, 0, 0, 4, 1, 8, 0, 9, 1},
     {0.75F, 0.5F, 0.25F},
     0,
     {0, 0, 4, 2, 0.75F, 8, 0, 9, 1, 0.25F, 0, 0, 4, 1, 0},
     {0, 2, 1}},
    {MLUOP_OMP_SOFT_NMS_LINEAR,
     {0, 0, 4, 2, 0, 0, 4, 1, 8, 0, 9, 1},
     {0.75F, 0.5F, 0.125F},
     0,
     {0, 0, 4, 2, 0.75F, 0, 0, 4, 1, 0.25F, 8, 0, 9, 1, 0.125F},
     {0, 1, 2}},
    // exp(-0.5^2 / 0.5)
    {MLUOP_OMP_SOFT_NMS_GAUSSIAN,
     {0, 0, 4, 2, 0, 0, 4, 1, 8, 0, 9, 1},
     {1, 1, 1},
     0.625F,
     {0, 0, 4, 2, 1, 8, 0, 9, 1, 1},
     {0, 2}},
    // The first box moves to the index of the chosen box, behind a box with an equal score.
    {MLUOP_OMP_SOFT_NMS_LINEAR,
     {kApart.begin(), kApart.begin() + 12},
     {0.5F, 0.5F, 1},
     0,
     {4, 0, 5, 1, 1, 2, 0, 3, 1, 0.5F, 0, 0, 1, 1, 0.5F},
     {2, 1, 0}},
    // The last box moves to the index of a dropped box, before a box with an equal score.
    {MLUOP_OMP_SOFT_NMS_LINEAR,
     kApart,
     {1, 0.25F, 0.5F, 0.5F},
     0.375F,
     {0, 0, 1, 1, 1, 6, 0, 7, 1, 0.5F, 4, 0, 5, 1, 0.5F},
     {0, 3, 2}},
    // The first box is always chosen.
    {MLUOP_OMP_SOFT_NMS_LINEAR, {0, 0, 1, 1, 2, 0, 3, 1}, {0.25F, 0.125F}, 0.375F, {0, 0, 1, 1, 0.25F}, {0}},
    // A NaN score is chosen if it is the first.
    {MLUOP_OMP_SOFT_NMS_LINEAR,
     {kApart.begin(), kApart.begin() + 12},
     {kNan, 0.5F, 1},
     0.75F,
     {0, 0, 1, 1, kNan, 4, 0, 5, 1, 1},
     {0, 2}},
    {MLUOP_OMP_SOFT_NMS_LINEAR,
     {kApart.begin(), kApart.begin() + 12},
     {0.5F, kNan, 1},
     0,
     {4, 0, 5, 1, 1, 2, 0, 3, 1, kNan, 0, 0, 1, 1, 0.5F},
     {2, 1, 0}},
};

TEST(OpsSoftNms, WorkedExamples) {
  for (const Example& example : kExamples) {
    SCOPED_TRACE(::testing::PrintToString(example.inds));
    const size_t N = example.scores.size();
    Case made = make(static_cast<int64_t>(N), 1, example.method);
    made.parameters.set_real("iou_threshold", 0.5);
    made.parameters.set_real("min_score", double{example.min_score});
    set_values(made, "boxes", example.boxes);
    set_values(made, "scores", example.scores);
    const Handle handle;
    const OperatorCall call(handle, made);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    std::vector<float> dets = example.dets;
    dets.resize(N * 5);
    EXPECT_THAT(call.floats("dets"), ::testing::Pointwise(::testing::NanSensitiveFloatEq(), dets));
    std::vector<int32_t> inds = example.inds;
    EXPECT_EQ(call.int32s("result_num"), std::vector<int32_t>{static_cast<int32_t>(inds.size())});
    inds.resize(N);
    EXPECT_EQ(call.int32s("inds"), inds);
    expect_oracle(made);
  }
}

// Numbers of boxes around the sizes of vectors and chunks.
TEST(OpsSoftNms, HostileSizes) {
  constexpr int64_t kChunk = soft_nms::native::Candidates::kChunkBoxes;
  for (const int64_t N : {int64_t{1}, int64_t{2}, int64_t{15}, int64_t{16}, int64_t{17}, int64_t{63}, int64_t{64},
                          int64_t{65}, kChunk - 1, kChunk, kChunk + 1}) {
    for (const int method : kMethods) {
      for (const int offset : {0, 1}) {
        SCOPED_TRACE(product_text({N, method, offset}));
        expect_oracle(make(N, 8, method, offset), Placement::kAgainstEnd);
      }
    }
  }
}

TEST(OpsSoftNms, Scalars) {
  const struct {
    const char* name;
    std::vector<float> values;
  } kScalars[] = {{"iou_threshold", {0, -0.0F, -1, 0.5F, 1, 2, kNan, kInfinity}},
                  {"sigma", {0, -1, 0.1F, kNan, kInfinity}},
                  {"min_score", {0, -1, 0.5F, 2, kNan, kInfinity, -kInfinity}}};
  for (const auto& [name, values] : kScalars) {
    for (const float value : values) {
      for (const int method : kMethods) {
        SCOPED_TRACE(testing::Message() << name << ' ' << value << ", method " << method);
        Case made = make(70, 3, method);
        made.parameters.set_real(name, double{value});
        expect_oracle(made);
      }
    }
  }
}

// Boxes and scores that are equal, inverted, or not finite.
TEST(OpsSoftNms, Values) {
  const float specials[] = {kNan, kInfinity, -kInfinity, -0.0F, 3.0e38F, -3.0e38F, 0x1p-140F};
  auto random = seeded_random();
  for (int round = 0; round < 30; ++round) {
    for (const int method : kMethods) {
      Case made = make(100, 3, method, round % 2);
      std::vector<float> boxes = floats_of(made, "boxes"), scores = floats_of(made, "scores");
      for (float& each : boxes) {
        if (random() % 8 == 0) each = round < 15 ? specials[random() % 7] : -each;
      }
      for (float& each : scores) {
        if (random() % 3 == 0) each = round % 3 == 0 ? specials[random() % 7] : 0.5F;
      }
      set_values(made, "boxes", boxes);
      set_values(made, "scores", scores);
      SCOPED_TRACE(product_text({round, method}));
      expect_oracle(made);
    }
  }
}

// Each of the first steps has a launch.
TEST(OpsSoftNms, ThreadCounts) {
  MLUOP_LABELS(kManyThreads);
  for (const int method : kMethods) {
    const Case made = make(40000, 4, method);
    SCOPED_TRACE(method);
    expect_oracle_everywhere(made);
  }
}

TEST(BigSoftNms, NetworkSize) { expect_oracle(make(5000, 50, MLUOP_OMP_SOFT_NMS_GAUSSIAN)); }

}  // namespace
}  // namespace mluop::test
