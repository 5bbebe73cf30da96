#include "reference/moe_dispatch.h"

#include <algorithm>

#include "case/description.h"

namespace mluop::cases::moe_dispatch {
namespace {

reference::MoeDispatchProblem problem_of(const Arguments& a, size_t indices) {
  return {a.integer("samples"),     a.integer("capacity"),    a.integer("hidden"),
          a.integer("num_experts"), a[indices].as<int32_t>(), a[indices + 1].as<int32_t>()};
}

void expect_forward(Arguments& a) {
  reference::moe_dispatch_forward(problem_of(a, 1), a[0].as<float>(), a[3].as<float>(), a[4].as<float>());
}

void expect_gate(Arguments& a) {
  reference::moe_dispatch_backward_gate(problem_of(a, 0), a[2].as<float>(), a[3].as<float>(), sums_of(a[4]));
}

void expect_data(Arguments& a) {
  reference::moe_dispatch_backward_data(problem_of(a, 1), a[0].as<float>(), a[3].as<float>(), a[4].as<float>());
}

// The parameters samples and hidden, and the outputs of the gradients, follow from the inputs.
void fit(Case& c) {
  const bool is_gate = c.op_name == "moe_dispatch_backward_gate";
  const int64_t samples = c.inputs[0].dims[0], hidden = c.inputs[is_gate ? 2 : 3].dims[1];
  c.parameters.set("samples", samples);
  c.parameters.set("hidden", hidden);
  for (Tensor& output : c.outputs) set_shape(output, is_gate ? Dims{samples} : Dims{samples, hidden});
}

// Experts and rows of the samples: `clash`: any, also rows of several samples, and one in eight out of range; or
// the rows of each expert in order, as Tutel computes them.
std::pair<std::vector<int32_t>, std::vector<int32_t>> rows_of(const Recipe& r, int64_t capacity) {
  const int64_t samples = r["samples"], experts = r["experts"];
  Integers random(r.seed + 2);
  std::vector<int32_t> indices(static_cast<size_t>(samples)), locations(indices.size());
  std::vector<int32_t> counts(static_cast<size_t>(std::max<int64_t>(experts, 1)));
  for (size_t i = 0; i < indices.size(); ++i) {
    indices[i] = random.below(experts);
    locations[i] = r["clash"] != 0 ? random.below(capacity) : counts[static_cast<size_t>(indices[i])]++;
    if (r["clash"] == 0 || random.below(8) > 0) continue;
    const int32_t outside[] = {-1, static_cast<int32_t>(experts), INT32_MAX, INT32_MIN,
                               static_cast<int32_t>(capacity)};
    (random.below(2) == 0 ? indices : locations)[i] = outside[random.below(5)];
  }
  return {indices, locations};
}

// output: the output's name; null: there is none.
Case make(const char* name, const Recipe& r, const char* output) {
  Case c = new_case(name, r);
  const int64_t samples = r["samples"], experts = r["experts"], hidden = r["hidden"];
  // Forward requires a row for each sample.
  const bool has_rows = experts > 0 && r["capacity"] > 0;
  const int64_t capacity = has_rows ? std::max(r["capacity"], (samples + experts - 1) / experts) : r["capacity"];
  const int64_t rows = checked_product({experts, capacity});
  checked_product({std::max(rows, samples), hidden});
  c.parameters.message = std::string(name) + "_param";
  c.parameters.set("samples", samples);
  c.parameters.set("capacity", capacity);
  c.parameters.set("hidden", hidden);
  c.parameters.set("num_experts", experts);
  const auto [indices, locations] = rows_of(r, capacity);
  const std::string op = name;
  const auto add = [&](const char* id, const Dims& dims, int32_t seed) {
    c.inputs.push_back(with_uniform(make_tensor(id, r.dtype, dims), seed));
  };
  if (op != "moe_dispatch_backward_gate") add("gates", {samples}, r.seed);
  c.inputs.push_back(with_values(make_tensor("indices", MLUOP_DTYPE_INT32, {samples}), indices));
  c.inputs.push_back(with_values(make_tensor("locations", MLUOP_DTYPE_INT32, {samples}), locations));
  if (op != "moe_dispatch_backward_data") add("input", {samples, hidden}, r.seed + 1);
  add("dispatch", {rows, hidden}, r.seed + 3);
  if (output != nullptr) c.outputs = {make_tensor(output, r.dtype)};
  fit(c);
  return c;
}

Operator describe(const char* name, const char* function) {
  Operator op;
  op.name = name;
  op.function = function;
  op.parameter_messages = {op.name + "_param"};
  op.refuses_200_series = true;
  op.multiplies = true;
  op.dtypes = {MLUOP_DTYPE_FLOAT};
  op.sizes = {{"samples", 20, 1, 400},
              {"capacity", 12, 1, 60},
              {"hidden", 9, 1, 300},
              {"experts", 2, 1, 8},
              {"clash", 1, 0, 1, false}};
  op.parallel_sizes = {{{"samples", 3000}, {"hidden", 70}}, {{"samples", 300}, {"hidden", 700}, {"clash", 0}}};
  // Sizes that MLU-OPS measures: two experts.
  op.networks = {
      {"18432x512", {{"samples", 18432}, {"capacity", 11520}, {"hidden", 512}, {"experts", 2}, {"clash", 0}}},
      {"8192x2048", {{"samples", 8192}, {"capacity", 8192}, {"hidden", 2048}, {"experts", 2}, {"clash", 0}}}};
  op.fit = fit;
  return op;
}

}  // namespace

std::vector<Operator> operators() {
  const TensorRule gates{"gates", Role::kInput, {"sample"}, kAnyLayout},
      indices{"indices", Role::kInput, {"sample"}, kAnyLayout},
      locations{"locations", Role::kInput, {"sample"}, kAnyLayout},
      input{"input", Role::kInput, {"sample", "channel"}, kAnyLayout},
      dispatch{"dispatch", Role::kInput, {"row", "channel"}, kAnyLayout};

  Operator forward = describe("moe_dispatch_forward", "mluOpMoeDispatchForward");
  forward.tensors = {gates, indices, locations, input, dispatch};
  forward.tensors[4].role = Role::kInOut;
  forward.run = [](const Arguments& a) {
    return call(mluOpMoeDispatchForward, a.handle, a[0], a[1], a[2], a[3], a.int32("samples"), a.int32("capacity"),
                a.int32("hidden"), a.int32("num_experts"), a[4]);
  };
  forward.expect = expect_forward;
  // Writes a row of dispatch for each sample.
  forward.work = [](const Arguments& a) {
    Work work = each_once(a, 4, a[3].count());
    work.write_bytes = a[3].bytes();
    return work;
  };
  forward.make = [](const Recipe& r) { return make("moe_dispatch_forward", r, nullptr); };
  forward.reductions = {axis_reduction("samples", {{0, 0}, {1, 0}, {2, 0}, {3, 0}}),
                        axis_reduction("channels", {{3, 1}, {4, 1}})};

  Operator gate = describe("moe_dispatch_backward_gate", "mluOpMoeDispatchBackwardGate");
  gate.query_function = "mluOpGetMoeDispatchBackwardGateWorkspaceSize";
  gate.tensors = {indices, locations, input, dispatch, {"grad_gates", Role::kOutput, {"sample"}, kAnyLayout}};
  gate.query = [](const Arguments& a, size_t* size) {
    return mluOpGetMoeDispatchBackwardGateWorkspaceSize(a.handle, a[2].desc, size);
  };
  gate.run = [](const Arguments& a) {
    return call(mluOpMoeDispatchBackwardGate, a.handle, a[0], a[1], a[2], a[3], a.int32("samples"),
                a.int32("capacity"), a.int32("hidden"), a.int32("num_experts"), a.workspace, a.workspace_size,
                a[4]);
  };
  gate.expect = expect_gate;
  gate.terms = [](const Arguments& a) { return a[2].dim(1); };
  gate.criteria = sum_criteria;
  gate.work = [](const Arguments& a) {
    Work work = each_once(a, 4, 2 * a[2].count());
    work.read_bytes += a[2].bytes() - a[3].bytes();
    return work;
  };
  gate.make = [](const Recipe& r) { return make("moe_dispatch_backward_gate", r, "grad_gates"); };
  gate.reductions = {axis_reduction("samples", {{0, 0}, {1, 0}, {2, 0}}, {{0, 0}}),
                     axis_reduction("channels", {{2, 1}, {3, 1}})};

  Operator data = describe("moe_dispatch_backward_data", "mluOpMoeDispatchBackwardData");
  data.tensors = {
      gates, indices, locations, dispatch, {"grad_input", Role::kOutput, {"sample", "channel"}, kAnyLayout}};
  data.run = [](const Arguments& a) {
    return call(mluOpMoeDispatchBackwardData, a.handle, a[0], a[1], a[2], a[3], a.int32("samples"),
                a.int32("capacity"), a.int32("hidden"), a.int32("num_experts"), a[4]);
  };
  data.expect = expect_data;
  data.work = [](const Arguments& a) {
    Work work = each_once(a, 4, a[4].count());
    work.read_bytes += a[4].bytes() - a[3].bytes();
    return work;
  };
  data.make = [](const Recipe& r) { return make("moe_dispatch_backward_data", r, "grad_input"); };
  data.reductions = {axis_reduction("samples", {{0, 0}, {1, 0}, {2, 0}}, {{0, 0}}),
                     axis_reduction("channels", {{3, 1}}, {{0, 1}})};
  return {forward, gate, data};
}

}  // namespace mluop::cases::moe_dispatch
