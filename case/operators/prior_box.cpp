#include "reference/prior_box.h"

#include "case/description.h"

namespace mluop::cases::prior_box {
namespace {

float real(const Arguments& a, const char* name) { return static_cast<float>(a.parameters->real(name)); }

void expect(Arguments& a) {
  reference::prior_box(
      {a[0].count(), a[1].count(), a[3].count() > 0, a.int32("min_max_aspect_ratios_order") != 0,
       a.int32("clip") != 0, a.int32("height"), a.int32("width"), static_cast<float>(a.int32("im_height")),
       static_cast<float>(a.int32("im_width")), real(a, "step_h"), real(a, "step_w"), real(a, "offset"),
       a[0].as<float>(), a[1].as<float>(), a[2].as<float>(), a[3].as<float>()},
      a[4].as<float>(), a[5].as<float>());
}

void fit(Case& c) {
  const int64_t m = c.inputs[0].dims[0], r = c.inputs[1].dims[0], P = m * (r + (c.inputs[3].dims[0] > 0 ? 1 : 0));
  for (Tensor& output : c.outputs) {
    set_shape(output, {c.parameters.integer("height"), c.parameters.integer("width"), P, 4});
  }
}

// Boxes of the first pixels begin outside of the image. One ratio is 1.
Case make(const Recipe& r) {
  const int64_t m = r["m"], ratios = r["r"], height = r["height"], width = r["width"];
  checked_product({height, width, m * (ratios + 1), 4});
  Case c = new_case("prior_box", r, {"height", "width"});
  const double step = 8;
  c.parameters.set("im_height", static_cast<int64_t>(step) * height + 4);
  c.parameters.set("im_width", static_cast<int64_t>(step) * width + 4);
  c.parameters.set_real("step_h", step);
  c.parameters.set_real("step_w", step + 0.25);
  c.parameters.set_real("offset", 0.5);
  c.parameters.set("clip", r["clip"]);
  c.parameters.set("min_max_aspect_ratios_order", r["squares_first"]);
  Integers random(r.seed);
  const auto numbers = [&](int64_t count, int32_t low) {
    std::vector<float> drawn(static_cast<size_t>(count));
    for (float& each : drawn) each = static_cast<float>(low + random.below(320)) / 16;
    return drawn;
  };
  std::vector<float> aspect_ratios = numbers(ratios, 17);
  if (ratios > 0) aspect_ratios[static_cast<size_t>(random.below(ratios))] = 1;
  const int64_t max_count = r["max"] != 0 ? m : 0;
  constexpr auto kFloat = MLUOP_DTYPE_FLOAT;
  c.inputs = {with_values(make_tensor("min_sizes", kFloat, {m}), numbers(m, 1)),
              with_values(make_tensor("aspect_ratios", kFloat, {ratios}), aspect_ratios),
              with_uniform(make_tensor("variances", kFloat, {4}), r.seed),
              with_values(make_tensor("max_sizes", kFloat, {max_count}), numbers(max_count, 320))};
  c.outputs = {make_tensor("output", kFloat), make_tensor("var", kFloat)};
  fit(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  const std::vector<std::string> axes = {"row", "column", "box", "number"};
  Operator op;
  op.name = "prior_box";
  op.function = "mluOpPriorBox";
  op.tensors = {
      {"min_sizes", Role::kInput, {"size"}, kAnyLayout},   {"aspect_ratios", Role::kInput, {"ratio"}, kAnyLayout},
      {"variances", Role::kInput, {"number"}, kAnyLayout}, {"max_sizes", Role::kInput, {"size"}, kAnyLayout},
      {"output", Role::kOutput, axes, kAnyLayout},         {"var", Role::kOutput, axes, kAnyLayout}};
  op.parameter_messages = {"prior_box_param"};
  op.run = [](const Arguments& a) {
    return call(mluOpPriorBox, a.handle, a[0], a[1], a[2], a[3], a.int32("height"), a.int32("width"),
                a.int32("im_height"), a.int32("im_width"), real(a, "step_h"), real(a, "step_w"), real(a, "offset"),
                a.int32("clip") != 0, a.int32("min_max_aspect_ratios_order") != 0, a[4], a[5]);
  };
  op.expect = expect;
  // Four additions and four divisions a box.
  op.work = [](const Arguments& a) { return each_once(a, 4, 2 * a[4].count()); };
  op.dtypes = {MLUOP_DTYPE_FLOAT};
  op.sizes = {{"height", 5, 1, 60},    {"width", 7, 1, 60},     {"m", 2, 1, 4, false},
              {"r", 3, 1, 6, false},   {"max", 1, 0, 1, false}, {"squares_first", 0, 0, 1, false},
              {"clip", 0, 0, 1, false}};
  op.multiplies = true;
  op.parallel_sizes = {{{"height", 60}, {"width", 60}}};
  // The first and the second feature map of SSD 300.
  op.networks = {{"ssd 38x38x4", {{"height", 38}, {"width", 38}, {"m", 1}, {"squares_first", 1}}},
                 {"ssd 19x19x6", {{"height", 19}, {"width", 19}, {"m", 1}, {"r", 5}, {"squares_first", 1}}}};
  op.make = make;
  op.fit = fit;
  op.reductions = {axis_reduction("ratios", {{1, 0}})};
  return {op};
}

}  // namespace mluop::cases::prior_box
