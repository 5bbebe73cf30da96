#include <algorithm>
#include <map>
#include <vector>

#include "case/operators/index_pair_reductions.h"
#include "case/operators/support.h"
#include "reference/indice_convolution_backward.h"
#include "reference/indice_convolution_forward.h"

namespace mluop::cases {
namespace {

using Sizes = reference::IndiceConvolutionForwardSizes;
using reference::FilterLayout;

// Inputs: features or output_grad, filters or output_grad, indice_pairs; then the output.
constexpr size_t kPairs = 2, kOutput = 3;

// indice_num, with a number for each offset: the library reads dim 0 of indice_pairs of them. Never null, which
// the library refuses.
const int64_t* indice_num(const Arguments& a) {
  static constexpr int64_t kNone = 0;
  const std::vector<int64_t>& numbers = a.parameters->list("indice_num");
  const int64_t offsets = a[kPairs].dims.empty() ? 0 : a[kPairs].dim(0);
  if (static_cast<int64_t>(numbers.size()) != offsets) {
    fail(a.parameters->place, "indice_num has " + std::to_string(numbers.size()) + " values, expected " +
                                  std::to_string(offsets) + ", dim 0 of indice_pairs");
  }
  return numbers.empty() ? &kNone : numbers.data();
}

Sizes sizes_of_filters(const Operand& filters, mluOpTensorLayout_t layout) {
  const FilterDims dims = filter_dims(layout, filters.dims.size());
  Sizes sizes{};
  sizes.D = filters.dims.size() == 5 ? filters.dim(dims.first_offset) : 1;
  sizes.H = filters.dim(dims.first_offset + filters.dims.size() - 4);
  sizes.W = filters.dim(dims.first_offset + filters.dims.size() - 3);
  sizes.Ci = filters.dim(dims.Ci);
  sizes.Co = filters.dim(dims.Co);
  return sizes;
}

FilterLayout filter_layout(mluOpTensorLayout_t layout) {
  const FilterDims dims = filter_dims(layout, 5);
  return dims.first_offset == 1   ? FilterLayout::kNdhwc
         : dims.first_offset == 2 ? FilterLayout::kNcdhw
                                  : FilterLayout::kArray;
}

Work work_of(const Arguments& a, const Sizes& sizes) {
  int64_t pairs = 0;
  for (const int64_t number : a.parameters->list("indice_num")) pairs += number;
  constexpr int64_t kPairBytes = 8;
  return {a[0].bytes() + a[1].bytes() + pairs * kPairBytes, a[kOutput].bytes(), 2 * pairs * sizes.Ci * sizes.Co};
}

std::vector<Criterion> criteria(const Operand& output, mluOpOmpAlgorithm_t) {
  return mean_errors(output.is_half() ? 3e-3 : 1e-5);
}

// The most pairs that name a row, of inputs (side 0) or of outputs (side 1).
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

// Forward.

mluOpStatus_t query_forward(const Arguments& a, size_t* bytes) {
  return mluOpGetIndiceConvolutionForwardWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc, a[3].desc,
                                                       indice_num(a), a.integer("num_active_out"),
                                                       a.integer("inverse"), a.integer("sub_m"), bytes);
}

mluOpStatus_t run_forward(const Arguments& a) {
  return mluOpIndiceConvolutionForward(a.handle, a[0].desc, a[0].data, a[1].desc, a[1].data, a[2].desc, a[2].data,
                                       indice_num(a), a.integer("num_active_out"), a.integer("inverse"),
                                       a.integer("sub_m"), a.workspace, a.workspace_size, a[3].desc, a[3].data);
}

void expect_forward(Arguments& a) {
  // The library has not checked the pairs.
  if (a[0].count() == 0 || a[kOutput].count() == 0) {
    set_zero(a[kOutput]);
    return;
  }
  Sizes sizes = sizes_of_filters(a[1], a[1].layout);
  sizes.num_act_in = a[0].dim(0);
  sizes.num_act_out = a[kOutput].dim(0);
  with_element_type(a[0], [&](auto element) {
    using T = decltype(element);
    reference::indice_convolution_forward(sizes, a[0].as<T>(), filter_layout(a[1].layout), a[1].as<T>(),
                                          a[2].as<int32_t>(), indice_num(a), 0, sizes.Co, sums_of(a[kOutput]));
  });
}

Work work_forward(const Arguments& a) { return work_of(a, sizes_of_filters(a[1], a[1].layout)); }

void fit_forward(Case& c) {
  const Tensor& filters = c.inputs[1];
  const int64_t Co = filters.dims[filter_dims(filters.layout, filters.dims.size()).Co];
  set_shape(c.outputs[0], {c.parameters.integer("num_active_out"), Co});
}

int64_t terms_forward(const Arguments& a) { return most_pairs_of_row(a, 1) * a[0].dim(1); }

// Backward data.

mluOpStatus_t query_data(const Arguments& a, size_t* bytes) {
  return mluOpGetIndiceConvolutionBackwardDataWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc, a[3].desc,
                                                            indice_num(a), a.integer("inverse"), bytes);
}

mluOpStatus_t run_data(const Arguments& a) {
  return mluOpIndiceConvolutionBackwardData(a.handle, a[0].desc, a[0].data, a[1].desc, a[1].data, a[2].desc,
                                            a[2].data, indice_num(a), a.integer("inverse"), a.integer("sub_m"),
                                            a.workspace, a.workspace_size, a[3].desc, a[3].data);
}

void expect_data(Arguments& a) {
  if (any_empty(a)) {
    set_zero(a[kOutput]);
    return;
  }
  Sizes sizes = sizes_of_filters(a[1], a[1].layout);
  sizes.num_act_in = a[kOutput].dim(0);
  sizes.num_act_out = a[0].dim(0);
  with_element_type(a[0], [&](auto element) {
    using T = decltype(element);
    // [K, Ci, Co]
    std::vector<T> filters;
    for (int64_t k = 0; k < sizes.K(); ++k) {
      for (int64_t ci = 0; ci < sizes.Ci; ++ci) {
        for (int64_t co = 0; co < sizes.Co; ++co) {
          filters.push_back(a[1].as<T>()[filter_index(sizes, filter_layout(a[1].layout), k, ci, co)]);
        }
      }
    }
    reference::indice_convolution_backward_data(sizes, static_cast<const T*>(a[0].as<T>()),
                                                static_cast<const T*>(filters.data()), a[2].as<int32_t>(),
                                                indice_num(a), sums_of(a[kOutput]));
  });
}

int64_t terms_data(const Arguments& a) { return most_pairs_of_row(a, 0) * a[0].dim(1); }

void fit_data(Case& c) {
  const Tensor& filters = c.inputs[1];
  const int64_t Ci = filters.dims[filter_dims(filters.layout, filters.dims.size()).Ci];
  set_shape(c.outputs[0], {c.inputs[kPairs].dims[2], Ci});
}

// Backward filter. The filters are read by the position of their dimensions.

mluOpStatus_t query_filter(const Arguments& a, size_t* bytes) {
  return mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize(a.handle, a[0].desc, a[1].desc, a[2].desc, a[3].desc,
                                                              indice_num(a), a.integer("inverse"),
                                                              a.integer("sub_m"), bytes);
}

mluOpStatus_t run_filter(const Arguments& a) {
  return mluOpIndiceConvolutionBackwardFilter(a.handle, a[0].desc, a[0].data, a[1].desc, a[1].data, a[2].desc,
                                              a[2].data, indice_num(a), a.integer("inverse"), a.integer("sub_m"),
                                              a.workspace, a.workspace_size, a[3].desc, a[3].data);
}

void expect_filter(Arguments& a) {
  if (any_empty(a)) {
    set_zero(a[kOutput]);
    return;
  }
  Sizes sizes = sizes_of_filters(a[kOutput], MLUOP_LAYOUT_ARRAY);
  sizes.num_act_in = a[0].dim(0);
  sizes.num_act_out = a[1].dim(0);
  with_element_type(a[0], [&](auto element) {
    using T = const decltype(element);
    reference::indice_convolution_backward_filter(sizes, a[0].as<T>(), a[1].as<T>(), a[2].as<int32_t>(),
                                                  indice_num(a), sums_of(a[kOutput]));
  });
}

Work work_filter(const Arguments& a) { return work_of(a, sizes_of_filters(a[kOutput], MLUOP_LAYOUT_ARRAY)); }

int64_t terms_filter(const Arguments& a) {
  const std::vector<int64_t>& numbers = a.parameters->list("indice_num");
  return numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
}

void fit_filter(Case& c) {
  Dims filters = c.outputs[0].dims;
  filters[filters.size() - 2] = c.inputs[0].dims[1];
  filters[filters.size() - 1] = c.inputs[1].dims[1];
  set_shape(c.outputs[0], filters);
}

// Generators.

enum class Kind { kForward, kData, kFilter };

template <Kind kKind>
Case make(const Recipe& r) {
  const int64_t L = r["num_act_in"], Y = r["num_act_out"], Ci = r["ci"], Co = r["co"];
  // One pair in `skips` has a negative index; 0: none has.
  const int64_t skips = r["skips"], D = r["d"], H = r["h"], W = r["w"], K = checked_product({D, H, W});
  const int64_t places = checked_product({K, 2, L}) / 2;
  Integers random(r.seed);
  Case c;
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
  const Tensor features = with_uniform(make_tensor("features", r.dtype, {L, Ci}), r.seed + 1);
  const Tensor output_grad = with_uniform(make_tensor("output_grad", r.dtype, {Y, Co}), r.seed + 2);
  const Tensor filters =
      with_uniform(make_tensor("filters", r.dtype, {Co, D, H, W, Ci}, MLUOP_LAYOUT_NDHWC), r.seed + 3);
  if constexpr (kKind == Kind::kForward) {
    c.op_name = "indice_convolution_forward";
    c.parameters.message = "indice_convolution_forward_param";
    c.parameters.set("num_active_out", Y);
    c.inputs = {features, filters, indice_pairs};
    c.outputs = {make_tensor("features_out", r.dtype, {Y, Co})};
  } else if constexpr (kKind == Kind::kData) {
    c.op_name = "indice_convolution_backward_data";
    c.parameters.message = "indice_convolution_backward_data_param";
    c.inputs = {output_grad, filters, indice_pairs};
    c.outputs = {make_tensor("input_grad", r.dtype, {L, Ci})};
  } else {
    c.op_name = "indice_convolution_backward_filter";
    c.parameters.message = "indice_convolution_backward_param";
    c.inputs = {features, output_grad, indice_pairs};
    c.outputs = {make_tensor("filters_grad", r.dtype, {D, H, W, Ci, Co})};
  }
  c.parameters.set("inverse", 0);
  c.parameters.set("sub_m", 0);
  c.parameters.set("indice_num", numbers);
  return c;
}

}  // namespace

std::vector<Operator> indice_convolution_operators() {
  const TensorRule features{"features", Role::kInput, {"input row", "channel"}};
  const TensorRule output_grad{"output_grad", Role::kInput, {"output row", "channel"}, {}, {0}};
  const TensorRule filters{"filters", Role::kInput, {}, {MLUOP_LAYOUT_NCDHW, MLUOP_LAYOUT_ARRAY}, {}, true};
  const TensorRule pairs{"indice_pairs", Role::kInput, {"offset", "side", "position"}};
  Operator forward;
  forward.name = "indice_convolution_forward";
  forward.function = "mluOpIndiceConvolutionForward";
  forward.query_function = "mluOpGetIndiceConvolutionForwardWorkspaceSize";
  forward.tensors = {features, filters, pairs, {"features_out", Role::kOutput, {"output row", "channel"}}};
  forward.parameter_messages = {"indice_convolution_forward_param"};
  forward.query = query_forward;
  forward.run = run_forward;
  forward.expect = expect_forward;
  forward.work = work_forward;
  forward.terms = terms_forward;
  forward.criteria = criteria;
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
  forward.make = make<Kind::kForward>;
  forward.reductions = {pairs_reduction(fit_forward), input_rows_reduction(true, fit_forward),
                        output_rows_reduction(std::nullopt, fit_forward),
                        channels_reduction("output channels", &FilterDims::Co, std::nullopt, fit_forward),
                        channels_reduction("input channels", &FilterDims::Ci, 0, fit_forward)};
  Operator data = forward;
  data.name = "indice_convolution_backward_data";
  data.has_device_algorithm = data.atomic_sums = false;
  data.function = "mluOpIndiceConvolutionBackwardData";
  data.query_function = "mluOpGetIndiceConvolutionBackwardDataWorkspaceSize";
  data.tensors = {output_grad, filters, pairs, {"input_grad", Role::kOutput, {"input row", "channel"}}};
  data.parameter_messages = {"indice_convolution_backward_data_param"};
  data.query = query_data;
  data.run = run_data;
  data.terms = terms_data;
  data.expect = expect_data;
  data.make = make<Kind::kData>;
  data.reductions = {pairs_reduction(fit_data), input_rows_reduction(false, fit_data),
                     output_rows_reduction(0, fit_data),
                     channels_reduction("output channels", &FilterDims::Co, 0, fit_data),
                     channels_reduction("input channels", &FilterDims::Ci, std::nullopt, fit_data)};
  Operator filter = forward;
  filter.name = "indice_convolution_backward_filter";
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
  filter.query = query_filter;
  filter.run = run_filter;
  filter.terms = terms_filter;
  filter.expect = expect_filter;
  filter.work = work_filter;
  filter.make = make<Kind::kFilter>;
  filter.reductions = {pairs_reduction(fit_filter), input_rows_reduction(true, fit_filter),
                       output_rows_reduction(1, fit_filter),
                       axis_reduction("output channels", {{1, 1}}, fit_filter),
                       axis_reduction("input channels", {{0, 1}}, fit_filter)};
  return {forward, data, filter};
}

}  // namespace mluop::cases
