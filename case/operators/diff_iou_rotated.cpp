#include "reference/diff_iou_rotated.h"

#include <cmath>

#include "case/description.h"

namespace mluop::cases::diff_iou_rotated {
namespace {

constexpr int64_t kCandidates = 24, kCorners = 8;

void expect(Arguments& a) {
  reference::sort_vertices(a[2].count(), a[0].as<float>(), a[1].as<uint8_t>(), a[2].as<int32_t>(),
                           a[3].as<int32_t>());
}

void fit(Case& c) { set_shape(c.outputs[0], {c.inputs[0].dims[0], c.inputs[0].dims[1], 9}); }

// Masks with 0 to 24 valid candidates. Vertices are on a circle, on a grid of 1/4, so that some are equal or have
// y = 0, or the corners of two equal boxes. Numbers of vertices differ from the mask in one of eight pairs.
struct Pairs {
  explicit Pairs(int32_t seed) : random(seed) {}

  void append() {
    const int32_t kind = random.below(8), first = random.below(8);
    const bool are_equal = kind == 0, are_on_grid = kind < 4;
    int32_t valid = 0;
    for (int64_t k = 0; k < kCandidates; ++k) {
      const bool is_corner = k < kCorners;
      const bool is_valid = are_equal ? is_corner : kind == 7 ? !is_corner || first == 0 : random.below(4) == 0;
      const auto angle = static_cast<float>(are_equal ? k % 4 * 64 + first * 8 + 1 : random.below(256)) / 41;
      const float x = are_on_grid && !are_equal ? static_cast<float>(random.below(9) - 4) / 4 : std::cos(angle);
      const float y = are_on_grid && !are_equal ? static_cast<float>(random.below(9) - 4) / 4 : std::sin(angle);
      vertices.push_back(x);
      vertices.push_back(y);
      mask.push_back(is_valid ? 1 : 0);
      valid += is_valid ? 1 : 0;
    }
    num_valid.push_back(random.below(8) == 0 ? random.below(12) - 1 : valid);
  }

  Integers random;
  std::vector<float> vertices;
  std::vector<uint8_t> mask;
  std::vector<int32_t> num_valid;
};

Case make(const Recipe& r) {
  const int64_t B = r["b"], N = r["n"];
  checked_product({B, N, kCandidates, 2});
  Case c = new_case("diff_iou_rotated_sort_vertices_forward", r);
  Pairs pairs(r.seed);
  for (int64_t i = 0; i < B * N; ++i) pairs.append();
  const Tensor vertices = make_tensor("vertices", MLUOP_DTYPE_FLOAT, {B, N, kCandidates, 2});
  c.inputs = {r["uniform"] != 0 ? with_uniform(vertices, r.seed) : with_values(vertices, pairs.vertices),
              with_values(make_tensor("mask", MLUOP_DTYPE_BOOL, {B, N, kCandidates}), pairs.mask),
              with_values(make_tensor("num_valid", MLUOP_DTYPE_INT32, {B, N}), pairs.num_valid)};
  c.outputs = {make_tensor("idx", MLUOP_DTYPE_INT32)};
  fit(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  Operator op;
  op.name = "diff_iou_rotated_sort_vertices_forward";
  op.function = "mluOpDiffIouRotatedSortVerticesForward";
  op.tensors = {{"vertices", Role::kInput, {"batch", "pair", "candidate", "coordinate"}, kAnyLayout},
                {"mask", Role::kInput, {"batch", "pair", "candidate"}, kAnyLayout},
                {"num_valid", Role::kInput, {"batch", "pair"}, kAnyLayout},
                {"idx", Role::kOutput, {"batch", "pair", "vertex"}, kAnyLayout}};
  op.run = [](const Arguments& a) {
    return call(mluOpDiffIouRotatedSortVerticesForward, a.handle, a[0], a[1], a[2], a[3]);
  };
  op.expect = expect;
  // Six vertices are selected from as many, each with two comparisons of eight operations.
  op.work = [](const Arguments& a) { return each_once(a, 3, 576 * a[2].count()); };
  op.refuses_200_series = true;
  op.multiplies = true;
  op.dtypes = {MLUOP_DTYPE_FLOAT};
  op.sizes = {{"b", 2, 1, 4}, {"n", 60, 1, 300}, {"uniform", 0, 0, 1, false}};
  op.parallel_sizes = {{{"b", 2}, {"n", 1000}}};
  // Positive samples of RTMDet and FCAF3D.
  op.networks = {{"rtmdet 1x10000", {{"b", 1}, {"n", 10000}}}, {"fcaf3d 1x1000", {{"b", 1}, {"n", 1000}}}};
  op.make = make;
  op.fit = fit;
  op.reductions = {axis_reduction("batches", {{0, 0}, {1, 0}, {2, 0}}, {{0, 0}}),
                   axis_reduction("pairs", {{0, 1}, {1, 1}, {2, 1}}, {{0, 1}})};
  return {op};
}

}  // namespace mluop::cases::diff_iou_rotated
