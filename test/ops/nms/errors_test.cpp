// What mluOpNms, mluOpOmpNms3dNormal, their workspace queries and the NMS descriptor require.
#include <gtest/gtest.h>

#include <climits>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/api_errors.h"
#include "support/call_errors.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

using cases::Case;
using cases::NmsDescriptor;

constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;
constexpr int64_t k2To31 = int64_t{1} << 31;
const ErrorOptions kQueryFails{.query = Query::kFails}, kQuerySucceeds{.query = Query::kSucceeds};

Case make(const std::map<std::string, int64_t>& sizes) { return make_case("nms", MLUOP_DTYPE_FLOAT, sizes); }

void without_confidence(OperatorCall& call) { call["confidence"].desc = nullptr; }

TEST(OpsNmsErrors, Shapes) {
  // boxes [100, 4], confidence [100], output [40].
  expect_errors(
      make({}),
      {{without_confidence, "confidence_desc is null"},
       {set_shape("boxes", {100, 7}), "confidence is not null, expected null of boxes with 7 numbers"},
       {set_shape("boxes", {1, 100, 4}), "boxes has 3 dimensions, expected 2"},
       {set("input_layout", 1), "boxes dim 0 is 100, expected 4"},
       {set_shape("boxes", {k2To31, 4}), "boxes has 2147483648 boxes, expected fewer than 2^31", kNotSupported}},
      kQueryFails);
  expect_errors(make({}),
                {{set("max_output_boxes", 41), "output dim 0 is 40, expected 41"},
                 {set("mode", 1), "output has data type INT32, expected FLOAT"},
                 {set("mode", 3), "output has 1 dimensions, expected 2"}},
                kQuerySucceeds);
  expect_errors(make({{"mode", 2}}), {{set_shape("output", {40, 5}), "output dim 0 is 40, expected 5"}},
                kQuerySucceeds);
}

TEST(OpsNmsErrors, BatchesAndClasses) {
  // boxes [2, 100, 4], confidence [2, 3, 100], output [240, 3].
  const Case made = make({{"batches", 1}});
  expect_errors(
      made,
      {{set_shape("boxes", {100, 4}), "boxes has 2 dimensions, expected 3"},
       {set_shape("boxes", {1, 100, 4}), "confidence dim 0 is 2, expected 1"},
       {all_of({set("mode", 0), set_shape("output", {240})}),
        "confidence has 2 batches and 3 classes, expected 1 of each in output mode 0"},
       {set("max_output_boxes", INT_MAX),
        "output has 2 x 3 x 2147483647 rows (batches x classes x max_output_size), expected fewer than 2^31",
        kNotSupported}},
      kQueryFails);
}

TEST(OpsNmsErrors, ThreeDimensions) {
  expect_errors(
      make({{"planar", 0}}),
      {{set_desc("boxes", Descriptor(MLUOP_DTYPE_HALF, {100, 7})), "boxes has data type HALF, expected FLOAT"},
       {set_shape("boxes", {100, 4}), "confidence_desc is null"}},
      kQueryFails);
  expect_errors(make({{"planar", 0}}), {{set_shape("output", {99}), "output dim 0 is 99, expected 100"}},
                kQuerySucceeds);
  expect_errors(
      make_case("nms3d_normal", MLUOP_DTYPE_FLOAT, {}),
      {{set_shape("boxes", {k2To31, 7}), "boxes dim 0 is 2147483648, expected fewer than 2^31", kNotSupported}},
      kQueryFails);
}

// Without boxes, batches, classes or rows of the output, inputs and workspace may be null.
TEST(OpsNmsErrors, NothingToDo) {
  const std::map<std::string, int64_t> kSizes[] = {{{"n", 0}},
                                                   {{"max_output_size", 0}},
                                                   {{"n", 0}, {"planar", 0}},
                                                   {{"batches", 1}, {"b", 0}},
                                                   {{"batches", 1}, {"c", 0}},
                                                   {{"batches", 1}, {"n", 0}}};
  for (const auto& sizes : kSizes) {
    const Handle handle;
    OperatorCall call(handle, make(sizes));
    EXPECT_EQ(call.arguments.workspace_size, 0U);
    call["boxes"].data = call["confidence"].data = nullptr;
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(call.int32s("output_size"), std::vector<int32_t>{0});
    const std::vector<int32_t> output = call.int32s("output");
    EXPECT_EQ(output, std::vector<int32_t>(output.size()));
    EXPECT_TRUE(call.guards_intact());
  }
}

// The arguments of mluOpSetNmsDescriptor.
struct Values {
  int box_mode = 0, output_mode = 0, algo = 0, method_mode = 0;
  float iou_threshold = 0.5F, soft_nms_sigma = 0;
  int max_output_size = 10;
  float confidence_threshold = 0, offset = 0;
  int input_layout = 0;

  mluOpStatus_t set(mluOpNmsDescriptor_t desc) const {
    return mluOpSetNmsDescriptor(desc, static_cast<mluOpNmsBoxPointMode_t>(box_mode),
                                 static_cast<mluOpNmsOutputMode_t>(output_mode), static_cast<mluOpNmsAlgo_t>(algo),
                                 static_cast<mluOpNmsMethodMode_t>(method_mode), iou_threshold, soft_nms_sigma,
                                 max_output_size, confidence_threshold, offset, input_layout, true);
  }
};

TEST(OpsNmsErrors, Descriptor) {
  const NmsDescriptor desc;
  expect_errors({
      {[] { return mluOpCreateNmsDescriptor(nullptr); }, "[mluOpCreateNmsDescriptor] desc is null"},
      {[] { return mluOpDestroyNmsDescriptor(nullptr); }, "[mluOpDestroyNmsDescriptor] desc is null"},
      {[] { return Values().set(nullptr); }, "[mluOpSetNmsDescriptor] nms_desc is null"},
  });
  const struct {
    std::function<void(Values&)> change;
    std::string message;
    mluOpStatus_t status = MLUOP_STATUS_BAD_PARAM;
  } kTable[] = {
      {[](auto& v) { v.box_mode = 2; }, "box_mode is 2, expected 0 to 1"},
      {[](auto& v) { v.box_mode = -1; }, "box_mode is -1, expected 0 to 1"},
      {[](auto& v) { v.output_mode = 4; }, "output_mode is 4, expected 0 to 3"},
      {[](auto& v) { v.algo = 2; }, "algo is 2, expected 0 to 1"},
      {[](auto& v) { v.method_mode = 3; }, "method_mode is 3, expected 0 to 2"},
      {[](auto& v) { v.soft_nms_sigma = -1; }, "soft_nms_sigma is -1, expected at least 0"},
      {[](auto& v) { v.soft_nms_sigma = kNan; }, "soft_nms_sigma is nan, expected at least 0"},
      {[](auto& v) { v.max_output_size = -1; }, "max_output_size is -1, expected at least 0"},
      {[](auto& v) { v.offset = 0.5F; }, "offset is 0.5, expected 0 or 1"},
      {[](auto& v) { v.offset = kNan; }, "offset is nan, expected 0 or 1"},
      {[](auto& v) { v.input_layout = 2; }, "input_layout is 2, expected 0 or 1"},
      {[](auto& v) { v.input_layout = -1; }, "input_layout is -1, expected 0 or 1"},
      {[](auto& v) { v.method_mode = 1; },
       "method_mode is 1, expected MLUOP_NMS_HARD_NMS (0): soft NMS is not supported", kNotSupported},
      {[](auto& v) { v.method_mode = 2; },
       "method_mode is 2, expected MLUOP_NMS_HARD_NMS (0): soft NMS is not supported", kNotSupported},
  };
  for (const auto& row : kTable) {
    SCOPED_TRACE(row.message);
    Values values;
    row.change(values);
    expect_failure([&] { return values.set(desc); }, row.status, "[mluOpSetNmsDescriptor] " + row.message);
  }
}

// A null descriptor, a descriptor that is not set, and a failing setter, which does not change the descriptor.
TEST(OpsNmsErrors, UseOfTheDescriptor) {
  const Handle handle;
  const OperatorCall arguments(handle, make({{"n", 10}, {"max_output_size", 10}}));
  const cases::Operand &boxes = arguments["boxes"], &confidence = arguments["confidence"];
  const auto run = [&](mluOpNmsDescriptor_t desc) {
    return mluOpNms(handle, desc, boxes.desc, boxes.data, confidence.desc, confidence.data,
                    arguments.arguments.workspace, arguments.arguments.workspace_size, arguments["output"].desc,
                    arguments["output"].data, arguments["output_size"].data);
  };
  const auto query = [&](mluOpNmsDescriptor_t desc) {
    size_t bytes = 0;
    return mluOpGetNmsWorkspaceSize(handle, desc, boxes.desc, confidence.desc, &bytes);
  };
  const NmsDescriptor desc;
  const std::string not_set = "nms_desc is not set, expected mluOpSetNmsDescriptor before";
  expect_errors({
      {[&] { return run(nullptr); }, "[mluOpNms] nms_desc is null"},
      {[&] { return query(nullptr); }, "[mluOpGetNmsWorkspaceSize] nms_desc is null"},
      {[&] { return run(desc); }, "[mluOpNms] " + not_set},
      {[&] { return query(desc); }, "[mluOpGetNmsWorkspaceSize] " + not_set},
  });
  Values values;
  ASSERT_EQ(values.set(desc), MLUOP_STATUS_SUCCESS);
  values.max_output_size = -1;
  EXPECT_EQ(values.set(desc), MLUOP_STATUS_BAD_PARAM);
  EXPECT_EQ(query(desc), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(run(desc), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

}  // namespace
}  // namespace mluop::test
