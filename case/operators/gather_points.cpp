#include "reference/gather_points.h"

#include <algorithm>

#include "case/description.h"

namespace mluop::cases::gather_points {
namespace {

// The number of points of a batch.
int64_t point_count(const Operand& indices) {
  return indices.dim(1) * (indices.dims.size() == 3 ? indices.dim(2) : 1);
}

void expect_forward(Arguments& a) {
  const reference::GatherPointsSizes sizes{a[0].dim(0), a[0].dim(1), a[0].dim(2), point_count(a[1])};
  with_bits_type(a[0], [&]<class T>() {
    reference::gather_points_forward(sizes, a[0].as<T>(), a[1].as<int32_t>(), a[2].as<T>());
  });
}

// Counts only features that indices name.
Work forward_work(const Arguments& a) {
  if (a[2].count() == 0) return {};
  const int64_t N = a[0].dim(2), M = point_count(a[1]);
  std::vector<bool> is_named(static_cast<size_t>(a[0].dim(0) * N));
  for (int64_t i = 0; i < a[1].count(); ++i) {
    is_named[static_cast<size_t>(i / M * N + a[1].as<int32_t>()[i])] = true;
  }
  const auto features = static_cast<int64_t>(std::count(is_named.begin(), is_named.end(), true));
  const auto element = static_cast<int64_t>(element_size(a[0].dtype));
  return {features * a[0].dim(1) * element + a[1].bytes(), a[2].bytes(), 0};
}

template <bool kBits>
void expect_backward(Arguments& a) {
  const reference::GatherPointsSizes sizes{a[0].dim(0), a[0].dim(1), a[2].dim(2), point_count(a[1])};
  with_element_type(a[0], [&]<class T>() {
    if constexpr (kBits) {
      reference::gather_points_backward(sizes, a[0].as<T>(), a[1].as<int32_t>(), a[2].as<T>());
    } else {
      reference::gather_points_backward(sizes, a[0].as<T>(), a[1].as<int32_t>(), sums_of(a[2]));
    }
  });
}

// Points have the dimensions of the indices, and channels.
Dims points_shape(const Dims& indices, int64_t channels) {
  Dims shape = indices;
  shape.insert(shape.begin() + 1, channels);
  return shape;
}

void fit_forward(Case& c) { set_shape(c.outputs[0], points_shape(c.inputs[1].dims, c.inputs[0].dims[1])); }

// The number of features is kept.
void fit_backward(Case& c) {
  set_shape(c.outputs[0], {c.inputs[0].dims[0], c.inputs[0].dims[1], c.outputs[0].dims.back()});
}

Case make(const Recipe& r, bool forward) {
  Case c = new_case(forward ? "gather_points_forward" : "gather_points_backward", r);
  Dims indices = {r["b"], r["m"]};
  if (r["samples"] > 0) indices.push_back(r["samples"]);
  const Dims features = {r["b"], r["c"], r["n"]}, points = points_shape(indices, r["c"]);
  c.inputs = {with_uniform(make_tensor(forward ? "features" : "grad_output", r.dtype, forward ? features : points),
                           r.seed),
              with_uniform(make_tensor("indices", MLUOP_DTYPE_INT32, indices), r.seed + 1, 0,
                           static_cast<double>(r["n"]))};
  c.outputs = {make_tensor(forward ? "output" : "grad_features", r.dtype, forward ? points : features)};
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  const TensorRule indices{"indices", Role::kInput, {"batch", "point", "sample"}};
  const std::vector<std::string> features = {"batch", "channel", "feature"},
                                 points = {"batch", "channel", "point", "sample"};
  Operator forward;
  forward.name = "gather_points_forward";
  forward.function = "mluOpOmpGatherPointsForward";
  forward.tensors = {{"features", Role::kInput, features, {}, {2}}, indices, {"output", Role::kOutput, points}};
  forward.run = [](const Arguments& a) { return call(mluOpOmpGatherPointsForward, a.handle, a[0], a[1], a[2]); };
  forward.expect = expect_forward;
  forward.work = forward_work;
  forward.copies = true;
  // Indices [b, m], or [b, m, samples] if samples is positive.
  forward.sizes = {
      {"b", 2, 1, 4}, {"c", 20, 1, 100}, {"n", 40, 1, 400}, {"m", 50, 1, 1000}, {"samples", 0, 0, 5, false}};
  forward.parallel_sizes = {{{"b", 2}, {"c", 40}, {"n", 90}, {"m", 3003}},
                            {{"b", 2}, {"c", 3}, {"n", 2003}, {"m", 1001}, {"samples", 3}}};
  forward.make = [](const Recipe& r) { return make(r, true); };
  forward.fit = fit_forward;
  forward.reductions = {axis_reduction("points", {{1, 1}}, {{0, 2}}),
                        axis_reduction("channels", {{0, 1}}, {{0, 1}}),
                        axis_reduction("batches", {{0, 0}, {1, 0}}, {{0, 0}})};
  Operator backward;
  backward.name = "gather_points_backward";
  backward.function = "mluOpOmpGatherPointsBackward";
  backward.tensors = {
      {"grad_output", Role::kInput, points}, indices, {"grad_features", Role::kOutput, features, {}, {2}}};
  backward.run = [](const Arguments& a) { return call(mluOpOmpGatherPointsBackward, a.handle, a[0], a[1], a[2]); };
  backward.expect = expect_backward<false>;
  backward.expect_bits = expect_backward<true>;
  // All points may name the same feature.
  backward.terms = [](const Arguments& a) { return point_count(a[1]); };
  backward.work = [](const Arguments& a) { return each_once(a, 2, a[0].count()); };
  backward.criteria = sum_criteria;
  backward.sizes = forward.sizes;
  backward.parallel_sizes = {{{"b", 2}, {"c", 20}, {"n", 90}, {"m", 3003}},
                             {{"b", 1}, {"c", 3}, {"n", 2003}, {"m", 1001}, {"samples", 3}}};
  backward.make = [](const Recipe& r) { return make(r, false); };
  backward.fit = fit_backward;
  backward.reductions = {axis_reduction("points", {{0, 2}, {1, 1}}),
                         axis_reduction("channels", {{0, 1}}, {{0, 1}}),
                         axis_reduction("batches", {{0, 0}, {1, 0}}, {{0, 0}})};
  return {forward, backward};
}

}  // namespace mluop::cases::gather_points
