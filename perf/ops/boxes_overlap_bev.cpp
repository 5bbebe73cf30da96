// Bird's-eye overlap at the sizes of assigning targets in PartA2, PointRCNN and SECOND: proposals, or anchors,
// with ground truth. Boxes have the size of cars and are anywhere in a scene of 140 m x 80 m, or in a cluster as a
// detector yields on few objects.
#include <cstdint>
#include <random>
#include <vector>

#include "perf/support/operator_case.h"

namespace mluop::perf::boxes_overlap_bev {
namespace {

enum class Boxes { kScene, kCluster, kEqual };

struct Row {
  const char* name;
  int64_t N, M;
  Boxes boxes = Boxes::kScene;
};

constexpr Row kCases[] = {{"proposals_gt 512x40", 512, 40},
                          {"proposals 500x500", 500, 500},
                          {"proposals 4096x4096", 4096, 4096},
                          {"proposals_cluster 500x500", 500, 500, Boxes::kCluster},
                          {"anchors_gt 70400x40", 70400, 40}};
// Only the arc tangent orders the angles of equal boxes.
constexpr Row kCliffCases[] = {{"boxes_overlap_bev scene", 500, 500},
                               {"boxes_overlap_bev cluster", 500, 500, Boxes::kCluster},
                               {"boxes_overlap_bev equal", 500, 500, Boxes::kEqual}};

std::vector<float> make_boxes(int64_t count, uint32_t seed, Boxes boxes) {
  std::mt19937 random(seed);
  const auto between = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  const float width = boxes == Boxes::kScene ? 140 : 6, depth = boxes == Boxes::kScene ? 80 : 6;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    if (boxes == Boxes::kEqual) {
      values.insert(values.end(), {3, 2, -1, 4, 1.8F, 1.6F, 0.5F});
    } else {
      values.insert(values.end(), {between(0, width), between(0, depth), -1, between(3.5F, 4.5F), between(1.6F, 2),
                                   1.6F, between(-3.14F, 3.14F)});
    }
  }
  return values;
}

std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  const int64_t N = scaled(row.N, size), M = row.M;
  auto made = make_case("boxes_overlap_bev", variant, {},
                        {{"boxes_a", variant.dtype, {N, 7}},
                         {"boxes_b", variant.dtype, {M, 7}},
                         {"overlaps", variant.dtype, {N, M}}});
  made->set("boxes_a", make_boxes(N, 1, row.boxes));
  made->set("boxes_b", make_boxes(M, 2, row.boxes));
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "boxes_overlap_bev", kNativeFloat, kCases, make);
  append_cases(specs, kCliffs, kNativeFloat, kCliffCases, make);
  return specs;
}

}  // namespace mluop::perf::boxes_overlap_bev
