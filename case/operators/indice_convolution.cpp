#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "case/operators/shared/index_pair_reductions.h"
#include "case/operators/shared/index_pairs.h"
#include "reference/indice_convolution_backward.h"
#include "reference/indice_convolution_forward.h"

namespace mluop::cases::indice_convolution {
namespace {

using Sizes = reference::IndiceConvolutionForwardSizes;
using reference::FilterLayout;

// Inputs: features or output_grad, filters or output_grad, indice_pairs; then the output.
constexpr size_t kPairs = 2, kOutput = 3;

Sizes sizes_of(const Operand& filters, mluOpTensorLayout_t layout, int64_t num_act_in, int64_t num_act_out) {
  const size_t rank = filters.dims.size();
  const FilterDims dims = filter_dims(layout, rank);
  const int64_t D = rank == 5 ? filters.dim(dims.first_offset) : 1;
  const int64_t H = filters.dim(dims.first_offset + rank - 4), W = filters.dim(dims.first_offset + rank - 3);
  return {num_act_in, num_act_out, filters.dim(dims.Ci), filters.dim(dims.Co), D, H, W};
}

FilterLayout filter_layout(mluOpTensorLayout_t layout) {
  switch (filter_dims(layout, 5).first_offset) {
    case 1: return FilterLayout::kNdhwc;
    case 2: return FilterLayout::kNcdhw;
    default: return FilterLayout::kArray;
  }
}

// products: number of products of a pair, Ci * Co.
Work work_of(const Arguments& a, int64_t products) {
  const std::vector<int64_t>& numbers = a.parameters->list("indice_num");
  const int64_t pairs = std::accumulate(numbers.begin(), numbers.end(), int64_t{0});
  constexpr int64_t kPairBytes = 8;
  return {a[0].bytes() + a[1].bytes() + pairs * kPairBytes, a[kOutput].bytes(), 2 * pairs * products};
}

// Maximum number of pairs that name the same row of inputs (side 0) or outputs (side 1).
int64_t most_pairs_of_row(const Arguments& a, int64_t side) {
  const std::vector<int64_t>& numbers = a.parameters->list("indice_num");
  const int64_t L = a[kPairs].dim(2);
  std::map<int32_t, int64_t> counts;
  int64_t most = 0;
  for (size_t k = 0; k < numbers.size(); ++k) {
    const int32_t* rows = a[kPairs].as<int32_t>() + (2 * static_cast<int64_t>(k) + side) * L;
    for (int64_t l = 0; l < numbers[k]; ++l) {
      if (rows[l] >= 0) most = std::max(most, ++counts[rows[l]]);
    }
  }
  return most;
}

bool any_empty(const Arguments& a) {
  return std::any_of(a.tensors.begin(), a.tensors.end(), [](const Operand& t) { return t.count() == 0; });
}

void expect_forward(Arguments& a) {
  double* sums = sums_of(a[kOutput]);
  // The library has not checked the pairs.
  if (any_empty(a)) return;
  const Sizes sizes = sizes_of(a[1], a[1].layout, a[0].dim(0), a[kOutput].dim(0));
  with_element_type(a[0], [&]<class T>() {
    reference::indice_convolution_forward(sizes, a[0].as<const T>(), filter_layout(a[1].layout),
                                          a[1].as<const T>(), a[2].as<int32_t>(), indice_num(a, kPairs), 0,
                                          sizes.Co, sums);
  });
}

void fit_forward(Case& c) {
  const int64_t Co = c.inputs[1].dims[filter_dims(c.inputs[1]).Co];
  set_shape(c.outputs[0], {c.parameters.integer("num_active_out"), Co});
}

void expect_data(Arguments& a) {
  double* sums = sums_of(a[kOutput]);
  if (any_empty(a)) return;
  const Sizes sizes = sizes_of(a[1], a[1].layout, a[kOutput].dim(0), a[0].dim(0));
  with_element_type(a[0], [&]<class T>() {
    // [K, Ci, Co]
    std::vector<T> filters;
    for (int64_t k = 0; k < sizes.K(); ++k) {
      for (int64_t ci = 0; ci < sizes.Ci; ++ci) {
        for (int64_t co = 0; co < sizes.Co; ++co) {
          filters.push_back(a[1].as<T>()[filter_index(sizes, filter_layout(a[1].layout), k, ci, co)]);
        }
      }
    }
    const T* first = filters.data();
    reference::indice_convolution_backward_data(sizes, a[0].as<const T>(), first, a[2].as<int32_t>(),
                                                indice_num(a, kPairs), sums);
  });
}

void fit_data(Case& c) {
  const int64_t Ci = c.inputs[1].dims[filter_dims(c.inputs[1]).Ci];
  set_shape(c.outputs[0], {c.inputs[kPairs].dims[2], Ci});
}

// The dimensions of the filters are read by position.
void expect_filter(Arguments& a) {
  double* sums = sums_of(a[kOutput]);
  if (any_empty(a)) return;
  const Sizes sizes = sizes_of(a[kOutput], MLUOP_LAYOUT_ARRAY, a[0].dim(0), a[1].dim(0));
  with_element_type(a[0], [&]<class T>() {
    reference::indice_convolution_backward_filter(sizes, a[0].as<const T>(), a[1].as<const T>(),
                                                  a[2].as<int32_t>(), indice_num(a, kPairs), sums);
  });
}

void fit_filter(Case& c) {
  Dims filters = c.outputs[0].dims;
  filters[filters.size() - 2] = c.inputs[0].dims[1];
  filters[filters.size() - 1] = c.inputs[1].dims[1];
  set_shape(c.outputs[0], filters);
}

// Shared by the cases of the three operators.
struct Generated {
  Tensor features, output_grad, filters, indice_pairs;
  std::vector<int64_t> indice_num;
};

Generated generate(const Recipe& r) {
  const int64_t L = r["num_act_in"], Y = r["num_act_out"], Ci = r["ci"], Co = r["co"];
  // One pair in `skips` has a negative index; 0: no pair has.
  const int64_t skips = r["skips"], D = r["d"], H = r["h"], W = r["w"], K = checked_product({D, H, W});
  const int64_t places = checked_product({K, 2, L}) / 2;
  Integers random(r.seed);
  std::vector<int32_t> pairs(static_cast<size_t>(K * 2 * L), -1);
  std::vector<int64_t> numbers;
  for (int64_t k = 0; k < K; ++k) {
    numbers.push_back(places > r.max_inline ? L : L / 2 + random.below(L / 2 + 1));
    for (int64_t l = 0; l < numbers.back(); ++l) {
      pairs[static_cast<size_t>(2 * k * L + l)] = random.below(L);
      pairs[static_cast<size_t>((2 * k + 1) * L + l)] = random.below(Y);
      if (skips == 0 || random.below(skips) != 0) continue;
      pairs[static_cast<size_t>((2 * k + random.below(2)) * L + l)] = -1;
    }
  }
  const Tensor shape = make_tensor("indice_pairs", MLUOP_DTYPE_INT32, {K, 2, L});
  const Tensor indice_pairs = places > r.max_inline
                                  ? with_uniform(shape, r.seed, 0, static_cast<double>(std::min(L, Y)))
                                  : with_values(shape, pairs);
  return {with_uniform(make_tensor("features", r.dtype, {L, Ci}), r.seed + 1),
          with_uniform(make_tensor("output_grad", r.dtype, {Y, Co}), r.seed + 2),
          with_uniform(make_tensor("filters", r.dtype, {Co, D, H, W, Ci}, MLUOP_LAYOUT_NDHWC), r.seed + 3),
          indice_pairs, numbers};
}

Case make(const Recipe& r, const std::string& name, const std::string& message, std::vector<Tensor> inputs,
          Tensor output, const std::vector<int64_t>& indice_num) {
  Case c = new_case(name, r);
  c.parameters.message = message;
  c.inputs = std::move(inputs);
  c.outputs = {std::move(output)};
  c.parameters.set("inverse", 0);
  c.parameters.set("sub_m", 0);
  c.parameters.set("indice_num", indice_num);
  return c;
}

Case make_forward(const Recipe& r) {
  const Generated g = generate(r);
  Case c = make(r, "indice_convolution_forward", "indice_convolution_forward_param",
                {g.features, g.filters, g.indice_pairs}, make_tensor("features_out", r.dtype), g.indice_num);
  c.parameters.set("num_active_out", r["num_act_out"]);
  fit_forward(c);
  return c;
}

Case make_data(const Recipe& r) {
  const Generated g = generate(r);
  Case c = make(r, "indice_convolution_backward_data", "indice_convolution_backward_data_param",
                {g.output_grad, g.filters, g.indice_pairs}, make_tensor("input_grad", r.dtype), g.indice_num);
  fit_data(c);
  return c;
}

Case make_filter(const Recipe& r) {
  const Generated g = generate(r);
  const Dims filters = {r["d"], r["h"], r["w"], r["ci"], r["co"]};
  return make(r, "indice_convolution_backward_filter", "indice_convolution_backward_param",
              {g.features, g.output_grad, g.indice_pairs}, make_tensor("filters_grad", r.dtype, filters),
              g.indice_num);
}

}  // namespace

std::vector<Operator> operators() {
  const TensorRule features{"features", Role::kInput, {"input row", "channel"}};
  const TensorRule output_grad{"output_grad", Role::kInput, {"output row", "channel"}, {}, {0}};
  const TensorRule filters{"filters", Role::kInput, {}, {MLUOP_LAYOUT_NCDHW, MLUOP_LAYOUT_ARRAY}, {}, true};
  const TensorRule pairs{"indice_pairs", Role::kInput, {"offset", "side", "position"}};
  Operator forward;
  forward.name = "indice_convolution_forward";
  forward.refuses_200_series = true;
  forward.function = "mluOpIndiceConvolutionForward";
  forward.query_function = "mluOpGetIndiceConvolutionForwardWorkspaceSize";
  forward.tensors = {features, filters, pairs, {"features_out", Role::kOutput, {"output row", "channel"}}};
  forward.parameter_messages = {"indice_convolution_forward_param"};
  forward.query = [](const Arguments& a, size_t* bytes) {
    return mluOpGetIndiceConvolutionForwardWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc, a[3].desc,
                                                         indice_num(a, kPairs), a.integer("num_active_out"),
                                                         a.integer("inverse"), a.integer("sub_m"), bytes);
  };
  forward.run = [](const Arguments& a) {
    return call(mluOpIndiceConvolutionForward, a.handle, a[0], a[1], a[2], indice_num(a, kPairs),
                a.integer("num_active_out"), a.integer("inverse"), a.integer("sub_m"), a.workspace,
                a.workspace_size, a[3]);
  };
  forward.expect = expect_forward;
  forward.work = [](const Arguments& a) { return work_of(a, a[0].dim(1) * a[kOutput].dim(1)); };
  forward.terms = [](const Arguments& a) { return most_pairs_of_row(a, 1) * a[0].dim(1); };
  forward.criteria = [](const Operand& output, mluOpOmpAlgorithm_t algorithm) {
    return output.is_16_bit() ? sum_criteria(output, algorithm) : mean_errors(1e-5);
  };
  forward.has_device_algorithm = true;
  forward.atomic_sums = true;
  forward.sizes = {{"num_act_in", 40, 1, 3000},
                   {"num_act_out", 36, 1, 200},
                   {"ci", 8},
                   {"co", 16},
                   {"d", 1, 1, 3},
                   {"h", 3, 1, 3},
                   {"w", 3, 1, 5},
                   {"skips", 0, 0, 8, false}};
  forward.multiplies = true;
  forward.has_dot_products = true;
  forward.parallel_sizes = {
      {{"num_act_in", 500}, {"num_act_out", 400}, {"ci", 17}, {"co", 24}, {"d", 3}, {"h", 1}, {"w", 2}}};
  forward.make = make_forward;
  forward.fit = fit_forward;
  forward.reductions = {pairs_reduction(), input_rows_reduction(true),
                        output_rows_reduction(std::nullopt, {{0, 0}}),
                        channels_reduction("output channels", &FilterDims::Co, std::nullopt, {{0, 1}}),
                        channels_reduction("input channels", &FilterDims::Ci, 0)};
  Operator data = forward;
  data.name = "indice_convolution_backward_data";
  data.parallel_sizes = {
      {{"num_act_in", 500}, {"num_act_out", 400}, {"ci", 17}, {"co", 24}, {"d", 3}, {"h", 1}, {"w", 2}}};
  data.has_device_algorithm = data.atomic_sums = false;
  data.function = "mluOpIndiceConvolutionBackwardData";
  data.query_function = "mluOpGetIndiceConvolutionBackwardDataWorkspaceSize";
  data.tensors = {output_grad, filters, pairs, {"input_grad", Role::kOutput, {"input row", "channel"}}};
  data.parameter_messages = {"indice_convolution_backward_data_param"};
  data.query = [](const Arguments& a, size_t* bytes) {
    return mluOpGetIndiceConvolutionBackwardDataWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc, a[3].desc,
                                                              indice_num(a, kPairs), a.integer("inverse"), bytes);
  };
  data.run = [](const Arguments& a) {
    return call(mluOpIndiceConvolutionBackwardData, a.handle, a[0], a[1], a[2], indice_num(a, kPairs),
                a.integer("inverse"), a.integer("sub_m"), a.workspace, a.workspace_size, a[3]);
  };
  data.terms = [](const Arguments& a) { return most_pairs_of_row(a, 0) * a[0].dim(1); };
  data.expect = expect_data;
  data.make = make_data;
  data.fit = fit_data;
  data.reductions = {pairs_reduction(), input_rows_reduction(false, {{0, 0}}), output_rows_reduction(0),
                     channels_reduction("output channels", &FilterDims::Co, 0),
                     channels_reduction("input channels", &FilterDims::Ci, std::nullopt, {{0, 1}})};
  Operator filter = forward;
  filter.name = "indice_convolution_backward_filter";
  filter.parallel_sizes = {
      {{"num_act_in", 3000}, {"num_act_out", 400}, {"ci", 17}, {"co", 24}, {"d", 3}, {"h", 1}, {"w", 2}}};
  filter.has_device_algorithm = filter.atomic_sums = false;
  filter.function = "mluOpIndiceConvolutionBackwardFilter";
  filter.query_function = "mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize";
  filter.tensors = {features,
                    output_grad,
                    pairs,
                    {"filters_grad",
                     Role::kOutput,
                     {"depth", "height", "width", "input channel", "output channel"},
                     kAnyLayout,
                     {},
                     true}};
  filter.parameter_messages = {"indice_convolution_backward_param", "indice_convolution_backward_filter_param"};
  filter.query = [](const Arguments& a, size_t* bytes) {
    return mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc,
                                                                a[3].desc, indice_num(a, kPairs),
                                                                a.integer("inverse"), a.integer("sub_m"), bytes);
  };
  filter.run = [](const Arguments& a) {
    return call(mluOpIndiceConvolutionBackwardFilter, a.handle, a[0], a[1], a[2], indice_num(a, kPairs),
                a.integer("inverse"), a.integer("sub_m"), a.workspace, a.workspace_size, a[3]);
  };
  filter.terms = [](const Arguments& a) {
    const std::vector<int64_t>& numbers = a.parameters->list("indice_num");
    return numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
  };
  filter.expect = expect_filter;
  filter.work = [](const Arguments& a) { return work_of(a, a[0].dim(1) * a[1].dim(1)); };
  filter.make = make_filter;
  filter.fit = fit_filter;
  filter.reductions = {pairs_reduction(), input_rows_reduction(true), output_rows_reduction(1),
                       axis_reduction("output channels", {{1, 1}}, {{0, -1}}),
                       axis_reduction("input channels", {{0, 1}}, {{0, -2}})};
  return {forward, data, filter};
}

}  // namespace mluop::cases::indice_convolution
