// IoU and non-maximum suppression of rotated boxes at the sizes of 3-D detectors. A scene of 140 m x 80 m has one
// object for every 24 boxes; the boxes are predictions of the objects.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "perf/support/operator_case.h"

namespace mluop::perf::rotated_boxes {
namespace {

enum class Placement {
  kScene,
  kDisjoint,  // a box overlaps no other of its tensor
  kCluster,   // anywhere within 6 m: every box overlaps most others
};

using Box = std::array<float, 5>;

class Boxes {
 public:
  // An object of a scene, or a box of another placement, for each of `count` boxes.
  Boxes(Placement placement, int64_t count) : placement_(placement) {
    constexpr int64_t kBoxesOfObject = 24;
    const int64_t objects = placement == Placement::kScene ? count / kBoxesOfObject + 1 : count;
    for (int64_t i = 0; i < objects; ++i) objects_.push_back(object(i, objects));
  }

  void fill(std::span<float> boxes) {
    for (size_t i = 0; i < boxes.size() / kNumbers; ++i) {
      std::ranges::copy(prediction(objects_[i % objects_.size()]), boxes.begin() + i * kNumbers);
    }
  }

 private:
  static constexpr size_t kNumbers = std::tuple_size_v<Box>;
  static constexpr auto kPi = std::numbers::pi_v<float>;

  float uniform(float low, float high) { return std::uniform_real_distribution<float>(low, high)(random_); }
  float normal(float deviation) { return std::normal_distribution<float>(0, deviation)(random_); }

  Box object(int64_t i, int64_t count) {
    // Cars, pedestrians, cyclists and trucks.
    constexpr float kSides[][2] = {{4.5F, 1.9F}, {0.8F, 0.7F}, {1.8F, 0.7F}, {9.5F, 2.9F}};
    const auto& [width, height] = kSides[i % 4];
    const float angle = uniform(-kPi, kPi);
    switch (placement_) {
      case Placement::kScene: break;
      case Placement::kDisjoint: {
        constexpr float kDistance = 16;
        const auto columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
        return {static_cast<float>(i % columns) * kDistance, static_cast<float>(i / columns) * kDistance, width,
                height, angle};
      }
      case Placement::kCluster: return {uniform(0, 6), uniform(0, 6), 4.5F, 1.9F, angle};
    }
    return {uniform(-70, 70), uniform(-40, 40), width, height, angle};
  }

  // One in 16 faces the opposite direction.
  Box prediction(const Box& object) {
    const auto& [x, y, width, height, angle] = object;
    return {x + normal(0.3F), y + normal(0.3F), width * std::exp(normal(0.1F)), height * std::exp(normal(0.1F)),
            angle + normal(0.1F) + (random_() % 16 == 0 ? kPi : 0)};
  }

  Placement placement_;
  std::mt19937 random_{1};
  std::vector<Box> objects_;
};

struct IouRow {
  const char* name;
  int64_t N, M;  // M is 0: aligned
  Placement placement = Placement::kScene;
};

constexpr IouRow kIouCases[] = {{"anchors_objects 211200x32", 211200, 32},
                                {"proposals_objects 9000x64", 9000, 64},
                                {"1000x1000", 1000, 1000},
                                {"4096x4096", 4096, 4096},
                                {"aligned 100000", 100000, 0}};
constexpr IouRow kIouCliffCases[] = {{"box_iou_rotated scene", 1000, 1000},
                                     {"box_iou_rotated disjoint", 1000, 1000, Placement::kDisjoint},
                                     {"box_iou_rotated cluster", 1000, 1000, Placement::kCluster}};

std::unique_ptr<Case> make_ious(const IouRow& row, const Variant& variant, double size) {
  constexpr auto kFloat = MLUOP_DTYPE_FLOAT;
  const bool aligned = row.M == 0;
  const int64_t N = scaled(row.N, size), M = aligned ? N : row.M;
  auto made = make_case("box_iou_rotated", variant, {{"mode", 0}, {"aligned", aligned ? 1 : 0}},
                        {{"bbox1", kFloat, {N, 5}},
                         {"bbox2", kFloat, {M, 5}},
                         {"ious", kFloat, aligned ? cases::Dims{N} : cases::Dims{N, M}}});
  Boxes boxes(row.placement, std::max(N, M));
  boxes.fill(made->values<float>("bbox1"));
  boxes.fill(made->values<float>("bbox2"));
  made->dump("aligned", {aligned ? 1 : 0});
  return made;
}

struct NmsRow {
  const char* name;
  int64_t N;
  float iou_threshold;
  Placement placement = Placement::kScene;
};

constexpr NmsRow kNmsCases[] = {{"second_kitti 100_iou0.01", 100, 0.01F},
                                {"centerpoint_nuscenes 1000_iou0.2", 1000, 0.2F},
                                {"second_waymo 4096_iou0.25", 4096, 0.25F},
                                {"centerpoint_waymo 4096_iou0.7", 4096, 0.7F},
                                {"pointrcnn_kitti 9000_iou0.85", 9000, 0.85F}};
constexpr NmsRow kNmsCliffCases[] = {{"nms_rotated scene", 4096, 0.2F},
                                     {"nms_rotated disjoint", 4096, 0.2F, Placement::kDisjoint},
                                     {"nms_rotated cluster", 4096, 0.2F, Placement::kCluster},
                                     {"nms_rotated cluster_iou0.85", 4096, 0.85F, Placement::kCluster}};

std::unique_ptr<Case> make_nms(const NmsRow& row, const Variant& variant, double size) {
  const int64_t N = scaled(row.N, size);
  auto made = make_case("nms_rotated", variant, {{"iou_threshold", row.iou_threshold}},
                        {{"boxes", MLUOP_DTYPE_FLOAT, {N, 5}},
                         {"scores", MLUOP_DTYPE_FLOAT, {N}},
                         {"output", MLUOP_DTYPE_INT32, {N}},
                         {"result_num", MLUOP_DTYPE_INT32, {1}}});
  Boxes(row.placement, N).fill(made->values<float>("boxes"));
  made->fill_uniform("scores", 2);
  made->options.measures_memory = true;
  made->dump<float>("iou_threshold", {row.iou_threshold});
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "box_iou_rotated", kNativeFloat, kIouCases, make_ious);
  append_cases(specs, "nms_rotated", kNativeFloat, kNmsCases, make_nms);
  append_cases(specs, kCliffs, kNativeFloat, kIouCliffCases, make_ious);
  append_cases(specs, kCliffs, kNativeFloat, kNmsCliffCases, make_nms);
  return specs;
}

}  // namespace mluop::perf::rotated_boxes
