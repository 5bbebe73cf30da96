#include "case/description.h"

namespace mluop::cases::transpose {
namespace {

void expect(Arguments& a) {
  const int64_t N = a[0].dim(0), A = a[0].dim(1), B = a[0].dim(2);
  with_bits_type(a[0], [&]<class Element>() {
    for (int64_t i = 0; i < N * A * B; ++i) {
      a[1].as<Element>()[(i / (A * B) * B + i % B) * A + i / B % A] = a[0].as<Element>()[i];
    }
  });
}

void fit(Case& c) {
  const Dims& dims = c.inputs[0].dims;
  set_shape(c.outputs[0], {dims[0], dims[2], dims[1]});
}

Case make(const Recipe& r) {
  checked_product({r["n"], r["a"], r["b"]});
  Case c = new_case("transpose", r);
  c.inputs = {with_uniform(make_tensor("input", r.dtype, {r["n"], r["a"], r["b"]}), r.seed)};
  c.outputs = {make_tensor("output", r.dtype, {r["n"], r["b"], r["a"]})};
  return c;
}

Operator described() {
  Operator op;
  op.name = "transpose";
  op.function = "mluOpOmpTranspose";
  op.tensors = {{"input", Role::kInput, {"matrix", "row", "column"}, kAnyLayout, {}},
                {"output", Role::kOutput, {"matrix", "column", "row"}, kAnyLayout}};
  op.run = [](const Arguments& a) { return call(mluOpOmpTranspose, a.handle, a[0], a[1]); };
  op.expect = expect;
  op.copies = true;
  op.sizes = {{"n", 2, 1, 3}, {"a", 5, 1, 70}, {"b", 7, 1, 300}};
  op.parallel_sizes = {{{"n", 2}, {"a", 64}, {"b", 1000}}};
  // Maps of a feature pyramid in NCHW, pooled RoIs in NHWC.
  op.networks = {{"fpn 64x64", {{"n", 2}, {"a", 256}, {"b", 4096}}},
                 {"fpn 256x256", {{"n", 1}, {"a", 256}, {"b", 65536}}},
                 {"rois 7x7", {{"n", 512}, {"a", 49}, {"b", 256}}}};
  op.make = make;
  op.fit = fit;
  op.reductions = {axis_reduction("matrices", {{0, 0}}, {{0, 0}}), axis_reduction("rows", {{0, 1}}, {{0, 2}}),
                   axis_reduction("columns", {{0, 2}}, {{0, 1}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() { return {described()}; }

}  // namespace mluop::cases::transpose
