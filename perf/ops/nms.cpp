// NMS of the proposals of an image of 800 x 1333 pixels in Faster R-CNN and RetinaNet: 1000 and 4096 of a level,
// 9000 of all levels; NMS of 3-D boxes at the sizes of CenterPoint on Waymo and of ImVoxelNet. Half of the boxes
// are around objects of the scene.
#include <random>
#include <utility>
#include <vector>

#include "perf/support/operator_case.h"

namespace mluop::perf::nms {
namespace {

enum class Arrangement { kScene, kEqual, kApart };

struct Row {
  const char* name;
  int64_t N;
  double iou_threshold;
  Arrangement arrangement = Arrangement::kScene;
};

constexpr Row kImageCases[] = {{"proposals 1000_iou0.7", 1000, 0.7},
                               {"proposals 4096_iou0.7", 4096, 0.7},
                               {"proposals 9000_iou0.7", 9000, 0.7},
                               {"detections 4096_iou0.5", 4096, 0.5}};
constexpr Row kTurnedCases[] = {{"centerpoint_waymo_3d 4096_iou0.7", 4096, 0.7}};
constexpr Row kUprightCases[] = {{"imvoxelnet 1000_iou0.25", 1000, 0.25}};
constexpr Row kCliffCases[] = {{"nms scene", 9000, 0.7},
                               {"nms equal", 9000, 0.7, Arrangement::kEqual},
                               {"nms apart", 9000, 0.7, Arrangement::kApart}};

constexpr int64_t kObjects = 64;

// Boxes within [low, high] in each column: anywhere, or around an object, with deviations up to a sixteenth of the
// range.
class Scene {
 public:
  Scene(std::vector<float> low, std::vector<float> high) : low_(std::move(low)), high_(std::move(high)) {
    for (int64_t i = 0; i < kObjects; ++i) objects_.push_back(anywhere());
  }

  std::vector<float> anywhere() {
    std::vector<float> box;
    for (size_t i = 0; i < low_.size(); ++i) box.push_back(uniform(low_[i], high_[i]));
    return box;
  }

  std::vector<float> box(Arrangement arrangement, int64_t i) {
    if (arrangement == Arrangement::kEqual) return objects_[0];
    std::vector<float> box = anywhere();
    if (arrangement == Arrangement::kApart) {
      // Columns 0 and 1 are the position.
      box[0] = static_cast<float>(i % 128) * high_[0];
      box[1] = static_cast<float>(i / 128) * high_[1];
    } else if (i % 2 == 0) {
      box = objects_[random_() % kObjects];
      for (size_t j = 0; j < box.size(); ++j) box[j] += uniform(-1, 1) * (high_[j] - low_[j]) / 64;
    }
    return box;
  }

 private:
  float uniform(float low, float high) { return std::uniform_real_distribution<float>(low, high)(random_); }

  std::mt19937 random_{1};
  std::vector<float> low_, high_;
  std::vector<std::vector<float>> objects_;
};

std::vector<float> scene_of(Scene scene, Arrangement arrangement, int64_t N) {
  std::vector<float> boxes;
  for (int64_t i = 0; i < N; ++i) {
    const std::vector<float> box = scene.box(arrangement, i);
    boxes.insert(boxes.end(), box.begin(), box.end());
  }
  return boxes;
}

// x, y, z, dx, dy, dz, yaw of vehicles.
std::vector<float> vehicles(Arrangement arrangement, int64_t N) {
  return scene_of({{-75, -75, -2, 3.5F, 1.6F, 1.4F, -3.14F}, {75, 75, 2, 5.5F, 2.2F, 2, 3.14F}}, arrangement, N);
}

// x1, y1, x2, y2 of boxes in an image.
std::vector<float> image_boxes(Arrangement arrangement, int64_t N) {
  std::vector<float> boxes = scene_of({{0, 0, 16, 16}, {1200, 700, 300, 300}}, arrangement, N);
  for (size_t i = 0; i < boxes.size(); i += 4) {
    boxes[i + 2] += boxes[i];
    boxes[i + 3] += boxes[i + 1];
  }
  return boxes;
}

std::vector<NamedValue> parameters_of(const Row& row, int64_t N) {
  return {{"run_mode", int64_t{0}},
          {"max_output_boxes", N},
          {"iou_threshold", row.iou_threshold},
          {"confidence_threshold", 0.0},
          {"input_layout", int64_t{0}},
          {"mode", int64_t{MLUOP_NMS_OUTPUT_TARGET_INDICES}},
          {"algo", int64_t{0}},
          {"offset", 0.0},
          {"method_mode", int64_t{MLUOP_NMS_HARD_NMS}},
          {"box_mode", int64_t{MLUOP_NMS_BOX_DIAGONAL}},
          {"soft_nms_sigma", 0.0},
          {"pad_to_max_output_size", int64_t{0}}};
}

std::unique_ptr<Case> with_dumps(std::unique_ptr<OperatorCase> made, const Row& row) {
  made->dump<float>("iou_threshold", {static_cast<float>(row.iou_threshold)});
  return made;
}

std::unique_ptr<Case> make_image(const Row& row, const Variant& variant, double size) {
  const int64_t N = scaled(row.N, size);
  auto made = make_case("nms", variant, parameters_of(row, N),
                        {{"boxes", MLUOP_DTYPE_FLOAT, {N, 4}},
                         {"confidence", MLUOP_DTYPE_FLOAT, {N}},
                         {"output", MLUOP_DTYPE_INT32, {N}},
                         {"output_size", MLUOP_DTYPE_INT32, {1}}});
  made->set("boxes", image_boxes(row.arrangement, N));
  made->fill_uniform("confidence", 1);
  // From 0 to 1.
  for (float& confidence : made->values<float>("confidence")) confidence = (confidence + 1) / 2;
  return with_dumps(std::move(made), row);
}

std::unique_ptr<Case> make_turned(const Row& row, const Variant& variant, double size) {
  const int64_t N = scaled(row.N, size);
  auto made = make_case("nms", variant, parameters_of(row, N),
                        {{"boxes", MLUOP_DTYPE_FLOAT, {N, 7}},
                         {"confidence", MLUOP_DTYPE_FLOAT, {0}},
                         {"output", MLUOP_DTYPE_INT32, {N}},
                         {"output_size", MLUOP_DTYPE_INT32, {1}}});
  made->set("boxes", vehicles(row.arrangement, N));
  return with_dumps(std::move(made), row);
}

std::unique_ptr<Case> make_upright(const Row& row, const Variant& variant, double size) {
  const int64_t N = scaled(row.N, size);
  auto made = make_case("nms3d_normal", variant, {{"iou_threshold", row.iou_threshold}},
                        {{"boxes", MLUOP_DTYPE_FLOAT, {N, 7}},
                         {"output", MLUOP_DTYPE_INT32, {N}},
                         {"result_num", MLUOP_DTYPE_INT32, {1}}});
  made->set("boxes", vehicles(row.arrangement, N));
  return with_dumps(std::move(made), row);
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "nms", kNativeFloat, kImageCases, make_image);
  append_cases(specs, "nms", kNativeFloat, kTurnedCases, make_turned);
  append_cases(specs, "nms3d_normal", kNativeFloat, kUprightCases, make_upright);
  append_cases(specs, kCliffs, kNativeFloat, kCliffCases, make_image);
  return specs;
}

}  // namespace mluop::perf::nms
