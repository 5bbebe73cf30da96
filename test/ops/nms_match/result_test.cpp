// mluOpOmpNmsMatch against the serial loop of its definition, at sizes and with values that its kernels
// distinguish, and requirements on its sizes. test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

constexpr const char* kOp = "nms_match";

Case make(int64_t N, int64_t side, float iou_threshold = 0.3F) {
  Case made = make_case(kOp, MLUOP_DTYPE_FLOAT, {{"n", N}, {"side", side}});
  made.parameters.set_real("iou_threshold", double{iou_threshold});
  return made;
}

struct Example {
  float iou_threshold;
  std::vector<float> dets;
  std::vector<int32_t> members, group_sizes;
};

// Separate boxes, by descending scores.
const std::vector<float> kApart = {0, 0, 1, 1, 0.5F,  2, 0, 3, 1, kNan, 4, 0, 5, 1, 0.5F,
                                   6, 0, 7, 1, -0.0F, 8, 0, 9, 1, 0,    9, 0, 9, 1, kNan};

const Example kExamples[] = {
    // Box 1 takes boxes 3 and 0, whose IoU equals the threshold; box 4 would belong to box 3.
    {0.5F,
     {0, 0, 4, 2, 0.5F, 0, 0, 4, 1, 0.875F, 10, 0, 12, 2, 0.75F, 0, 0, 4, 2, 0.875F, 1, 0, 5, 2, 0.625F},
     {1, 3, 0, 2, 4},
     {3, 1, 1, 0, 0}},
    {0.5F, kApart, {1, 5, 0, 2, 3, 4}, {1, 1, 1, 1, 1, 1}},
    {kNan, kApart, {1, 5, 0, 2, 3, 4}, {1, 1, 1, 1, 1, 1}},
    // Boxes without overlap, but with an area.
    {0, kApart, {1, 5, 0, 2, 3, 4}, {6, 0, 0, 0, 0, 0}},
    // The IoU of boxes without area is 0.
    {0, {1, 1, 1, 1, 0.5F, 1, 1, 1, 1, 0.5F}, {0, 1}, {2, 0}},
};

TEST(OpsNmsMatch, WorkedExamples) {
  for (const Example& example : kExamples) {
    SCOPED_TRACE(::testing::PrintToString(example.group_sizes));
    Case made = make(static_cast<int64_t>(example.members.size()), 1, example.iou_threshold);
    set_values(made, "dets", example.dets);
    const Handle handle;
    const OperatorCall call(handle, made);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.int32s("members"), example.members);
    EXPECT_EQ(call.int32s("group_sizes"), example.group_sizes);
    const auto groups = std::ranges::count_if(example.group_sizes, [](int32_t size) { return size > 0; });
    EXPECT_EQ(call.int32s("group_num"), std::vector<int32_t>{static_cast<int32_t>(groups)});
    expect_oracle(made);
  }
}

// Numbers of boxes around the size of a block; boxes apart and at one place.
TEST(OpsNmsMatch, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const ScopedThreads threads(3);
  for (const int64_t N : {1, 2, 63, 64, 65, 127, 128, 129, 1000}) {
    for (const int64_t side : {1, 8, 100}) {
      for (const float iou_threshold : {-1.0F, 0.0F, 0.3F, 0.7F, 1.0F, kInfinity, kNan}) {
        SCOPED_TRACE(testing::Message() << N << ' ' << side << ' ' << iou_threshold);
        expect_oracle(make(N, side, iou_threshold), Placement::kAgainstEnd);
      }
    }
  }
}

// Boxes and scores that are inverted, or not finite.
TEST(OpsNmsMatch, Values) {
  const float specials[] = {kNan, kInfinity, -kInfinity, -0.0F, 3.0e38F, -3.0e38F, 0x1p-140F};
  auto random = seeded_random();
  for (int round = 0; round < 30; ++round) {
    for (const float iou_threshold : {0.0F, 0.3F}) {
      Case made = make(200, 4, iou_threshold);
      std::vector<float> dets = floats_of(made, "dets");
      for (float& each : dets) {
        if (random() % 8 == 0) each = round < 15 ? specials[random() % 7] : -each;
      }
      set_values(made, "dets", dets);
      SCOPED_TRACE(testing::Message() << round << ' ' << iou_threshold);
      expect_oracle(made);
    }
  }
}

TEST(OpsNmsMatch, ThreadCounts) {
  MLUOP_LABELS(kManyThreads);
  expect_oracle_everywhere(make(3000, 20));
}

TEST(BigNmsMatch, NetworkSize) { expect_oracle(make(20000, 100)); }

TEST(OpsNmsMatchErrors, Sizes) {
  expect_errors(make(20, 3),
                {{set_shape("dets", {int64_t{1} << 31, 5}), "dets dim 0 is 2147483648, expected fewer than 2^31",
                  MLUOP_STATUS_NOT_SUPPORTED}},
                {.query = Query::kFails});
}

// Without boxes the call writes group_num and reads no data: inputs and workspace may be null.
TEST(OpsNmsMatchErrors, NoBoxes) {
  const Case made = make(0, 1);
  const Handle handle;
  OperatorCall call(handle, made);
  EXPECT_EQ(call.arguments.workspace_size, 0U);
  for (const char* id : {"dets", "members", "group_sizes"}) call[id].data = nullptr;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.int32s("group_num"), std::vector<int32_t>{0});
  expect_errors(made, {{[](OperatorCall& of) { of["group_num"].data = nullptr; },
                        "group_num is null, expected the data of a tensor [1]"}});
}

}  // namespace
}  // namespace mluop::test
