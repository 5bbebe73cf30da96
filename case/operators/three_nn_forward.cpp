#include "reference/three_nn_forward.h"

#include "case/operators/support.h"

namespace mluop::cases {
namespace {

mluOpStatus_t query(const Arguments& a, size_t* bytes) {
  return mluOpGetThreeNNForwardWorkspaceSize(a.handle, a[1].desc, bytes);
}

mluOpStatus_t run(const Arguments& a) {
  return mluOpThreeNNForward(a.handle, a[0].desc, a[0].data, a[1].desc, a[1].data, a.workspace, a.workspace_size,
                             a[2].desc, a[2].data, a[3].desc, a[3].data);
}

void expect(Arguments& a) {
  with_element_type(a[0], [&](auto element) {
    using T = decltype(element);
    reference::three_nn_forward({a[0].dim(0), a[0].dim(1), a[1].dim(1)}, a[0].as<T>(), a[1].as<T>(), a[2].as<T>(),
                                a[3].as<int32_t>());
  });
}

Work work(const Arguments& a) {
  return {a[0].bytes() + a[1].bytes(), a[2].bytes() + a[3].bytes(), 8 * a[0].dim(0) * a[0].dim(1) * a[1].dim(1)};
}

void fit(Case& c) {
  for (Tensor& output : c.outputs) set_shape(output, c.inputs[0].dims);
}

Case make(const Recipe& r) {
  Case c;
  c.op_name = "three_nn_forward";
  c.inputs = {with_uniform(make_tensor("unknown", r.dtype, {r["b"], r["n"], 3}), r.seed),
              with_uniform(make_tensor("known", r.dtype, {r["b"], r["m"], 3}), r.seed + 1)};
  c.outputs = {make_tensor("dist2", r.dtype, {}), make_tensor("idx", MLUOP_DTYPE_INT32, {})};
  fit(c);
  return c;
}

}  // namespace

std::vector<Operator> three_nn_operators() {
  Operator op;
  op.name = "three_nn_forward";
  op.function = "mluOpThreeNNForward";
  op.query_function = "mluOpGetThreeNNForwardWorkspaceSize";
  op.tensors = {{"unknown", Role::kInput, {"batch", "point", "coordinate"}, kAnyLayout},
                {"known", Role::kInput, {"batch", "known point", "coordinate"}, kAnyLayout, {1}},
                {"dist2", Role::kOutput, {"batch", "point", "neighbor"}, kAnyLayout},
                {"idx", Role::kOutput, {"batch", "point", "neighbor"}, kAnyLayout}};
  op.query = query;
  op.run = run;
  op.expect = expect;
  op.work = work;
  op.sizes = {{"b", 2, 1, 4}, {"n", 64, 1, 100}, {"m", 32, 1, 1500}};
  op.make = make;
  op.reductions = {axis_reduction("points", {{0, 1}}, fit), axis_reduction("known points", {{1, 1}}, fit),
                   axis_reduction("batches", {{0, 0}, {1, 0}}, fit)};
  return {op};
}

}  // namespace mluop::cases
