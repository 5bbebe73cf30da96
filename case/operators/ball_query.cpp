#include "reference/ball_query.h"

#include <bit>
#include <charconv>

#include "case/operators/shared/stacked_clouds.h"

namespace mluop::cases::ball_query {
namespace {

// The radius from the bits `<name>_h`, if present.
float radius(const Arguments& a, const std::string& name) {
  const Parameter* bits = a.parameters->find(name + "_h");
  if (bits == nullptr || !bits->present) return static_cast<float>(a.parameters->real(name));
  uint32_t value = 0;
  const char* end = bits->text.data() + bits->text.size();
  const auto [last, error] = std::from_chars(bits->text.data(), end, value, 16);
  if (error != std::errc() || last != end) {
    fail(a.parameters->place, bits->name + " is '" + bits->text + "', expected the hexadecimal digits of a float");
  }
  return std::bit_cast<float>(value);
}

void expect(Arguments& a) {
  const reference::BallQueryProblem problem{
      a[0].dim(0), a[0].dim(1), a[1].dim(1), a[2].dim(2), radius(a, "min_radius"), radius(a, "max_radius")};
  with_element_type(
      a[0], [&]<class T>() { reference::ball_query(problem, a[0].as<T>(), a[1].as<T>(), a[2].as<int32_t>()); });
}

void fit(Case& c) {
  set_shape(c.outputs[0], {c.inputs[0].dims[0], c.inputs[0].dims[1], c.parameters.integer("nsample")});
}

Case make(const Recipe& r) {
  Case c = new_case("ball_query", r, {"nsample"});
  c.parameters.set_real("min_radius", 0);
  // Small balls for many points, which are then sorted by cells.
  c.parameters.set_real("max_radius", r["n"] < 1000 ? 0.375 : 0.125);
  c.inputs = {with_uniform(make_tensor("new_xyz", r.dtype, {r["b"], r["m"], 3}), r.seed),
              with_uniform(make_tensor("xyz", r.dtype, {r["b"], r["n"], 3}), r.seed + 1)};
  c.outputs = {make_tensor("idx", MLUOP_DTYPE_INT32)};
  fit(c);
  return c;
}

void expect_stacked(Arguments& a) {
  const reference::StackBallQueryProblem problem{a[1].dim(0), a[4].dim(1), a[1].as<int32_t>(), a[3].as<int32_t>(),
                                                 static_cast<float>(a.parameters->real("max_radius"))};
  // The library has not checked the counts.
  if (a[4].count() == 0) return;
  with_element_type(a[0], [&]<class T>() {
    reference::stack_ball_query(problem, a[0].as<T>(), a[2].as<T>(), a[4].as<int32_t>());
  });
}

Work stacked_work(const Arguments& a) {
  int64_t comparisons = 0;
  for (int64_t b = 0; b < a[1].dim(0); ++b) {
    comparisons += int64_t{a[1].as<int32_t>()[b]} * a[3].as<int32_t>()[b];
  }
  return each_once(a, 4, 8 * comparisons);
}

void fit_stacked(Case& c) { set_shape(c.outputs[0], {c.inputs[0].dims[0], c.parameters.integer("nsample")}); }

Case make_stacked(const Recipe& r) {
  Case c = new_case("stack_ball_query", r, {"nsample"});
  c.parameters.set_real("max_radius", r["n"] < 1000 ? 0.375 : 0.125);
  c.inputs = {with_uniform(make_tensor("new_xyz", r.dtype, {r["m"], 3}), r.seed),
              draw_counts("new_xyz_batch_cnt", r["b"], r["m"], r.seed + 2),
              with_uniform(make_tensor("xyz", r.dtype, {r["n"], 3}), r.seed + 1),
              draw_counts("xyz_batch_cnt", r["b"], r["n"], r.seed + 3)};
  c.outputs = {make_tensor("idx", MLUOP_DTYPE_INT32)};
  fit_stacked(c);
  return c;
}

Operator stacked() {
  Operator op;
  op.name = "stack_ball_query";
  op.function = "mluOpOmpStackBallQuery";
  op.tensors = {{"new_xyz", Role::kInput, {"center", "coordinate"}, kAnyLayout},
                {"new_xyz_batch_cnt", Role::kInput, {"cloud"}, kAnyLayout},
                {"xyz", Role::kInput, {"point", "coordinate"}, kAnyLayout, {0}},
                {"xyz_batch_cnt", Role::kInput, {"cloud"}, kAnyLayout},
                {"idx", Role::kOutput, {"center", "sample"}, kAnyLayout}};
  op.parameter_messages = {"stack_ball_query_param"};
  op.run = [](const Arguments& a) {
    return call(mluOpOmpStackBallQuery, a.handle, a[0], a[1], a[2], a[3],
                static_cast<float>(a.parameters->real("max_radius")), a.int32("nsample"), a[4]);
  };
  op.expect = expect_stacked;
  op.work = stacked_work;
  op.sizes = {{"b", 3, 1, 8}, {"m", 64, 1, 600}, {"n", 400, 1, 800}, {"nsample", 16, 1, 40}};
  op.multiplies = true;
  op.parallel_sizes = {{{"b", 2}, {"m", 1001}, {"n", 600}, {"nsample", 16}},
                       {{"b", 2}, {"m", 2001}, {"n", 8000}, {"nsample", 16}}};
  op.make = make_stacked;
  op.fit = fit_stacked;
  op.reductions = {cloud_rows_reduction("points", 2, 3), cloud_rows_reduction("centers", 0, 1, {{0, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() {
  Operator op;
  op.name = "ball_query";
  op.tensors = {{"new_xyz", Role::kInput, {"batch", "center", "coordinate"}, kAnyLayout},
                {"xyz", Role::kInput, {"batch", "point", "coordinate"}, kAnyLayout, {1}},
                {"idx", Role::kKeptOutput, {"batch", "center", "sample"}, kAnyLayout}};
  op.function = "mluOpBallQuery";
  op.parameter_messages = {"ball_query_param"};
  op.run = [](const Arguments& a) {
    return call(mluOpBallQuery, a.handle, a[0], a[1], radius(a, "min_radius"), radius(a, "max_radius"),
                a.int32("nsample"), a[2]);
  };
  op.expect = expect;
  op.work = [](const Arguments& a) { return each_once(a, 2, 8 * a[0].dim(0) * a[0].dim(1) * a[1].dim(1)); };
  op.sizes = {{"b", 2, 1, 4}, {"m", 32, 1, 300}, {"n", 200, 1, 300}, {"nsample", 16, 1, 40}};
  op.multiplies = true;
  op.parallel_sizes = {{{"b", 2}, {"m", 501}, {"n", 300}, {"nsample", 16}},
                       {{"b", 2}, {"m", 501}, {"n", 2000}, {"nsample", 16}}};
  op.make = make;
  op.fit = fit;
  op.reductions = {axis_reduction("points", {{1, 1}}, {}, {0}), axis_reduction("centers", {{0, 1}}, {{0, 1}}),
                   axis_reduction("batches", {{0, 0}, {1, 0}}, {{0, 0}})};
  return {op, stacked()};
}

}  // namespace mluop::cases::ball_query
