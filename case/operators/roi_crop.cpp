#include <algorithm>
#include <cmath>

#include "case/description.h"

namespace mluop::cases::roi_crop {
namespace {

using reference::to_f32;

// Calls visit(element of the image, element of the points, weight) for each pixel in the image around each point
// and each channel, by the definition. Positions are fp32, as in the operator; weights are double.
template <class Visit>
void for_each_tap(const Operand& image, const Operand& grid, const Visit& visit) {
  const int64_t B = image.dim(0), H = image.dim(1), W = image.dim(2), C = image.dim(3), n = grid.dim(0),
                points = grid.dim(1) * grid.dim(2);
  with_element_type(grid, [&]<class T>() {
    const auto position = [&](int64_t element, int64_t extent) {
      const float coordinate = to_f32(grid.as<T>()[element]);
      return (coordinate + 1) * static_cast<float>(extent - 1) / 2;
    };
    for (int64_t point = 0; point < n * points; ++point) {
      const float y = position(2 * point, H), x = position(2 * point + 1, W);
      // A point at the distance of a pixel has none: not even one with a weight of 0.
      if (!(y > -1 && y < static_cast<float>(H) && x > -1 && x < static_cast<float>(W))) continue;
      for (const int down : {0, 1}) {
        for (const int right : {0, 1}) {
          const double row = std::floor(double{y}) + down, column = std::floor(double{x}) + right;
          if (row < 0 || row >= static_cast<double>(H) || column < 0 || column >= static_cast<double>(W)) continue;
          const double weight = (1 - std::abs(y - row)) * (1 - std::abs(x - column));
          const int64_t pixel =
              (point / points / (n / B) * H + static_cast<int64_t>(row)) * W + static_cast<int64_t>(column);
          for (int64_t c = 0; c < C; ++c) visit(pixel * C + c, point * C + c, weight);
        }
      }
    }
  });
}

template <bool kForward>
void expect(Arguments& a) {
  double* const sums = sums_of(a[2]);
  if (a[2].count() == 0) return;
  with_element_type(a[0], [&]<class T>() {
    for_each_tap(kForward ? a[0] : a[2], a[1], [&](int64_t pixel, int64_t point, double weight) {
      sums[kForward ? point : pixel] += weight * to_f32(a[0].as<T>()[kForward ? pixel : point]);
    });
  });
}

void fit_forward(Case& c) {
  const Dims &input = c.inputs[0].dims, &grid = c.inputs[1].dims;
  set_shape(c.outputs[0], {grid[0], grid[1], grid[2], input[3]});
}

// Images and pixels are kept.
void fit_backward(Case& c) {
  Dims dims = c.outputs[0].dims;
  dims[3] = c.inputs[0].dims[3];
  set_shape(c.outputs[0], dims);
}

// grids: grids of an image. Some points are outside of the image, some exactly at its border.
template <bool kForward>
Case make(const Recipe& r) {
  const Dims pixels = {r["b"], r["h"], r["w"], r["c"]};
  const Dims points = {checked_product({r["b"], r["grids"]}), r["oh"], r["ow"], r["c"]};
  checked_product({r["b"], r["h"], r["w"], r["c"]}, int64_t{1} << 40);
  const int64_t coordinates = checked_product({points[0], r["oh"], r["ow"], 2});
  checked_product({coordinates, r["c"]}, int64_t{1} << 40);
  Case c = new_case(kForward ? "roi_crop_forward" : "roi_crop_backward", r);
  Tensor grid = make_tensor("grid", r.dtype, {points[0], r["oh"], r["ow"], 2});
  if (coordinates > r.max_inline) {
    grid = with_uniform(grid, r.seed + 1, -1.1, 1.1);
  } else {
    Integers random(r.seed + 1);
    std::vector<float> values(static_cast<size_t>(coordinates));
    for (float& value : values) value = static_cast<float>(random.below(37) - 18) / 16;
    grid = with_numbers(grid, values);
  }
  const auto layout = MLUOP_LAYOUT_NHWC;
  c.inputs = {
      with_uniform(make_tensor(kForward ? "input" : "grad_output", r.dtype, kForward ? pixels : points, layout),
                   r.seed),
      grid};
  c.outputs = {make_tensor(kForward ? "output" : "grad_input", r.dtype, kForward ? points : pixels, layout)};
  return c;
}

template <bool kForward>
Operator described() {
  const std::vector<std::string> pixels = {"image", "row", "column", "channel"},
                                 points = {"grid", "row", "column", "channel"};
  Operator op;
  op.name = kForward ? "roi_crop_forward" : "roi_crop_backward";
  op.function = kForward ? "mluOpRoiCropForward" : "mluOpRoiCropBackward";
  op.tensors = {{kForward ? "input" : "grad_output", Role::kInput, kForward ? pixels : points},
                {"grid", Role::kInput, {"grid", "row", "column", "axis"}, kAnyLayout},
                {kForward ? "output" : "grad_input", Role::kOutput, kForward ? points : pixels}};
  op.tensors[kForward ? 0 : 2].free_dims = {0, 1, 2};
  op.tensors[1].keeps_signs = true;
  op.run = [](const Arguments& a) {
    return call(kForward ? mluOpRoiCropForward : mluOpRoiCropBackward, a.handle, a[0], a[1], a[2]);
  };
  op.expect = expect<kForward>;
  op.terms = [](const Arguments& a) { return kForward ? 4 : 4 * std::max<int64_t>(a[1].count(), 1); };
  op.criteria = sum_criteria;
  op.work = [](const Arguments& a) { return each_once(a, 2, 8 * a[kForward ? 2 : 0].count()); };
  op.multiplies = true;
  op.sizes = {{"b", 2, 1, 3},  {"h", 5, 1, 20}, {"w", 6, 1, 20},   {"c", 5, 1, 70},
              {"oh", 3, 1, 8}, {"ow", 4, 1, 8}, {"grids", 2, 1, 4}};
  op.parallel_sizes = {{{"h", 16}, {"w", 16}, {"c", 70}, {"oh", 13}, {"ow", 13}, {"grids", 8}}};
  op.networks = {{"couplenet 32x32x500 25x25",
                  {{"b", 4}, {"h", 32}, {"w", 32}, {"c", 500}, {"oh", 25}, {"ow", 25}, {"grids", 4}}},
                 {"couplenet 32x32x50000 5x5",
                  {{"b", 1}, {"h", 32}, {"w", 32}, {"c", 50000}, {"oh", 5}, {"ow", 5}, {"grids", 1}}}};
  op.make = make<kForward>;
  op.fit = kForward ? fit_forward : fit_backward;
  op.reductions = {kForward ? axis_reduction("rows", {{1, 1}}, {{0, 1}})
                            : axis_reduction("rows", {{0, 1}, {1, 1}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() { return {described<true>(), described<false>()}; }

}  // namespace mluop::cases::roi_crop
