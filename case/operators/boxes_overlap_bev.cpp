#include "reference/boxes_overlap_bev.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "case/description.h"

namespace mluop::cases::boxes_overlap_bev {
namespace {

using Box = std::array<float, 7>;  // x, y, z, dx, dy, dz, yaw

void expect(Arguments& a) {
  reference::boxes_overlap_bev(a[0].dim(0), a[1].dim(0), a[0].as<float>(), a[1].as<float>(), a[2].as<float>());
}

void fit(Case& c) { set_shape(c.outputs[0], {c.inputs[0].dims[0], c.inputs[1].dims[0]}); }

// Boxes with many overlaps: on a few spots, some of them far from the origin.
class Boxes {
 public:
  explicit Boxes(int32_t seed) : random_(seed) {}

  Box any() {
    constexpr float kSpots[] = {0, 0, 0, 30, 1000, 1e5F};
    const float spot = kSpots[random_.below(std::size(kSpots))];
    return {spot + between(-2, 2), spot + between(-2, 2), 0, between(0.5F, 4), between(0.5F, 4), 1,
            between(-4, 4)};
  }

  // A box near `box`, or related to it so that rounding and the margin of 0.01 decide.
  Box related_to(const Box& box) {
    const float dx = box[3];
    Box related = box;
    switch (random_.below(8)) {
      case 0: break;
      case 1: related[6] += between(-1e-6F, 1e-6F); break;  // nearly parallel
      case 2:                                               // the same rectangle in other parameters
        std::swap(related[3], related[4]);
        related[6] += 1.57079633F;
        break;
      case 3: return shifted(box, dx);                       // touching
      case 4: return shifted(box, dx + between(0, 0.015F));  // a gap of some millimeters
      case 5:                                                // half of the box
        related[3] /= 2;
        return shifted(related, dx / 4);
      case 6: related[6] += between(-1, 1); break;
      default: related[0] += between(-1, 1); break;
    }
    return related;
  }

  int32_t below(int64_t count) { return random_.below(count); }

 private:
  float between(float low, float high) {
    constexpr int32_t kSteps = 1 << 16;
    return low + (high - low) * static_cast<float>(random_.below(kSteps)) / static_cast<float>(kSteps);
  }

  // Shifts the box along its own x axis.
  static Box shifted(Box box, float distance) {
    box[0] += distance * std::cos(box[6]);
    box[1] += distance * std::sin(box[6]);
    return box;
  }

  Integers random_;
};

void append(std::vector<float>& values, const Box& box) { values.insert(values.end(), box.begin(), box.end()); }

Case make(const Recipe& r) {
  Case c = new_case("boxes_overlap_bev", r);
  Tensor a = make_tensor("boxes_a", MLUOP_DTYPE_FLOAT, {r["n"], 7});
  Tensor b = make_tensor("boxes_b", MLUOP_DTYPE_FLOAT, {r["m"], 7});
  if (r["uniform"] != 0) {
    a = with_uniform(a, r.seed);
    b = with_uniform(b, r.seed + 1);
  } else {
    checked_product({r["n"] + r["m"], 7});
    Boxes boxes(r.seed);
    std::vector<Box> of_a;
    std::vector<float> values_a, values_b;
    for (int64_t n = 0; n < r["n"]; ++n) {
      of_a.push_back(boxes.any());
      append(values_a, of_a.back());
    }
    for (int64_t m = 0; m < r["m"]; ++m) {
      const bool is_any = of_a.empty() || boxes.below(4) == 0;
      append(values_b, is_any ? boxes.any() : boxes.related_to(of_a[static_cast<size_t>(boxes.below(r["n"]))]));
    }
    a = with_values(a, values_a);
    b = with_values(b, values_b);
  }
  c.inputs = {a, b};
  c.outputs = {make_tensor("overlaps", MLUOP_DTYPE_FLOAT)};
  fit(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  Operator op;
  op.name = "boxes_overlap_bev";
  op.function = "mluOpOmpBoxesOverlapBev";
  op.tensors = {{"boxes_a", Role::kInput, {"box a", "field"}, kAnyLayout},
                {"boxes_b", Role::kInput, {"box b", "field"}, kAnyLayout},
                {"overlaps", Role::kOutput, {"box a", "box b"}, kAnyLayout}};
  op.run = [](const Arguments& a) { return call(mluOpOmpBoxesOverlapBev, a.handle, a[0], a[1], a[2]); };
  op.expect = expect;
  // Four comparisons of bounds for each pair.
  op.work = [](const Arguments& a) { return each_once(a, 2, 4 * a[0].dim(0) * a[1].dim(0)); };
  op.sizes = {{"n", 40, 1, 300}, {"m", 50, 1, 300}, {"uniform", 0, 0, 1, false}};
  op.multiplies = true;
  op.parallel_sizes = {{{"n", 150}, {"m", 200}}, {{"n", 65}, {"m", 300}, {"uniform", 1}}};
  op.dtypes = {MLUOP_DTYPE_FLOAT};
  op.make = make;
  op.fit = fit;
  op.reductions = {axis_reduction("boxes a", {{0, 0}}, {{0, 0}}), axis_reduction("boxes b", {{1, 0}}, {{0, 1}})};
  return {op};
}

}  // namespace mluop::cases::boxes_overlap_bev
