#include "reference/indice_maxpool.h"

#include <algorithm>

#include "case/operators/shared/index_pairs.h"

namespace mluop::cases::indice_maxpool {
namespace {

reference::IndiceMaxpoolProblem problem_of(const Arguments& a, size_t pairs, const Operand& features_out) {
  return {a[pairs].dim(0), a[pairs].dim(2),        a[0].dim(0),         features_out.dim(0),
          a[0].dim(1),     a[pairs].as<int32_t>(), indice_num(a, pairs)};
}

void expect_forward(Arguments& a) {
  // The library has not checked the pairs.
  if (a[2].count() == 0) return;
  with_element_type(a[0], [&]<class T>() {
    reference::indice_maxpool_forward(problem_of(a, 1, a[2]), a[0].as<const T>(), a[2].as<T>());
  });
}

template <bool kBits>
void expect_backward(Arguments& a) {
  double* const sums = kBits ? nullptr : sums_of(a[4]);
  if (a[4].count() == 0) return;
  with_element_type(a[0], [&]<class T>() {
    const auto add = [&](auto* to) {
      reference::indice_maxpool_backward(problem_of(a, 3, a[1]), a[0].as<const T>(), a[1].as<const T>(),
                                         a[2].as<const T>(), to);
    };
    if constexpr (kBits) {
      add(a[4].as<T>());
    } else {
      add(sums);
    }
  });
}

// Small integers, so that many inputs equal their outputs.
Tensor with_integers(const Tensor& tensor, int32_t seed) {
  Integers random(seed);
  std::vector<float> numbers(static_cast<size_t>(element_count(tensor)));
  for (float& value : numbers) value = static_cast<float>(random.below(4) - 1);
  return with_numbers(tensor, numbers);
}

struct Generated {
  explicit Generated(const Recipe& r) {
    const int64_t N = r["n"], K = r["k"], skips = r["skips"];
    checked_product({K, 2, N});
    Integers random(r.seed);
    std::vector<int32_t> values(static_cast<size_t>(K * 2 * N), -1);
    for (int64_t k = 0; k < K; ++k) {
      indice_num.push_back(N / 2 + random.below(N / 2 + 1));
      for (int64_t l = 0; l < indice_num.back(); ++l) {
        const bool is_skipped = skips > 0 && random.below(skips) == 0;
        values[static_cast<size_t>(2 * k * N + l)] = is_skipped ? -1 : random.below(N);
        values[static_cast<size_t>((2 * k + 1) * N + l)] = random.below(r["m"]);
      }
    }
    pairs = with_values(make_tensor("indice_pairs", MLUOP_DTYPE_INT32, {K, 2, N}), values);
  }

  Tensor pairs;
  std::vector<int64_t> indice_num;
};

Case make_forward(const Recipe& r) {
  const Generated g(r);
  Case c = new_case("indice_maxpool_forward", r);
  c.parameters.message = "indice_maxpool_forward_param";
  c.parameters.set("indice_num", g.indice_num);
  c.inputs = {with_uniform(make_tensor("features", r.dtype, {r["n"], r["c"]}), r.seed + 1), g.pairs};
  c.outputs = {make_tensor("features_out", r.dtype, {r["m"], r["c"]})};
  return c;
}

Case make_backward(const Recipe& r) {
  const Generated g(r);
  Case c = new_case("indice_maxpool_backward", r);
  c.parameters.message = "indice_maxpool_backward_param";
  c.parameters.set("indice_num", g.indice_num);
  c.inputs = {with_integers(make_tensor("features", r.dtype, {r["n"], r["c"]}), r.seed + 1),
              with_integers(make_tensor("features_out", r.dtype, {r["m"], r["c"]}), r.seed + 2),
              with_uniform(make_tensor("output_grad", r.dtype, {r["m"], r["c"]}), r.seed + 3), g.pairs};
  c.outputs = {make_tensor("input_grad", r.dtype, {r["n"], r["c"]})};
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  const std::vector<std::string> inputs = {"input row", "channel"}, outputs = {"output row", "channel"};
  const TensorRule features{"features", Role::kInput, inputs},
      pairs{"indice_pairs", Role::kInput, {"offset", "side", "position"}, {}, {0}};
  Operator forward;
  forward.name = "indice_maxpool_forward";
  forward.function = "mluOpOmpIndiceMaxpoolForward";
  forward.tensors = {features, pairs, {"features_out", Role::kOutput, outputs, {}, {0}}};
  forward.parameter_messages = {"indice_maxpool_forward_param"};
  forward.run = [](const Arguments& a) {
    return call(mluOpOmpIndiceMaxpoolForward, a.handle, a[0], a[1], indice_num(a, 1), a[2]);
  };
  forward.expect = expect_forward;
  forward.sizes = {{"n", 40, 1, 1000}, {"m", 30, 1, 400}, {"c", 8}, {"k", 3, 1, 27}, {"skips", 0, 0, 8, false}};
  forward.parallel_sizes = {{{"n", 3000}, {"m", 900}, {"c", 17}, {"k", 9}}};
  forward.make = make_forward;
  forward.fit = [](Case& c) { set_shape(c.outputs[0], {c.outputs[0].dims[0], c.inputs[0].dims[1]}); };
  forward.reductions = {axis_reduction("channels", {{0, 1}}, {{0, 1}})};
  Operator backward;
  backward.name = "indice_maxpool_backward";
  backward.function = "mluOpOmpIndiceMaxpoolBackward";
  backward.tensors = {features,
                      {"features_out", Role::kInput, outputs},
                      {"output_grad", Role::kInput, outputs},
                      pairs,
                      {"input_grad", Role::kOutput, inputs}};
  backward.parameter_messages = {"indice_maxpool_backward_param"};
  backward.run = [](const Arguments& a) {
    return call(mluOpOmpIndiceMaxpoolBackward, a.handle, a[0], a[1], a[2], a[3], indice_num(a, 3), a[4]);
  };
  backward.expect = expect_backward<false>;
  backward.expect_bits = expect_backward<true>;
  // All pairs may name the same input.
  backward.terms = [](const Arguments& a) { return a[3].count() / 2; };
  backward.criteria = sum_criteria;
  backward.sizes = forward.sizes;
  backward.parallel_sizes = forward.parallel_sizes;
  backward.make = make_backward;
  backward.fit = [](Case& c) { set_shape(c.outputs[0], c.inputs[0].dims); };
  backward.reductions = {axis_reduction("channels", {{0, 1}, {1, 1}, {2, 1}}, {{0, 1}})};
  return {forward, backward};
}

}  // namespace mluop::cases::indice_maxpool
