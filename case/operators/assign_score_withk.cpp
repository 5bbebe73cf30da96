#include "reference/assign_score_withk.h"

#include "case/description.h"

namespace mluop::cases::assign_score_withk {
namespace {

// The inputs points, centers, scores and knn_idx start at tensor `first`.
reference::AssignScoreProblem problem_of(const Arguments& a, size_t first) {
  const Operand &points = a[first], &scores = a[first + 2];
  return {points.dim(0),
          points.dim(1),
          scores.dim(1),
          points.dim(2),
          scores.dim(2),
          points.dim(3),
          a[first + 3].as<int32_t>()};
}

template <class T>
reference::AssignScoreInputs<T> inputs_of(const Arguments& a, size_t first) {
  return {a[first].as<const T>(), a[first + 1].as<const T>(), a[first + 2].as<const T>()};
}

void expect_forward(Arguments& a) {
  // The library has not checked the indices.
  if (a[4].count() == 0) return;
  with_element_type(a[0], [&]<class T>() {
    reference::assign_score_withk_forward(problem_of(a, 0), inputs_of<T>(a, 0), a[4].as<T>());
  });
}

void expect_backward(Arguments& a) {
  if (a[5].count() == 0 && a[7].count() == 0) return;
  with_element_type(a[0], [&]<class T>() {
    reference::assign_score_withk_backward(problem_of(a, 1), inputs_of<T>(a, 1), a[0].as<const T>(), a[5].as<T>(),
                                           a[6].as<T>(), a[7].as<T>());
  });
}

// B, N1, K and M come from scores, O from points.
Dims output_shape(const Dims& scores, const Dims& points) { return {scores[0], points[3], scores[1], scores[2]}; }

void fit_forward(Case& c) { set_shape(c.outputs[0], output_shape(c.inputs[2].dims, c.inputs[0].dims)); }

void fit_backward(Case& c) {
  for (size_t i = 0; i < 3; ++i) set_shape(c.outputs[i], c.inputs[i + 1].dims);
}

std::vector<Tensor> make_inputs(const Recipe& r) {
  const Dims points = {r["b"], r["n0"], r["m"], r["o"]}, rows = {r["b"], r["n1"], r["k"]};
  checked_product({r["b"], r["n1"], r["k"]});
  return {
      with_uniform(make_tensor("points", r.dtype, points), r.seed),
      with_uniform(make_tensor("centers", r.dtype, points), r.seed + 1),
      with_uniform(make_tensor("scores", r.dtype, {rows[0], rows[1], rows[2], r["m"]}), r.seed + 2),
      with_uniform(make_tensor("knn_idx", MLUOP_DTYPE_INT32, rows), r.seed + 3, 0, static_cast<double>(r["n0"]))};
}

Case make_forward(const Recipe& r) {
  Case c = new_case("assign_score_withk_forward", r);
  c.inputs = make_inputs(r);
  c.outputs = {make_tensor("output", r.dtype)};
  fit_forward(c);
  return c;
}

Case make_backward(const Recipe& r) {
  Case c = new_case("assign_score_withk_backward", r);
  c.inputs = make_inputs(r);
  c.inputs.insert(c.inputs.begin(), with_uniform(make_tensor("grad_output", r.dtype,
                                                             output_shape(c.inputs[2].dims, c.inputs[0].dims)),
                                                 r.seed + 4));
  c.outputs = {make_tensor("grad_points", r.dtype), make_tensor("grad_centers", r.dtype),
               make_tensor("grad_scores", r.dtype)};
  fit_backward(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  const std::vector<std::string> matrices = {"batch", "point", "kernel", "channel"},
                                 rows = {"batch", "center", "neighbor", "kernel"},
                                 outputs = {"batch", "channel", "center", "neighbor"};
  const TensorRule points{"points", Role::kInput, matrices}, centers{"centers", Role::kInput, matrices},
      scores{"scores", Role::kInput, rows}, knn_idx{"knn_idx", Role::kInput, {"batch", "center", "neighbor"}};
  Operator forward;
  forward.name = "assign_score_withk_forward";
  forward.function = "mluOpOmpAssignScoreWithkForward";
  forward.tensors = {points, centers, scores, knn_idx, {"output", Role::kOutput, outputs}};
  forward.run = [](const Arguments& a) {
    return call(mluOpOmpAssignScoreWithkForward, a.handle, a[0], a[1], a[2], a[3], a[4]);
  };
  forward.expect = expect_forward;
  forward.work = [](const Arguments& a) { return each_once(a, 4, 3 * a[2].count() * a[0].dim(3)); };
  forward.multiplies = true;
  forward.sizes = {{"b", 2, 1, 3},  {"n0", 12, 1, 60}, {"n1", 9, 1, 50},
                   {"k", 5, 1, 20}, {"m", 8, 1, 34},   {"o", 20, 1, 70}};
  forward.parallel_sizes = {{{"b", 2}, {"n0", 100}, {"n1", 120}, {"k", 9}, {"m", 8}, {"o", 64}}};
  forward.make = make_forward;
  forward.fit = fit_forward;
  forward.reductions = {axis_reduction("kernels", {{0, 2}, {1, 2}, {2, 3}}),
                        axis_reduction("channels", {{0, 3}, {1, 3}}, {{0, 1}}),
                        axis_reduction("centers", {{2, 1}, {3, 1}}, {{0, 2}}),
                        axis_reduction("batches", {{0, 0}, {1, 0}, {2, 0}, {3, 0}}, {{0, 0}})};
  Operator backward = forward;
  backward.name = "assign_score_withk_backward";
  backward.function = "mluOpOmpAssignScoreWithkBackward";
  backward.tensors = {{"grad_output", Role::kInput, outputs},
                      points,
                      centers,
                      scores,
                      knn_idx,
                      {"grad_points", Role::kOutput, matrices},
                      {"grad_centers", Role::kOutput, matrices},
                      {"grad_scores", Role::kOutput, rows}};
  backward.run = [](const Arguments& a) {
    return call(mluOpOmpAssignScoreWithkBackward, a.handle, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
  };
  backward.expect = expect_backward;
  backward.work = [](const Arguments& a) { return each_once(a, 5, 7 * a[3].count() * a[1].dim(3)); };
  backward.make = make_backward;
  backward.fit = fit_backward;
  backward.reductions = {axis_reduction("kernels", {{1, 2}, {2, 2}, {3, 3}}),
                         axis_reduction("channels", {{0, 1}, {1, 3}, {2, 3}}),
                         axis_reduction("centers", {{0, 2}, {3, 1}, {4, 1}}),
                         axis_reduction("batches", {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}})};
  return {forward, backward};
}

}  // namespace mluop::cases::assign_score_withk
