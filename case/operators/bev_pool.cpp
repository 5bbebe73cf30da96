#include "reference/bev_pool.h"

#include "case/description.h"

namespace mluop::cases::bev_pool {
namespace {

// The tensors from `first` on are depth, features and the three lists of indices; `rows`: the tensor with a row
// for each cell.
reference::BevPoolProblem problem_of(const Arguments& a, size_t first, const Operand& rows) {
  return {a[first + 2].count(),
          a[first].dim(0),
          a[first + 1].dim(0),
          rows.dim(0),
          rows.dim(1),
          a[first + 2].as<int32_t>(),
          a[first + 3].as<int32_t>(),
          a[first + 4].as<int32_t>()};
}

void expect_forward(Arguments& a) {
  // The library has not checked the indices of the points.
  if (a[5].count() == 0) return;
  with_element_type(a[0], [&]<class T>() {
    reference::bev_pool_forward(problem_of(a, 0, a[5]), a[0].as<const T>(), a[1].as<const T>(), a[5].as<T>());
  });
}

void expect_backward(Arguments& a) {
  if (a[6].count() == 0 && a[7].count() == 0) return;
  with_element_type(a[0], [&]<class T>() {
    reference::bev_pool_backward(problem_of(a, 1, a[0]), a[0].as<const T>(), a[1].as<const T>(),
                                 a[2].as<const T>(), a[6].as<T>(), a[7].as<T>());
  });
}

void fit_forward(Case& c) { set_shape(c.outputs[0], {c.outputs[0].dims[0], c.inputs[1].dims[1]}); }

void fit_backward(Case& c) {
  for (size_t i = 0; i < 2; ++i) set_shape(c.outputs[i], c.inputs[i + 1].dims);
}

std::vector<Tensor> make_inputs(const Recipe& r) {
  const auto numbers = [&](const char* id, int32_t seed, int64_t lowest, int64_t limit) {
    return with_uniform(make_tensor(id, MLUOP_DTYPE_INT32, {r["p"]}), r.seed + seed, static_cast<double>(lowest),
                        static_cast<double>(limit));
  };
  return {with_uniform(make_tensor("depth", r.dtype, {r["d"]}), r.seed),
          with_uniform(make_tensor("features", r.dtype, {r["f"], r["c"]}), r.seed + 1),
          numbers("ranks_depth", 2, 0, r["d"]), numbers("ranks_feat", 3, 0, r["f"]),
          numbers("ranks_bev", 4, -1, r["m"])};
}

Case make_forward(const Recipe& r) {
  Case c = new_case("bev_pool_forward", r);
  c.inputs = make_inputs(r);
  c.outputs = {make_tensor("output", r.dtype, {r["m"], r["c"]})};
  return c;
}

Case make_backward(const Recipe& r) {
  Case c = new_case("bev_pool_backward", r);
  c.inputs = make_inputs(r);
  c.inputs.insert(c.inputs.begin(),
                  with_uniform(make_tensor("grad_output", r.dtype, {r["m"], r["c"]}), r.seed + 5));
  c.outputs = {make_tensor("grad_depth", r.dtype), make_tensor("grad_features", r.dtype)};
  fit_backward(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  const std::vector<std::string> elements = {"element"}, rows = {"row", "channel"}, cells = {"cell", "channel"},
                                 points = {"point"};
  const TensorRule ranks_depth{"ranks_depth", Role::kInput, points},
      ranks_feat{"ranks_feat", Role::kInput, points}, ranks_bev{"ranks_bev", Role::kInput, points};
  Operator forward;
  forward.name = "bev_pool_forward";
  forward.function = "mluOpOmpBevPoolForward";
  forward.tensors = {{"depth", Role::kInput, elements, {}, {0}},
                     {"features", Role::kInput, rows, {}, {0}},
                     ranks_depth,
                     ranks_feat,
                     ranks_bev,
                     {"output", Role::kOutput, cells, {}, {0}}};
  forward.run = [](const Arguments& a) {
    return call(mluOpOmpBevPoolForward, a.handle, a[0], a[1], a[2], a[3], a[4], a[5]);
  };
  forward.expect = expect_forward;
  forward.work = [](const Arguments& a) { return each_once(a, 5, 2 * a[2].count() * a[1].dim(1)); };
  forward.multiplies = true;
  forward.sizes = {{"p", 60, 1, 2000}, {"d", 40, 1, 500}, {"f", 9, 1, 100}, {"m", 12, 1, 200}, {"c", 20}};
  forward.parallel_sizes = {{{"p", 20000}, {"d", 3000}, {"f", 300}, {"m", 400}, {"c", 80}}};
  forward.make = make_forward;
  forward.fit = fit_forward;
  forward.reductions = {axis_reduction("channels", {{1, 1}}, {{0, 1}}),
                        axis_reduction("points", {{2, 0}, {3, 0}, {4, 0}})};
  Operator backward = forward;
  backward.name = "bev_pool_backward";
  backward.function = "mluOpOmpBevPoolBackward";
  backward.tensors = {{"grad_output", Role::kInput, cells, {}, {0}},
                      {"depth", Role::kInput, elements},
                      {"features", Role::kInput, rows},
                      ranks_depth,
                      ranks_feat,
                      ranks_bev,
                      {"grad_depth", Role::kOutput, elements},
                      {"grad_features", Role::kOutput, rows}};
  backward.run = [](const Arguments& a) {
    return call(mluOpOmpBevPoolBackward, a.handle, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
  };
  backward.expect = expect_backward;
  backward.work = [](const Arguments& a) { return each_once(a, 6, 4 * a[3].count() * a[2].dim(1)); };
  backward.make = make_backward;
  backward.fit = fit_backward;
  backward.reductions = {axis_reduction("channels", {{0, 1}, {2, 1}}, {{1, 1}}),
                         axis_reduction("points", {{3, 0}, {4, 0}, {5, 0}})};
  return {forward, backward};
}

}  // namespace mluop::cases::bev_pool
