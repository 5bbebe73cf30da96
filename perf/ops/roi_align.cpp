// RoI align forward and backward at the sizes of Faster R-CNN and Mask R-CNN with a feature pyramid: 256 channels,
// 512 RoIs in training, 1000 in a test, with the sizes usual for a level. Samples are as dense as pixels.
#include <algorithm>
#include <random>
#include <vector>

#include "perf/support/operator_case.h"

namespace mluop::perf::roi_align {
namespace {

struct Row {
  const char* name;
  int64_t H, W, R, bins;
  bool nchw = true;
  int64_t pool_mode = 1;
  bool on_one_place = false;
};

constexpr int64_t kChannels = 256;
constexpr Row kCases[] = {{"faster rcnn p2 200x304 r512 7x7", 200, 304, 512, 7},
                          {"faster rcnn p3 100x152 r1000 7x7", 100, 152, 1000, 7},
                          {"faster rcnn p4 50x76 r512 7x7", 50, 76, 512, 7},
                          {"faster rcnn p5 25x38 r512 7x7", 25, 38, 512, 7},
                          {"mask rcnn p2 200x304 r100 14x14", 200, 304, 100, 14},
                          {"faster rcnn p2 200x304 r512 7x7 nhwc", 200, 304, 512, 7, false},
                          {"faster rcnn p4 50x76 r512 7x7 nhwc", 50, 76, 512, 7, false},
                          {"faster rcnn p4 50x76 r512 7x7 max", 50, 76, 512, 7, true, 0}};
constexpr Row kCliffCases[] = {{"roi align scattered", 100, 152, 512, 7},
                               {"roi align one place", 100, 152, 512, 7, true, 1, true}};

constexpr double kScale = 0.25;

std::vector<float> make_boxes(const Row& row, int64_t R) {
  std::mt19937 random(1);
  const auto uniform = [&](int64_t low, int64_t high) {
    std::uniform_real_distribution<float> in_pixels(static_cast<float>(low), static_cast<float>(high));
    return in_pixels(random) / static_cast<float>(kScale);
  };
  std::vector<float> boxes;
  for (int64_t r = 0; r < R; ++r) {
    const float width = uniform(7, 20), height = uniform(7, 20);
    const float x = row.on_one_place ? 0 : uniform(0, row.W - 20),
                y = row.on_one_place ? 0 : uniform(0, row.H - 20);
    boxes.insert(boxes.end(), {0, x, y, x + width, y + height});
  }
  return boxes;
}

struct Shapes {
  Shapes(const Row& row, int64_t R)
      : layout(row.nchw ? MLUOP_LAYOUT_NCHW : MLUOP_LAYOUT_NHWC),
        image(row.nchw ? cases::Dims{1, kChannels, row.H, row.W} : cases::Dims{1, row.H, row.W, kChannels}),
        bins(row.nchw ? cases::Dims{R, kChannels, row.bins, row.bins}
                      : cases::Dims{R, row.bins, row.bins, kChannels}),
        argmax(row.pool_mode == 0 ? bins : cases::Dims{0}) {}

  mluOpTensorLayout_t layout;
  cases::Dims image, bins, argmax;
};

std::vector<NamedValue> parameters_of(const Row& row) {
  return {{"spatial_scale", kScale},
          {"sampling_ratio", int64_t{0}},
          {"aligned", int64_t{1}},
          {"pool_mode", row.pool_mode}};
}

void dump_parameters(OperatorCase& made, const Row& row) {
  made.dump<double>("spatial_scale", {kScale});
  made.dump("pool_mode", {row.pool_mode});
  made.dump("channels_last", {int64_t{!row.nchw}});
  made.dump("image_size", {int64_t{1}, row.H, row.W});
  made.dump("output_size", {row.bins, row.bins});
}

std::unique_ptr<OperatorCase> make_forward(const Row& row, const Variant& variant, double size) {
  const int64_t R = scaled(row.R, size);
  const Shapes shapes(row, R);
  std::vector<NamedValue> parameters = parameters_of(row);
  parameters.push_back({"pooled_height", row.bins});
  parameters.push_back({"pooled_width", row.bins});
  const mluOpDataType_t dtype = variant.dtype;
  auto made = make_case("roi_align_forward_v2", variant, parameters,
                        {{"input", dtype, shapes.image, shapes.layout},
                         {"boxes", dtype, {R, 5}},
                         {"output", dtype, shapes.bins, shapes.layout},
                         {"argmax_x", dtype, shapes.argmax, shapes.layout},
                         {"argmax_y", dtype, shapes.argmax, shapes.layout}});
  made->fill_uniform("input", 1);
  made->set("boxes", make_boxes(row, R));
  dump_parameters(*made, row);
  return made;
}

std::unique_ptr<OperatorCase> make_backward(const Row& row, const Variant& variant, double size) {
  const int64_t R = scaled(row.R, size);
  const Shapes shapes(row, R);
  const mluOpDataType_t dtype = variant.dtype;
  auto made = make_case("roi_align_backward_v2", variant, parameters_of(row),
                        {{"grads", dtype, shapes.bins, shapes.layout},
                         {"boxes", dtype, {R, 5}},
                         {"argmax_x", dtype, shapes.argmax, shapes.layout},
                         {"argmax_y", dtype, shapes.argmax, shapes.layout},
                         {"grads_image", dtype, shapes.image, shapes.layout}});
  made->fill_uniform("grads", 1);
  made->set("boxes", make_boxes(row, R));
  dump_parameters(*made, row);
  if (row.pool_mode == 0) {
    const auto forward = make_forward(row, variant, size);
    forward->run();
    for (const char* id : {"argmax_x", "argmax_y"}) std::ranges::copy(forward->bytes(id), made->bytes(id).begin());
  }
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "roi_align_forward_v2", kNativeFloat, kCases, make_forward);
  append_cases(specs, "roi_align_backward_v2", kNativeFloat, kCases, make_backward);
  append_cases(specs, kCliffs, kNativeFloat, kCliffCases, make_forward);
  return specs;
}

}  // namespace mluop::perf::roi_align
