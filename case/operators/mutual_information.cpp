#include "reference/mutual_information.h"

#include <algorithm>
#include <limits>

#include "case/description.h"

namespace mluop::cases::mutual_information {
namespace {

using reference::MutualInformationProblem;

MutualInformationProblem problem_of(const Arguments& a) {
  return {a[0].dim(0),      a[0].dim(1),      a[1].dim(2),
          a[0].as<float>(), a[1].as<float>(), a[2].count() == 0 ? nullptr : a[2].as<int64_t>()};
}

void fit(Case& c) {
  const Dims &px = c.inputs[0].dims, &py = c.inputs[1].dims;
  const bool is_forward = c.outputs.size() == 1;
  set_shape(c.outputs[0], is_forward ? Dims{px[0]} : px);
  if (!is_forward) set_shape(c.outputs[1], py);
}

// Every third boundary is all cells, every third a part of them; others are empty or have one cell.
Tensor make_boundary(int64_t B, int64_t S, int64_t T, Integers& random) {
  std::vector<int64_t> values;
  for (int64_t b = 0; b < B; ++b) {
    const bool is_part = b % 3 == 1;
    const int64_t s_begin = is_part ? random.below(S / 2 + 1) : 0, t_begin = is_part ? random.below(T / 2 + 1) : 0;
    int64_t s_end = is_part ? S - random.below(S / 2 + 1) : S, t_end = is_part ? T - random.below(T / 2 + 1) : T;
    if (b % 3 == 2) (b % 2 == 0 ? s_end : t_end) = -1 + random.below(2);
    values.insert(values.end(), {s_begin, t_begin, s_end, t_end});
  }
  return with_values(make_tensor("opt_boundary", MLUOP_DTYPE_INT64, {B, 4}), values);
}

// Log-probabilities that are multiples of 1/8; one in 32 is -infinity.
std::vector<float> make_scores(int64_t count, Integers& random) {
  std::vector<float> scores(static_cast<size_t>(count));
  for (float& score : scores) {
    score = random.below(32) == 0 ? -std::numeric_limits<float>::infinity()
                                  : -static_cast<float>(random.below(41)) / 8;
  }
  return scores;
}

template <bool kForward>
Case make(const Recipe& r) {
  const int64_t B = r["b"], S = r["s"], T = r["t"], cells = checked_product({B, S + 1, T + 1});
  Case c = kForward ? new_case("mutual_information_forward", r)
                    : new_case("mutual_information_backward", r, {"overwrite_ans_grad"});
  Integers random(r.seed);
  Tensor px = make_tensor("px", MLUOP_DTYPE_FLOAT, {B, S, T + 1}), py = make_tensor("py", px.dtype, {B, S + 1, T});
  Tensor p = make_tensor("p", px.dtype, {B, S + 1, T + 1}), ans_grad = make_tensor("ans_grad", px.dtype, {B});
  const bool is_bounded = r["bounded"] != 0;
  const Tensor boundary = is_bounded ? make_boundary(B, S, T, random) : Tensor();
  ans_grad = with_uniform(ans_grad, r.seed + 3, 0.5, 1);
  if (3 * cells <= r.max_inline) {
    const std::vector<float> x = make_scores(B * S * (T + 1), random), y = make_scores(B * (S + 1) * T, random);
    px = with_numbers(px, x);
    py = with_numbers(py, y);
    std::vector<float> numbers(static_cast<size_t>(cells), 0.25F), ans(static_cast<size_t>(B));
    const std::vector<int64_t> boundaries = values_of<int64_t>(boundary);
    if (!kForward) {
      const MutualInformationProblem problem{B,        S,        T,
                                             x.data(), y.data(), is_bounded ? boundaries.data() : nullptr};
      reference::mutual_information_forward(problem, numbers.data(), ans.data());
    }
    p = with_numbers(p, numbers);
  } else {
    // Backward: the shares of the two steps from a cell add up to about 1.
    px = with_uniform(px, r.seed, kForward ? -5 : -0.8, kForward ? 0 : -0.6);
    py = with_uniform(py, r.seed + 1, kForward ? -5 : -0.8, kForward ? 0 : -0.6);
    p = with_uniform(p, r.seed + 2, -0.125, 0.125);
  }
  c.inputs = {px, py};
  if (is_bounded) c.inputs.push_back(boundary);
  c.inputs.push_back(p);
  if (!kForward) c.inputs.push_back(ans_grad);
  const auto ids = kForward ? std::vector<const char*>{"ans"} : std::vector<const char*>{"px_grad", "py_grad"};
  for (const char* const id : ids) c.outputs.push_back(make_tensor(id, px.dtype));
  fit(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  const std::vector<std::string> cell = {"sequence", "symbol", "frame"}, sequence = {"sequence"};
  Operator forward;
  forward.name = "mutual_information_forward";
  forward.function = "mluOpMutualInformationForward";
  forward.query_function = "mluOpGetMutualInformationForwardWorkspaceSize";
  forward.tensors = {{"px", Role::kInput, cell, kAnyLayout},
                     {"py", Role::kInput, cell, kAnyLayout},
                     {"opt_boundary", Role::kInput, {"sequence", "bound"}, kAnyLayout},
                     {"p", Role::kInOut, cell, kAnyLayout},
                     {"ans", Role::kOutput, sequence, kAnyLayout}};
  forward.tensors[2].is_optional = true;
  // Frames less by one have another status.
  forward.tensors[0].free_dims = {2};
  forward.query = [](const Arguments& a, size_t* bytes) {
    return mluOpGetMutualInformationForwardWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc, a[3].desc,
                                                         a[4].desc, bytes);
  };
  forward.run = [](const Arguments& a) {
    return call(mluOpMutualInformationForward, a.handle, a[0], a[1], a[2], a[3], a.workspace, a.workspace_size,
                a[4]);
  };
  forward.expect = [](Arguments& a) {
    reference::mutual_information_forward(problem_of(a), a[3].as<float>(), a[4].as<float>());
  };
  // An exponential function and a logarithm for each cell.
  forward.work = [](const Arguments& a) {
    return Work{a[0].bytes() + a[1].bytes() + a[2].bytes(), a[3].bytes() + a[4].bytes(), 45 * a[3].count()};
  };
  forward.criteria = [](const Operand&, mluOpOmpAlgorithm_t) { return mean_errors(1e-4); };
  forward.refuses_200_series = true;
  forward.multiplies = true;
  forward.dtypes = {MLUOP_DTYPE_FLOAT};
  forward.sizes = {{"b", 3, 1, 9}, {"s", 6, 1, 70}, {"t", 9, 1, 140}, {"bounded", 1, 0, 1, false}};
  forward.parallel_sizes = {{{"b", 40}, {"s", 20}, {"t", 60}}, {{"b", 9}, {"s", 70}, {"t", 90}, {"bounded", 0}}};
  // Speech recognition after subsampling; the size of MLU-OPS's document.
  forward.networks = {{"32x100x400", {{"b", 32}, {"s", 100}, {"t", 400}, {"bounded", 0}}},
                      {"16x50x250", {{"b", 16}, {"s", 50}, {"t", 250}, {"bounded", 0}}},
                      {"4x15x104", {{"b", 4}, {"s", 15}, {"t", 104}, {"bounded", 0}}}};
  forward.make = make<true>;
  forward.fit = fit;
  const auto keep = [](Case& c, const std::vector<int64_t>& kept) {
    for (Tensor& input : c.inputs) input = slices_of(input, 0, kept);
  };
  const auto count = [](const Case& c) { return c.inputs[0].dims[0]; };
  forward.reductions = {{"sequences", count, keep, {{0, 0}}, {}}};

  Operator backward = forward;
  backward.name = "mutual_information_backward";
  backward.function = "mluOpMutualInformationBackward";
  backward.query_function = "mluOpGetMutualInformationBackwardWorkspaceSize";
  backward.tensors.resize(3);
  backward.tensors.push_back({"p", Role::kInput, cell, kAnyLayout});
  backward.tensors.push_back({"ans_grad", Role::kInOut, sequence, kAnyLayout});
  backward.tensors.push_back({"px_grad", Role::kOutput, cell, kAnyLayout});
  backward.tensors.push_back({"py_grad", Role::kOutput, cell, kAnyLayout});
  backward.parameter_messages = {"mutual_information_backward_param"};
  backward.query = [](const Arguments& a, size_t* bytes) {
    return mluOpGetMutualInformationBackwardWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc, a[3].desc,
                                                          a[4].desc, a.int32("overwrite_ans_grad") != 0, bytes);
  };
  backward.run = [](const Arguments& a) {
    return call(mluOpMutualInformationBackward, a.handle, a[0], a[1], a[2], a[3], a[4],
                a.int32("overwrite_ans_grad") != 0, a.workspace, a.workspace_size, a[5], a[6]);
  };
  backward.expect = [](Arguments& a) {
    reference::mutual_information_backward(problem_of(a), a[3].as<float>(), a[4].as<float>(),
                                           a.int32("overwrite_ans_grad") != 0, a[5].as<float>(), a[6].as<float>());
  };
  // Two exponential functions for each cell.
  backward.work = [](const Arguments& a) { return each_once(a, 5, 50 * a[3].count()); };
  backward.criteria = [](const Operand&, mluOpOmpAlgorithm_t) { return mean_errors(3e-4); };
  backward.sizes.push_back({"overwrite_ans_grad", 1, 0, 1, false});
  backward.make = make<false>;
  backward.reductions = {{"sequences", count, keep, {{0, 0}, {1, 0}}, {}}};
  return {forward, backward};
}

}  // namespace mluop::cases::mutual_information
