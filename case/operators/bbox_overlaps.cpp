#include "reference/bbox_overlaps.h"

#include <algorithm>
#include <cmath>

#include "case/operators/shared/box_pairs.h"

namespace mluop::cases::bbox_overlaps {
namespace {

constexpr int64_t kColumns = 4;

// Whether all numbers are random, so that half of the boxes are inverted.
const SizeRule kUniform = {"uniform", 0, 0, 1, false};

void expect(Arguments& a) {
  with_element_type(a[0], [&]<class T>() {
    const auto numbers_of = [](const Operand& boxes) {
      std::vector<float> numbers(static_cast<size_t>(boxes.count()));
      std::transform(boxes.as<T>(), boxes.as<T>() + boxes.count(), numbers.begin(),
                     [](T number) { return reference::to_f32(number); });
      return numbers;
    };
    std::vector<float> ious(static_cast<size_t>(a[2].count()));
    reference::bbox_overlaps({a[0].dim(0), a[1].dim(0), a.int32("mode") == 1, is_aligned(*a.parameters),
                              static_cast<float>(a.int32("offset"))},
                             numbers_of(a[0]).data(), numbers_of(a[1]).data(), ious.data());
    reference::put_all(ious, a[2].as<T>());
  });
}

// Boxes on a grid of 1/4, so that borders coincide and sides are 0; one of `count` boxes overlaps a few others.
Tensor make_boxes(const Recipe& r, Tensor tensor, int32_t seed, int64_t count) {
  if (r["uniform"] != 0) return with_uniform(std::move(tensor), seed);
  Integers random(seed);
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(count)));
  std::vector<float> numbers;
  for (int64_t i = 0; i < tensor.dims[0]; ++i) {
    const int32_t x = random.below(4 * side), y = random.below(4 * side), longest = 1 << random.below(6);
    const int32_t width = random.below(longest), height = random.below(longest);
    for (const int32_t quarters : {x, y, x + width, y + height}) {
      numbers.push_back(static_cast<float>(quarters) / 4);
    }
  }
  return with_numbers(std::move(tensor), numbers);
}

Case make(const Recipe& r) {
  Case c = new_case("bbox_overlaps", r, {"mode", "offset"});
  c.parameters.set("aligned", r["all_pairs"] == 0 ? 1 : 0);
  const int64_t N = r["n"], M = is_aligned(c.parameters) ? N : r["m"];
  checked_product({N + M, kColumns});
  c.inputs = {make_boxes(r, make_tensor("bbox1", r.dtype, {N, kColumns}), r.seed, N + M),
              make_boxes(r, make_tensor("bbox2", r.dtype, {M, kColumns}), r.seed + 1, N + M)};
  c.outputs = {make_tensor("ious", r.dtype)};
  fit_box_pairs(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  Operator op;
  op.name = "bbox_overlaps";
  op.function = "mluOpBboxOverlaps";
  op.tensors = {{"bbox1", Role::kInput, {"box", "number"}, kAnyLayout, {1}},
                {"bbox2", Role::kInput, {"box", "number"}, kAnyLayout, {1}},
                {"ious", Role::kOutput, {"first box", "second box"}, kAnyLayout}};
  op.parameter_messages = {"bbox_overlaps_param"};
  op.run = [](const Arguments& a) {
    return call(mluOpBboxOverlaps, a.handle, a.int32("mode"), is_aligned(*a.parameters), a.int32("offset"), a[0],
                a[1], a[2]);
  };
  op.expect = expect;
  // Each pair has 4 maxima and minima of sides, 2 of results, and 10 other operations.
  op.work = [](const Arguments& a) { return each_once(a, 2, 16 * a[2].count()); };
  op.sizes = {{"n", 40, 1, 300},
              {"m", 30, 1, 1500},
              {"mode", 0, 0, 1, false},
              {"offset", 0, 0, 1, false},
              {"all_pairs", 1, 0, 1, false},
              kUniform};
  op.multiplies = true;
  op.parallel_sizes = {{{"n", 30}, {"m", 2100}, {"offset", 1}, {"uniform", 1}}, {{"n", 20000}, {"all_pairs", 0}}};
  // Anchors of a feature pyramid on 800 x 1216 pixels, and the sizes of a case of MLU-OPS.
  op.networks = {{"fpn 242991x20", {{"n", 242991}, {"m", 20}}}, {"100x10000", {{"n", 100}, {"m", 10000}}}};
  op.make = make;
  op.fit = fit_box_pairs;
  op.reductions = {box_pair_reduction(0), box_pair_reduction(1)};
  return {op};
}

}  // namespace mluop::cases::bbox_overlaps
