#include "reference/three_nn_forward.h"

#include "case/description.h"

namespace mluop::cases::three_nn_forward {
namespace {

void expect(Arguments& a) {
  with_element_type(a[0], [&]<class T>() {
    reference::three_nn_forward({a[0].dim(0), a[0].dim(1), a[1].dim(1)}, a[0].as<T>(), a[1].as<T>(), a[2].as<T>(),
                                a[3].as<int32_t>());
  });
}

void fit(Case& c) {
  for (Tensor& output : c.outputs) set_shape(output, c.inputs[0].dims);
}

Case make(const Recipe& r) {
  Case c = new_case("three_nn_forward", r);
  c.inputs = {with_uniform(make_tensor("unknown", r.dtype, {r["b"], r["n"], 3}), r.seed),
              with_uniform(make_tensor("known", r.dtype, {r["b"], r["m"], 3}), r.seed + 1)};
  c.outputs = {make_tensor("dist2", r.dtype), make_tensor("idx", MLUOP_DTYPE_INT32)};
  fit(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  Operator op;
  op.name = "three_nn_forward";
  op.function = "mluOpThreeNNForward";
  op.query_function = "mluOpGetThreeNNForwardWorkspaceSize";
  op.tensors = {{"unknown", Role::kInput, {"batch", "point", "coordinate"}, kAnyLayout},
                {"known", Role::kInput, {"batch", "known point", "coordinate"}, kAnyLayout, {1}},
                {"dist2", Role::kOutput, {"batch", "point", "neighbor"}, kAnyLayout},
                {"idx", Role::kOutput, {"batch", "point", "neighbor"}, kAnyLayout}};
  op.query = [](const Arguments& a, size_t* bytes) {
    return mluOpGetThreeNNForwardWorkspaceSize(a.handle, a[1].desc, bytes);
  };
  op.run = [](const Arguments& a) {
    return call(mluOpThreeNNForward, a.handle, a[0], a[1], a.workspace, a.workspace_size, a[2], a[3]);
  };
  op.expect = expect;
  op.work = [](const Arguments& a) { return each_once(a, 2, 8 * a[0].dim(0) * a[0].dim(1) * a[1].dim(1)); };
  op.sizes = {{"b", 2, 1, 4}, {"n", 64, 1, 100}, {"m", 32, 1, 1500}};
  op.multiplies = true;
  op.parallel_sizes = {{{"b", 2}, {"n", 301}, {"m", 300}}, {{"b", 2}, {"n", 101}, {"m", 1500}}};
  op.make = make;
  op.fit = fit;
  op.reductions = {axis_reduction("points", {{0, 1}}, {{0, 1}, {1, 1}}),
                   axis_reduction("known points", {{1, 1}}, {}, {1}),
                   axis_reduction("batches", {{0, 0}, {1, 0}}, {{0, 0}, {1, 0}})};
  return {op};
}

}  // namespace mluop::cases::three_nn_forward
