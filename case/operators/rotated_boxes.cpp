#include "reference/rotated_boxes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "case/operators/shared/box_pairs.h"

namespace mluop::cases::rotated_boxes {
namespace {

// For both generators: one in 8 boxes has a number that is not finite, 0 or negative.
const SizeRule kSpecials = {"specials", 0, 0, 1, false};

using Box = std::vector<float>;
enum Column { kX, kY, kWidth, kHeight, kAngle, kBoxColumns };

class Boxes {
 public:
  // `count` boxes form a scene in which a box overlaps a few others.
  Boxes(const Recipe& r, int64_t count)
      : random_(r.seed), side_(std::sqrt(static_cast<float>(count))), has_specials_(r["specials"] != 0) {}

  Box anywhere() {
    return {uniform(0, side_), uniform(0, side_), std::exp2(uniform(-2, 3)), std::exp2(uniform(-2, 3)),
            uniform(-kPi, kPi)};
  }

  // Half of the boxes are anywhere; the others are nearly `other`.
  Box near(const Box& other) {
    Box box = other;
    switch (random_.below(8)) {
      case 0: break;
      case 1: box[kAngle] *= 1 + static_cast<float>(random_.below(10)) * kEpsilon; break;
      case 2:
        std::swap(box[kWidth], box[kHeight]);
        box[kAngle] += kPi / 2;
        break;
      case 3:
        for (const Column column : {kX, kY}) {
          box[column] += uniform(-0.25F, 0.25F) * std::min(box[kWidth], box[kHeight]);
        }
        box[kAngle] += uniform(-0.1F, 0.1F);
        break;
      default: box = anywhere();
    }
    return box;
  }

  void append(const Box& box, std::vector<float>& to) {
    const auto begin = static_cast<std::ptrdiff_t>(to.size());
    to.insert(to.end(), box.begin(), box.end());
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kValues[] = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, 0, -1};
    if (has_specials_ && random_.below(8) == 0) to[begin + random_.below(kBoxColumns)] = kValues[random_.below(5)];
  }

  int32_t below(int64_t count) { return random_.below(count); }

 private:
  static constexpr auto kPi = std::numbers::pi_v<float>;
  static constexpr float kEpsilon = std::numeric_limits<float>::epsilon();

  float uniform(float low, float high) {
    return low + (high - low) * static_cast<float>(random_.below(1 << 24)) * 0x1p-24F;
  }

  Integers random_;
  float side_;
  bool has_specials_;
};

void expect_ious(Arguments& a) {
  reference::box_iou_rotated({a[0].dim(0), a[1].dim(0), a.int32("mode") == 1, is_aligned(*a.parameters)},
                             a[0].as<float>(), a[1].as<float>(), a[2].as<float>());
}

Case make_ious(const Recipe& r) {
  Case c = new_case("box_iou_rotated", r, {"mode"});
  c.parameters.set("aligned", r["all_pairs"] == 0 ? 1 : 0);
  const int64_t N = r["n"], M = is_aligned(c.parameters) ? N : r["m"];
  checked_product({N + M, kBoxColumns});
  Boxes boxes(r, N + M);
  std::vector<float> bbox1, bbox2;
  std::vector<Box> first;
  for (int64_t n = 0; n < N; ++n) boxes.append(first.emplace_back(boxes.anywhere()), bbox1);
  for (int64_t m = 0; m < M; ++m) {
    boxes.append(N == 0 ? boxes.anywhere() : boxes.near(first[static_cast<size_t>(m % N)]), bbox2);
  }
  c.inputs = {with_values(make_tensor("bbox1", MLUOP_DTYPE_FLOAT, {N, kBoxColumns}), bbox1),
              with_values(make_tensor("bbox2", MLUOP_DTYPE_FLOAT, {M, kBoxColumns}), bbox2)};
  c.outputs = {make_tensor("ious", MLUOP_DTYPE_FLOAT)};
  fit_box_pairs(c);
  return c;
}

float iou_threshold(const Arguments& a) { return static_cast<float>(a.parameters->real("iou_threshold")); }

void expect_nms(Arguments& a) {
  reference::nms_rotated({a[0].dim(0), a[0].dim(1), iou_threshold(a)}, a[0].as<float>(), a[1].as<float>(),
                         a[2].as<int32_t>(), a[3].as<int32_t>());
}

void fit_nms(Case& c) {
  set_shape(c.outputs[0], {c.inputs[0].dims[0]});
  set_shape(c.outputs[1], {1});
}

Case make_nms(const Recipe& r) {
  Case c = new_case("nms_rotated", r);
  c.parameters.message = "nms_rotated_param";
  c.parameters.set_real("iou_threshold", double{static_cast<float>(r["iou_percent"]) / 100});
  const int64_t N = r["n"], columns = r["columns"];
  if (columns < kBoxColumns) fail({}, "columns is " + std::to_string(columns) + ", expected at least 5");
  checked_product({N, columns});
  Boxes boxes(r, N);
  std::vector<float> values;
  std::vector<Box> all;
  for (int64_t n = 0; n < N; ++n) {
    all.push_back(n == 0 ? boxes.anywhere() : boxes.near(all[static_cast<size_t>(boxes.below(n))]));
    boxes.append(all.back(), values);
    for (int64_t label = kBoxColumns; label < columns; ++label) {
      values.push_back(static_cast<float>(boxes.below(3)));
    }
  }
  c.inputs = {with_values(make_tensor("boxes", MLUOP_DTYPE_FLOAT, {N, columns}), values),
              with_uniform(make_tensor("scores", MLUOP_DTYPE_FLOAT, {N}), r.seed, 0, 1)};
  c.outputs = {make_tensor("output", MLUOP_DTYPE_INT32), make_tensor("result_num", MLUOP_DTYPE_INT32)};
  fit_nms(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  Operator ious;
  ious.name = "box_iou_rotated";
  ious.function = "mluOpBoxIouRotated";
  ious.tensors = {{"bbox1", Role::kInput, {"box", "number"}, kAnyLayout, {1}},
                  {"bbox2", Role::kInput, {"box", "number"}, kAnyLayout, {1}},
                  {"ious", Role::kOutput, {"first box", "second box"}, kAnyLayout}};
  ious.parameter_messages = {"box_iou_rotated_param"};
  ious.run = [](const Arguments& a) {
    return call(mluOpBoxIouRotated, a.handle, a.int32("mode"), is_aligned(*a.parameters), a[0], a[1], a[2]);
  };
  ious.expect = expect_ious;
  ious.criteria = [](const Operand&, mluOpOmpAlgorithm_t) {
    return std::vector<Criterion>{{Metric::kDiff3, 1e-6}};
  };
  // Four comparisons detect that two boxes are apart, as most are.
  ious.work = [](const Arguments& a) { return each_once(a, 2, 4 * a[2].count()); };
  ious.dtypes = {MLUOP_DTYPE_FLOAT};
  ious.sizes = {
      {"n", 40, 1, 300}, {"m", 30, 1, 300}, {"mode", 0, 0, 1, false}, {"all_pairs", 1, 0, 1, false}, kSpecials};
  ious.multiplies = true;
  ious.parallel_sizes = {{{"n", 300}, {"m", 400}, {"mode", 1}}, {{"n", 5000}, {"all_pairs", 0}}};
  ious.make = make_ious;
  ious.fit = fit_box_pairs;
  ious.reductions = {box_pair_reduction(0), box_pair_reduction(1)};

  Operator nms;
  nms.name = "nms_rotated";
  nms.function = "mluOpNmsRotated";
  nms.query_function = "mluOpGetNmsRotatedWorkspaceSize";
  nms.tensors = {{"boxes", Role::kInput, {"box", "number"}, kAnyLayout, {1}},
                 {"scores", Role::kInput, {"box"}, kAnyLayout},
                 {"output", Role::kOutput, {"kept box"}, kAnyLayout},
                 {.id = "result_num", .role = Role::kOutput, .axes = {"element"}, .has_descriptor = false}};
  nms.parameter_messages = {"nms_rotated_param"};
  nms.query = [](const Arguments& a, size_t* bytes) {
    return mluOpGetNmsRotatedWorkspaceSize(a.handle, a[0].desc, bytes);
  };
  nms.run = [](const Arguments& a) {
    return call(mluOpNmsRotated, a.handle, iou_threshold(a), a[0], a[1], a.workspace, a.workspace_size, a[2],
                a[3].as<int32_t>());
  };
  nms.expect = expect_nms;
  // As above, for each box and each kept box.
  nms.work = [](const Arguments& a) { return each_once(a, 2, 4 * a[0].dim(0) * *a[3].as<int32_t>()); };
  nms.dtypes = {MLUOP_DTYPE_FLOAT};
  nms.sizes = {{"n", 100, 1, 1000}, {"columns", 5, 5, 6, false}, {"iou_percent", 50, -10, 70, false}, kSpecials};
  nms.multiplies = true;
  nms.parallel_sizes = {{{"n", 2000}, {"columns", 6}, {"iou_percent", 25}},
                        {{"n", 500}, {"iou_percent", -10}, {"specials", 1}}};
  nms.make = make_nms;
  nms.fit = fit_nms;
  nms.reductions = {axis_reduction("boxes", {{0, 0}, {1, 0}})};
  return {ious, nms};
}

}  // namespace mluop::cases::rotated_boxes
