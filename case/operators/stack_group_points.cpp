#include "reference/stack_group_points.h"

#include <algorithm>

#include "case/operators/shared/stacked_clouds.h"

namespace mluop::cases::stack_group_points {
namespace {

using reference::StackGroupPointsProblem;

void expect_forward(Arguments& a) {
  // The library has not checked the counts.
  if (a[4].count() == 0) return;
  const StackGroupPointsProblem problem{a[1].dim(0),        a[0].dim(1),        a[2].dim(1),
                                        a[1].as<int32_t>(), a[3].as<int32_t>(), a[2].as<int32_t>()};
  with_bits_type(
      a[0], [&]<class T>() { reference::stack_group_points_forward(problem, a[0].as<const T>(), a[4].as<T>()); });
}

template <bool kBits>
void expect_backward(Arguments& a) {
  double* const sums = kBits ? nullptr : sums_of(a[4]);
  if (a[4].count() == 0) return;
  const StackGroupPointsProblem problem{a[3].dim(0),        a[4].dim(1),        a[1].dim(1),
                                        a[3].as<int32_t>(), a[2].as<int32_t>(), a[1].as<int32_t>()};
  with_element_type(a[0], [&]<class T>() {
    if constexpr (kBits) {
      reference::stack_group_points_backward(problem, a[0].as<const T>(), a[4].as<T>());
    } else {
      reference::stack_group_points_backward(problem, a[0].as<const T>(), sums);
    }
  });
}

void fit_forward(Case& c) {
  set_shape(c.outputs[0], {c.inputs[2].dims[0], c.inputs[0].dims[1], c.inputs[2].dims[1]});
}

// The number of features is kept.
void fit_backward(Case& c) { set_shape(c.outputs[0], {c.outputs[0].dims[0], c.inputs[0].dims[1]}); }

// Clouds with groups have features, if there are at least as many features as clouds.
struct Generated {
  explicit Generated(const Recipe& r)
      : group_counts(draw_counts("indices_batch_cnt", r["b"], r["m"], r.seed + 2)),
        feature_counts(make_tensor("features_batch_cnt", MLUOP_DTYPE_INT32, {r["b"]})),
        indices(make_tensor("indices", MLUOP_DTYPE_INT32, {r["m"], r["samples"]})) {
    Integers random(r.seed + 1);
    const auto groups = values_of<int32_t>(group_counts);
    std::vector<int32_t> features(groups.size()), numbers;
    int64_t rest = r["n"], clouds = r["b"];
    for (size_t b = 0; b < groups.size(); ++b) {
      --clouds;
      const int64_t spare = std::max<int64_t>(rest - clouds, 0),
                    least = groups[b] > 0 ? std::min<int64_t>(spare, 1) : 0;
      features[b] = static_cast<int32_t>(clouds == 0 ? rest : least + random.below((spare - least) / 2 + 1));
      rest -= features[b];
      for (int64_t i = 0; i < groups[b] * r["samples"]; ++i) numbers.push_back(random.below(features[b]));
    }
    numbers.resize(static_cast<size_t>(element_count(indices)));
    feature_counts = with_values(feature_counts, features);
    indices = with_values(indices, numbers);
  }

  Tensor group_counts, feature_counts, indices;
};

Case make_forward(const Recipe& r) {
  checked_product({r["m"], r["samples"]});
  const Generated g(r);
  Case c = new_case("stack_group_points_forward", r);
  c.inputs = {with_uniform(make_tensor("features", r.dtype, {r["n"], r["c"]}), r.seed), g.feature_counts,
              g.indices, g.group_counts};
  c.outputs = {make_tensor("output", r.dtype)};
  fit_forward(c);
  return c;
}

Case make_backward(const Recipe& r) {
  checked_product({r["m"], r["samples"]});
  const Generated g(r);
  Case c = new_case("stack_group_points_backward", r);
  c.inputs = {with_uniform(make_tensor("grad_output", r.dtype, {r["m"], r["c"], r["samples"]}), r.seed), g.indices,
              g.group_counts, g.feature_counts};
  c.outputs = {make_tensor("grad_features", r.dtype, {r["n"], r["c"]})};
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  const TensorRule indices{"indices", Role::kInput, {"group", "sample"}},
      feature_counts{"features_batch_cnt", Role::kInput, {"cloud"}},
      group_counts{"indices_batch_cnt", Role::kInput, {"cloud"}};
  const std::vector<std::string> features = {"feature", "channel"}, groups = {"group", "channel", "sample"};
  Operator forward;
  forward.name = "stack_group_points_forward";
  forward.function = "mluOpOmpStackGroupPointsForward";
  forward.tensors = {{"features", Role::kInput, features, {}, {0}},
                     feature_counts,
                     indices,
                     group_counts,
                     {"output", Role::kOutput, groups}};
  forward.run = [](const Arguments& a) {
    return call(mluOpOmpStackGroupPointsForward, a.handle, a[0], a[1], a[2], a[3], a[4]);
  };
  forward.expect = expect_forward;
  forward.copies = true;
  // There are at least as many features as clouds.
  forward.sizes = {
      {"b", 3, 1, 8}, {"c", 20, 1, 100}, {"n", 40, 8, 400}, {"m", 30, 1, 200}, {"samples", 16, 1, 40}};
  forward.parallel_sizes = {{{"b", 2}, {"c", 40}, {"n", 200}, {"m", 600}, {"samples", 16}},
                            {{"b", 3}, {"c", 3}, {"n", 2000}, {"m", 90}, {"samples", 200}}};
  forward.make = make_forward;
  forward.fit = fit_forward;
  forward.reductions = {axis_reduction("samples", {{2, 1}}, {{0, 2}}),
                        cloud_rows_reduction("groups", 2, 3, {{0, 0}}),
                        axis_reduction("channels", {{0, 1}}, {{0, 1}})};
  Operator backward;
  backward.name = "stack_group_points_backward";
  backward.function = "mluOpOmpStackGroupPointsBackward";
  backward.tensors = {{"grad_output", Role::kInput, groups},
                      indices,
                      group_counts,
                      feature_counts,
                      {"grad_features", Role::kOutput, features}};
  backward.run = [](const Arguments& a) {
    return call(mluOpOmpStackGroupPointsBackward, a.handle, a[0], a[1], a[2], a[3], a[4]);
  };
  backward.expect = expect_backward<false>;
  backward.expect_bits = expect_backward<true>;
  // All samples may name the same feature.
  backward.terms = [](const Arguments& a) { return a[1].count(); };
  backward.work = [](const Arguments& a) { return each_once(a, 4, a[0].count()); };
  backward.criteria = sum_criteria;
  backward.sizes = forward.sizes;
  backward.parallel_sizes = {{{"b", 2}, {"c", 40}, {"n", 200}, {"m", 600}, {"samples", 16}},
                             {{"b", 1}, {"c", 3}, {"n", 2000}, {"m", 90}, {"samples", 200}}};
  backward.make = make_backward;
  backward.fit = fit_backward;
  backward.reductions = {axis_reduction("samples", {{0, 2}, {1, 1}}),
                         axis_reduction("channels", {{0, 1}}, {{0, 1}})};
  return {forward, backward};
}

}  // namespace mluop::cases::stack_group_points
