// Soft NMS and NMS match at the sizes of two-stage and one-stage detectors: boxes of 80 classes, each in a
// separate region, around objects of an image of 1333 by 800 pixels.
#include "reference/axis_aligned_nms.h"

#include <random>

#include "perf/support/operator_case.h"

namespace mluop::perf::axis_aligned_nms {
namespace {

struct SoftNmsRow {
  const char* name;
  int64_t N;
  mluOpOmpSoftNmsMethod_t method;
  int64_t classes = 80;
};

constexpr SoftNmsRow kSoftNmsCases[] = {{"faster_rcnn 1000 linear", 1000, MLUOP_OMP_SOFT_NMS_LINEAR},
                                        {"faster_rcnn 1000 gaussian", 1000, MLUOP_OMP_SOFT_NMS_GAUSSIAN},
                                        {"retinanet 5000 linear", 5000, MLUOP_OMP_SOFT_NMS_LINEAR},
                                        {"retinanet 5000 gaussian", 5000, MLUOP_OMP_SOFT_NMS_GAUSSIAN}};
// Boxes that overlap few others, and boxes that overlap many.
constexpr SoftNmsRow kSoftNmsCliffCases[] = {
    {"soft_nms classes", 5000, MLUOP_OMP_SOFT_NMS_GAUSSIAN},
    {"soft_nms one class", 5000, MLUOP_OMP_SOFT_NMS_GAUSSIAN, 1},
};

struct NmsMatchRow {
  const char* name;
  int64_t N;
  int64_t classes = 80;
};

// PISA matches the proposals of an image, and the boxes of all classes.
constexpr NmsMatchRow kNmsMatchCases[] = {{"pisa 512", 512, 1}, {"pisa 2000", 2000, 1}, {"pisa 20000", 20000}};
constexpr NmsMatchRow kNmsMatchCliffCases[] = {{"nms_match classes", 20000}, {"nms_match one class", 20000, 1}};

// Fills rows of at least x1, y1, x2 and y2: about 16 boxes around each object.
void fill_boxes(std::span<float> rows, size_t columns, int64_t classes) {
  constexpr float kWidth = 1333, kHeight = 800;
  std::mt19937 random(1);
  const auto uniform = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  struct Object {
    float x, y, width, height;
  };
  std::vector<Object> objects;
  for (size_t i = 0; i < rows.size() / columns / 16 + 1; ++i) {
    const float shift = kWidth * static_cast<float>(static_cast<int64_t>(random() % 65536) % classes);
    objects.push_back({shift + uniform(0, kWidth), uniform(0, kHeight), uniform(16, 256), uniform(16, 256)});
  }
  for (size_t at = 0; at < rows.size(); at += columns) {
    const Object& object = objects[random() % objects.size()];
    const auto near = [&](float center, float side) { return center + side * uniform(-0.25F, 0.25F); };
    rows[at] = near(object.x, object.width);
    rows[at + 1] = near(object.y, object.height);
    rows[at + 2] = near(object.x + object.width, object.width);
    rows[at + 3] = near(object.y + object.height, object.height);
    for (size_t i = 4; i < columns; ++i) rows[at + i] = uniform(0, 1);
  }
}

std::unique_ptr<Case> make_soft_nms(const SoftNmsRow& row, const Variant& variant, double size) {
  const int64_t N = scaled(row.N, size);
  constexpr double kIouThreshold = 0.3F, kSigma = 0.5, kMinScore = 0.05F;
  auto made = make_case("soft_nms", variant,
                        {{"method", int64_t{row.method}},
                         {"iou_threshold", kIouThreshold},
                         {"sigma", kSigma},
                         {"min_score", kMinScore},
                         {"offset", int64_t{0}}},
                        {{"boxes", MLUOP_DTYPE_FLOAT, {N, 4}},
                         {"scores", MLUOP_DTYPE_FLOAT, {N}},
                         {"dets", MLUOP_DTYPE_FLOAT, {N, 5}},
                         {"inds", MLUOP_DTYPE_INT32, {N}},
                         {"result_num", MLUOP_DTYPE_INT32, {1}}});
  fill_boxes(made->values<float>("boxes"), 4, row.classes);
  made->fill_uniform("scores", 2);
  for (float& score : made->values<float>("scores")) score = (score + 1) / 2;
  made->dump("method", {row.method});
  return made;
}

std::unique_ptr<Case> make_nms_match(const NmsMatchRow& row, const Variant& variant, double size) {
  const int64_t N = scaled(row.N, size);
  auto made = make_case("nms_match", variant, {{"iou_threshold", 0.5}},
                        {{"dets", MLUOP_DTYPE_FLOAT, {N, 5}},
                         {"members", MLUOP_DTYPE_INT32, {N}},
                         {"group_sizes", MLUOP_DTYPE_INT32, {N}},
                         {"group_num", MLUOP_DTYPE_INT32, {1}}});
  fill_boxes(made->values<float>("dets"), 5, row.classes);
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "soft_nms", kNativeFloat, kSoftNmsCases, make_soft_nms);
  append_cases(specs, "nms_match", kNativeFloat, kNmsMatchCases, make_nms_match);
  append_cases(specs, kCliffs, kNativeFloat, kSoftNmsCliffCases, make_soft_nms);
  append_cases(specs, kCliffs, kNativeFloat, kNmsMatchCliffCases, make_nms_match);
  return specs;
}

}  // namespace mluop::perf::axis_aligned_nms
