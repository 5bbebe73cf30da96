#include "case/description.h"

namespace mluop::cases::active_rotated_filter {
namespace {

using reference::to_f32;

// Calls visit(element of input, element of output) for each entry of each filter and each rotation, by the
// definition. Rotations are innermost.
template <class Visit>
void for_each_entry(const Operand& input, const Operand& indices, const Visit& visit) {
  const int64_t O = input.dim(0), I = input.dim(1), r = indices.dim(3),
                E = input.dim(2) * input.dim(3) * input.dim(4);
  for (int64_t entry = 0; entry < O * I * E; ++entry) {
    const int64_t o = entry / E / I, i = entry / E % I;
    for (int64_t t = 0; t < r; ++t) {
      visit(entry, ((o * r + t) * I + i) * E + indices.as<int32_t>()[entry % E * r + t] - 1);
    }
  }
}

void expect_forward(Arguments& a) {
  set_zero(a[2]);
  with_bits_type(a[0], [&]<class T>() {
    for_each_entry(a[0], a[1], [&](int64_t from, int64_t to) { a[2].as<T>()[to] = a[0].as<T>()[from]; });
  });
}

void expect_backward(Arguments& a) {
  double* const sums = sums_of(a[2]);
  with_element_type(a[0], [&]<class T>() {
    for_each_entry(a[2], a[1], [&](int64_t to, int64_t from) { sums[to] += to_f32(a[0].as<T>()[from]); });
  });
}

void fit_forward(Case& c) {
  const Dims &input = c.inputs[0].dims, &indices = c.inputs[1].dims;
  set_shape(c.outputs[0],
            {checked_product({input[0], indices[3]}), checked_product({input[1], input[2]}), input[3], input[4]});
}

// Without rotations or orientations, grad_output does not determine the number of filters.
void fit_backward(Case& c) {
  const Dims &rotated = c.inputs[0].dims, &indices = c.inputs[1].dims, plain = c.outputs[0].dims;
  const auto quotient = [](int64_t a, int64_t b, int64_t otherwise) { return b == 0 ? otherwise : a / b; };
  set_shape(c.outputs[0], {quotient(rotated[0], indices[3], plain[0]), quotient(rotated[1], indices[0], plain[1]),
                           indices[0], indices[1], indices[2]});
}

template <bool kForward>
Case make(const Recipe& r) {
  const int64_t entries = checked_product({r["n"], r["kh"], r["kw"]});
  checked_product({r["o"], r["i"], entries, r["r"]});
  Case c = new_case(kForward ? "active_rotated_filter_forward" : "active_rotated_filter_backward", r);
  Integers random(r.seed + 1);
  std::vector<int32_t> targets(static_cast<size_t>(entries * r["r"]));
  for (int32_t& target : targets) target = random.below(entries) + 1;
  const Dims plain = {r["o"], r["i"], r["n"], r["kh"], r["kw"]};
  const Dims rotated = {r["o"] * r["r"], r["i"] * r["n"], r["kh"], r["kw"]};
  c.inputs = {
      with_uniform(make_tensor(kForward ? "input" : "grad_output", r.dtype, kForward ? plain : rotated), r.seed),
      with_values(make_tensor("indices", MLUOP_DTYPE_INT32, {r["n"], r["kh"], r["kw"], r["r"]}), targets)};
  c.outputs = {make_tensor(kForward ? "output" : "grad_input", r.dtype, kForward ? rotated : plain)};
  return c;
}

Operator described() {
  Operator op;
  op.sizes = {{"o", 3, 1, 9}, {"i", 4, 1, 20}, {"n", 2, 1, 8}, {"kh", 3, 1, 4}, {"kw", 3, 1, 4}, {"r", 4, 1, 8}};
  op.parallel_sizes = {{{"o", 16}, {"i", 32}, {"n", 4}, {"r", 8}}};
  // ORConv2d of S2ANet.
  op.networks = {{"s2anet 256 to 32x8", {{"o", 32}, {"i", 256}, {"n", 1}, {"r", 8}}},
                 {"s2anet 128x8 to 32x8", {{"o", 32}, {"i", 128}, {"n", 8}, {"r", 8}}}};
  return op;
}

}  // namespace

std::vector<Operator> operators() {
  const std::vector<std::string> plain = {"output", "input", "orientation", "row", "column"},
                                 rotated = {"rotated output", "input", "row", "column"};
  const TensorRule indices{"indices", Role::kInput, {"orientation", "row", "column", "rotation"}, kAnyLayout};
  Operator forward = described();
  forward.name = "active_rotated_filter_forward";
  forward.function = "mluOpActiveRotatedFilterForward";
  forward.query_function = "mluOpGetActiveRotatedFilterForwardWorkspaceSize";
  forward.tensors = {
      {"input", Role::kInput, plain, kAnyLayout}, indices, {"output", Role::kOutput, rotated, kAnyLayout}};
  forward.query = [](const Arguments& a, size_t* bytes) {
    return mluOpGetActiveRotatedFilterForwardWorkspaceSize(a.handle, a[0].desc, bytes);
  };
  forward.run = [](const Arguments& a) {
    return call(mluOpActiveRotatedFilterForward, a.handle, a[0], a[1], a.workspace, a.workspace_size, a[2]);
  };
  forward.expect = expect_forward;
  forward.copies = true;
  forward.make = make<true>;
  forward.fit = fit_forward;
  forward.reductions = {axis_reduction("outputs", {{0, 0}}), axis_reduction("inputs", {{0, 1}})};
  Operator backward = described();
  backward.name = "active_rotated_filter_backward";
  backward.function = "mluOpOmpActiveRotatedFilterBackward";
  backward.tensors = {{"grad_output", Role::kInput, rotated, kAnyLayout},
                      indices,
                      {"grad_input", Role::kOutput, plain, kAnyLayout}};
  backward.run = [](const Arguments& a) {
    return call(mluOpOmpActiveRotatedFilterBackward, a.handle, a[0], a[1], a[2]);
  };
  backward.expect = expect_backward;
  backward.terms = [](const Arguments& a) { return a[1].dim(3); };
  backward.criteria = sum_criteria;
  backward.make = make<false>;
  backward.fit = fit_backward;
  return {forward, backward};
}

}  // namespace mluop::cases::active_rotated_filter
