// Requirements of mluOpYoloBox on the factor of IoUs and the anchors.
#include <gtest/gtest.h>

#include "support/call_errors.h"

namespace mluop::test {
namespace {

TEST(OpsYoloBoxErrors, Numbers) {
  const cases::Case made = make_case("yolo_box", MLUOP_DTYPE_FLOAT, {{"iou_aware", 1}});
  expect_errors(made, {{set("class_num", 0), "class_num is 0, expected at least 1"},
                       {set_real("iou_aware_factor", 1.5), "iou_aware_factor is 1.5, expected 0 to 1"},
                       {set_real("iou_aware_factor", -0.5), "iou_aware_factor is -0.5, expected 0 to 1"},
                       {set_shape("anchors", {7}), "anchors dim 0 is 7, expected a positive even number"},
                       {all_of({set_shape("anchors", {1}), set_shape("x", {2, 0, 5, 6}),
                                set_shape("boxes", {2, 0, 4, 30}), set_shape("scores", {2, 0, 7, 30})}),
                        "anchors dim 0 is 1, expected a positive even number"},
                       {all_of({set_shape("anchors", {0}), set_shape("x", {2, 0, 5, 6}),
                                set_shape("boxes", {2, 0, 4, 30}), set_shape("scores", {2, 0, 7, 30})}),
                        "anchors dim 0 is 0, expected a positive even number"}});
}

}  // namespace
}  // namespace mluop::test
