#include "reference/dcn.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "case/api.h"
#include "case/description.h"

namespace mluop::cases::dcn {
namespace {

// Positions of the tensors that all operators share; the order of the other tensors depends on the operator.
constexpr size_t kInput = 0, kOffset = 1, kMask = 2;

template <size_t kCount>
std::array<int, kCount> values_of(const Parameters& parameters, const char* name) {
  const std::vector<int64_t>& values = parameters.list(name);
  if (values.size() != kCount) {
    fail(parameters.place, std::string(name) + " has " + std::to_string(values.size()) + " values, expected " +
                               std::to_string(kCount));
  }
  std::array<int, kCount> result;
  std::copy(values.begin(), values.end(), result.begin());
  return result;
}

// Sets the descriptor from the parameters.
mluOpStatus_t set(const Arguments& a, mluOpDCNDescriptor_t desc) {
  const auto pad = values_of<4>(*a.parameters, "pad");
  const auto stride = values_of<2>(*a.parameters, "stride"), dilation = values_of<2>(*a.parameters, "dilation");
  return mluOpSetDCNDescriptor(desc, a.int32("dimnb"), pad.data(), stride.data(), dilation.data(),
                               a.int32("deformable_group"), a.int32("conv_group"), a.int32("im2col_step"),
                               MLUOP_DTYPE_FLOAT);
}

// Calls body(desc) with a descriptor set from the parameters.
template <class Body>
mluOpStatus_t with_descriptor(const Arguments& a, const Body& body) {
  const DcnDescriptor desc;
  const mluOpStatus_t status = set(a, desc);
  return status == MLUOP_STATUS_SUCCESS ? body(mluOpDCNDescriptor_t{desc}) : status;
}

// The operand that a call passes for an optional tensor.
Operand optional(const Operand& tensor) { return tensor.count() == 0 ? Operand{} : tensor; }

int64_t output_extent(int64_t in, int pads, int64_t kernel, int stride, int dilation) {
  const int64_t room = in + pads - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

// input [N, H, W, Ci], filter [Co, kh, kw, Ci / groups].
reference::DcnProblem problem_of(const Parameters& parameters, const Dims& input, const Dims& filter) {
  const auto pad = values_of<4>(parameters, "pad");
  const auto stride = values_of<2>(parameters, "stride"), dilation = values_of<2>(parameters, "dilation");
  reference::DcnProblem p{};
  p.N = input[0];
  p.H = input[1];
  p.W = input[2];
  p.Ci = input[3];
  p.Co = filter[0];
  p.kernel_h = filter[1];
  p.kernel_w = filter[2];
  p.Ho = output_extent(p.H, pad[0] + pad[1], p.kernel_h, stride[0], dilation[0]);
  p.Wo = output_extent(p.W, pad[2] + pad[3], p.kernel_w, stride[1], dilation[1]);
  p.pad_top = pad[0];
  p.pad_left = pad[2];
  p.stride_h = stride[0];
  p.stride_w = stride[1];
  p.dilation_h = dilation[0];
  p.dilation_w = dilation[1];
  p.deformable_groups = parameters.integer("deformable_group");
  p.groups = parameters.integer("conv_group");
  return p;
}

template <class T>
const T* data_of(const Operand& tensor) {
  return tensor.count() == 0 ? nullptr : tensor.as<const T>();
}

template <class T>
reference::DcnSamples<T> samples_of(const Arguments& a) {
  return {a[kInput].as<const T>(), a[kOffset].as<const T>(), data_of<T>(a[kMask])};
}

// Null for an output that is absent from the case.
double* optional_sums(Operand& output) { return output.count() == 0 ? nullptr : sums_of(output); }

// Number of products that an element adds, including their factors: weights of four pixels, mask.
int64_t terms_of(int64_t products) { return 4 * products + 8; }

// The same if samples are factors. AVX512-BF16 rounds them: an error of 2^-8, equal to 2^16 roundings to fp32.
int64_t terms_of_samples(const Arguments& a, int64_t products) {
  return terms_of(products) + (a[kInput].dtype == MLUOP_DTYPE_BFLOAT16 ? int64_t{1} << 16 : 0);
}

Work work_of(const Arguments& a, size_t inputs, const Operand& filter, const Operand& output) {
  return each_once(a, inputs, 2 * output.count() * filter.count() / std::max<int64_t>(filter.dim(0), 1));
}

// Forward: input, offset, mask, filter, bias, output.

void expect_forward(Arguments& a) {
  double* const output = sums_of(a[5]);
  with_element_type(a[kInput], [&]<class T>() {
    reference::dcn_forward(problem_of(*a.parameters, a[kInput].dims, a[3].dims), samples_of<T>(a),
                           a[3].as<const T>(), data_of<T>(a[4]), output);
  });
}

// Backward data: input, offset, mask, filter, grad_output, grad_input, grad_offset, grad_mask.

void expect_data(Arguments& a) {
  double* const grad_input = sums_of(a[5]);
  double* const grad_offset = sums_of(a[6]);
  double* const grad_mask = optional_sums(a[7]);
  with_element_type(a[kInput], [&]<class T>() {
    reference::dcn_backward_data(problem_of(*a.parameters, a[kInput].dims, a[3].dims), samples_of<T>(a),
                                 a[3].as<const T>(), a[4].as<const T>(), a.are_magnitudes, grad_input, grad_offset,
                                 grad_mask);
  });
}

// Backward weight: input, offset, mask, grad_output, grad_filter, grad_bias.

void expect_weight(Arguments& a) {
  double* const grad_filter = sums_of(a[4]);
  double* const grad_bias = optional_sums(a[5]);
  with_element_type(a[kInput], [&]<class T>() {
    reference::dcn_backward_weight(problem_of(*a.parameters, a[kInput].dims, a[4].dims), samples_of<T>(a),
                                   a[3].as<const T>(), grad_filter, grad_bias);
  });
}

// Generator.

// Values that tests do not replace: positions, whose rounding decides which pixels are read, and factors of
// products of three, which would overflow if all were large.
Tensor with_fractions(Tensor tensor, int32_t seed, int64_t lowest, int64_t count, float unit) {
  constexpr int64_t kMaxInline = 1 << 17;
  if (element_count(tensor) > kMaxInline) {
    return with_uniform(tensor, seed, static_cast<double>(lowest) * unit,
                        static_cast<double>(lowest + count) * unit);
  }
  Integers random(seed);
  const auto draw = [&] { return static_cast<float>(lowest + random.below(count)) * unit; };
  const auto elements = static_cast<size_t>(element_count(tensor));
  std::vector<float> numbers(elements);
  std::generate(numbers.begin(), numbers.end(), draw);
  return with_numbers(std::move(tensor), numbers);
}

// Shared by the cases of the three operators.
struct Generated {
  reference::DcnProblem problem() const { return problem_of(made.parameters, input.dims, filter.dims); }
  Dims output_dims() const {
    const reference::DcnProblem p = problem();
    return {p.N, p.Ho, p.Wo, p.Co};
  }

  Case made;
  Tensor input, offset, mask, filter;
};

Generated generate(const std::string& name, const Recipe& r) {
  const int64_t lcm = std::lcm(r["groups"], r["deformable_groups"]);
  const int64_t Ci = checked_product({r["ci"], lcm}), Co = checked_product({r["co"], r["groups"]});
  const int64_t K = checked_product({r["kh"], r["kw"]});
  Generated g;
  g.made = new_case(name, r);
  Parameters& parameters = g.made.parameters;
  parameters.message = "dcn_param";
  parameters.set("dimnb", 4);
  // The padding at the end makes room for the filter.
  const auto pads = [&](int64_t in, int64_t kernel) {
    return std::max(r["pad"], r["dilation"] * (kernel - 1) + 1 - in - r["pad"]);
  };
  parameters.set("pad", {r["pad"], pads(r["h"], r["kh"]), r["pad"], pads(r["w"], r["kw"])});
  parameters.set("stride", {r["stride"], r["stride"]});
  parameters.set("dilation", {r["dilation"], r["dilation"]});
  parameters.set("deformable_group", r["deformable_groups"]);
  parameters.set("conv_group", r["groups"]);
  parameters.set("im2col_step", 1);
  g.input = with_uniform(make_tensor("input", r.dtype, {r["n"], r["h"], r["w"], Ci}, MLUOP_LAYOUT_NHWC), r.seed);
  g.filter = make_tensor("filter", r.dtype, {Co, r["kh"], r["kw"], Ci / r["groups"]}, MLUOP_LAYOUT_NHWC);
  const reference::DcnProblem p = g.problem();
  const int64_t samples = checked_product({K, r["deformable_groups"]});
  checked_product({p.N, p.Ho, p.Wo, std::max({2 * samples, Co, Ci})}, int64_t{1} << 40);
  // Quarters of pixels, so that some positions are exact pixels of the image.
  g.offset = with_fractions(make_tensor("offset", r.dtype, {p.N, p.Ho, p.Wo, 2 * samples}, MLUOP_LAYOUT_NHWC),
                            r.seed + 1, 0, 9, 0.25F);
  g.mask = with_fractions(make_tensor("mask", r.dtype, {p.N, p.Ho, p.Wo, samples}, MLUOP_LAYOUT_NHWC), r.seed + 2,
                          0, 9, 0.125F);
  g.made.inputs = {g.input, g.offset};
  if (r["mask"] != 0) g.made.inputs.push_back(g.mask);
  return g;
}

Tensor output_of(const std::string& id, const Tensor& like) {
  return make_tensor(id, like.dtype, like.dims, like.layout);
}

Case make_forward(const Recipe& r) {
  Generated g = generate("dcn_forward", r);
  g.made.inputs.push_back(with_uniform(g.filter, r.seed + 3));
  if (r["bias"] != 0) {
    g.made.inputs.push_back(with_uniform(make_tensor("bias", r.dtype, {g.filter.dims[0]}), r.seed + 4));
  }
  g.made.outputs = {make_tensor("output", r.dtype, g.output_dims(), MLUOP_LAYOUT_NHWC)};
  return g.made;
}

Case make_data(const Recipe& r) {
  Generated g = generate("dcn_backward_data", r);
  g.made.inputs.push_back(with_fractions(g.filter, r.seed + 3, -8, 17, 0.125F));
  g.made.inputs.push_back(
      with_uniform(make_tensor("grad_output", r.dtype, g.output_dims(), MLUOP_LAYOUT_NHWC), r.seed + 4));
  g.made.outputs = {output_of("grad_input", g.input), output_of("grad_offset", g.offset)};
  if (r["mask"] != 0) g.made.outputs.push_back(output_of("grad_mask", g.mask));
  return g.made;
}

Case make_weight(const Recipe& r) {
  Generated g = generate("dcn_backward_weight", r);
  g.made.inputs.push_back(
      with_uniform(make_tensor("grad_output", r.dtype, g.output_dims(), MLUOP_LAYOUT_NHWC), r.seed + 3));
  g.made.outputs = {output_of("grad_filter", g.filter)};
  if (r["bias"] != 0) g.made.outputs.push_back(make_tensor("grad_bias", r.dtype, {g.filter.dims[0]}));
  return g.made;
}

// The images of a case: the first dimension of all inputs except filter and bias.
Reduction image_reduction(std::vector<std::pair<size_t, int>> result_dims) {
  return {"images", [](const Case& c) { return c.inputs[0].dims[0]; },
          [](Case& c, const std::vector<int64_t>& kept) {
            for (Tensor& input : c.inputs) {
              if (input.id != "filter" && input.id != "bias") input = slices_of(input, 0, kept);
            }
          },
          std::move(result_dims)};
}

// Sets the number of images of the outputs that have this dimension.
void fit(Case& c) {
  for (Tensor& output : c.outputs) {
    if (output.id == "grad_filter" || output.id == "grad_bias") continue;
    Dims dims = output.dims;
    dims[0] = c.inputs[0].dims[0];
    set_shape(output, dims);
  }
}

}  // namespace

std::vector<Operator> operators() {
  const std::vector<std::string> pixels = {"image", "row", "column", "channel"},
                                 filters = {"output channel", "filter row", "filter column", "input channel"};
  const TensorRule input{"input", Role::kInput, pixels};
  TensorRule offset{"offset", Role::kInput, pixels};
  offset.keeps_signs = true;
  TensorRule mask{"mask", Role::kInput, pixels}, bias{"bias", Role::kInput, {"output channel"}, kAnyLayout};
  const TensorRule filter{"filter", Role::kInput, filters}, grad_output{"grad_output", Role::kInput, pixels};
  TensorRule grad_mask{"grad_mask", Role::kOutput, pixels},
      grad_bias{"grad_bias", Role::kOutput, {"output channel"}, kAnyLayout};
  for (TensorRule* rule : {&mask, &bias, &grad_mask, &grad_bias}) rule->is_optional = true;

  Operator forward;
  forward.name = "dcn_forward";
  forward.function = "mluOpDCNForward";
  forward.query_function = "mluOpGetDCNForwardWorkspaceSize";
  forward.tensors = {input, offset, mask, filter, bias, {"output", Role::kOutput, pixels}};
  forward.query = [](const Arguments& a, size_t* bytes) {
    return with_descriptor(a, [&](mluOpDCNDescriptor_t desc) {
      return mluOpGetDCNForwardWorkspaceSize(a.handle, desc, a[0].desc, a[1].desc, optional(a[2]).desc, a[3].desc,
                                             optional(a[4]).desc, a[5].desc, bytes);
    });
  };
  forward.run = [](const Arguments& a) {
    return with_descriptor(a, [&](mluOpDCNDescriptor_t desc) {
      return call(mluOpDCNForward, a.handle, desc, a[0], a[1], optional(a[2]), a[3], optional(a[4]), a.workspace,
                  a.workspace_size, a[5]);
    });
  };
  forward.expect = expect_forward;
  forward.terms = [](const Arguments& a) {
    return terms_of_samples(a, a[3].count() / std::max<int64_t>(a[3].dim(0), 1));
  };
  forward.work = [](const Arguments& a) { return work_of(a, 5, a[3], a[5]); };
  forward.criteria = sum_criteria;
  forward.multiplies = true;
  forward.has_dot_products = true;
  forward.parameter_messages = {"dcn_param", "dcn_forward_param"};
  forward.sizes = {{"n", 2, 1, 4},
                   {"h", 7, 1, 70},
                   {"w", 6, 1, 70},
                   {"ci", 3, 1, 70},
                   {"co", 4, 1, 70},
                   {"kh", 3, 1, 4},
                   {"kw", 2, 1, 4},
                   {"groups", 2, 1, 3, false},
                   {"deformable_groups", 2, 1, 3, false},
                   {"pad", 1, 0, 2, false},
                   {"stride", 1, 1, 3, false},
                   {"dilation", 1, 1, 3, false},
                   {"mask", 1, 0, 1, false},
                   {"bias", 1, 0, 1, false}};
  forward.parallel_sizes = {
      {{"h", 30}, {"w", 33}, {"ci", 20}, {"co", 12}, {"groups", 1}, {"deformable_groups", 1}},
      {{"h", 20}, {"w", 21}, {"ci", 12}, {"co", 9}, {"groups", 3}, {"deformable_groups", 2}, {"mask", 0}},
      {{"h", 12}, {"w", 14}, {"ci", 300}, {"co", 70}, {"groups", 1}, {"deformable_groups", 2}}};
  forward.make = make_forward;
  forward.fit = fit;
  forward.reductions = {image_reduction({{0, 0}})};

  Operator data = forward;
  data.name = "dcn_backward_data";
  data.function = "mluOpDCNBackwardData";
  data.query_function = "mluOpGetDCNBakcwardDataWorkspaceSize";
  data.tensors = {input,
                  offset,
                  mask,
                  filter,
                  grad_output,
                  {"grad_input", Role::kOutput, pixels},
                  {"grad_offset", Role::kOutput, pixels},
                  grad_mask};
  data.query = [](const Arguments& a, size_t* bytes) {
    return with_descriptor(a, [&](mluOpDCNDescriptor_t desc) {
      return mluOpGetDCNBakcwardDataWorkspaceSize(a.handle, desc, a[0].desc, a[1].desc, optional(a[2]).desc,
                                                  a[3].desc, a[4].desc, a[5].desc, a[6].desc, optional(a[7]).desc,
                                                  bytes);
    });
  };
  data.run = [](const Arguments& a) {
    return with_descriptor(a, [&](mluOpDCNDescriptor_t desc) {
      return call(mluOpDCNBackwardData, a.handle, desc, a[0], a[1], optional(a[2]), a[3], a[4], a.workspace,
                  a.workspace_size, a[5], a[6], optional(a[7]));
    });
  };
  data.expect = expect_data;
  // All samples of an image may read the same pixel.
  data.terms = [](const Arguments& a) { return terms_of(a[1].count() * a[3].dim(0) + a[0].dim(3)); };
  data.work = [](const Arguments& a) { return work_of(a, 5, a[3], a[4]); };
  data.parameter_messages = {"dcn_param", "dcn_backward_data_param"};
  data.make = make_data;
  data.reductions = {image_reduction({{0, 0}, {1, 0}, {2, 0}})};

  Operator weight = forward;
  weight.name = "dcn_backward_weight";
  weight.function = "mluOpDCNBackwardWeight";
  weight.query_function = "mluOpGetDCNBackwardWeightWorkspaceSize";
  weight.tensors = {input, offset, mask, grad_output, {"grad_filter", Role::kOutput, filters}, grad_bias};
  weight.query = [](const Arguments& a, size_t* bytes) {
    return with_descriptor(a, [&](mluOpDCNDescriptor_t desc) {
      return mluOpGetDCNBackwardWeightWorkspaceSize(a.handle, desc, a[0].desc, a[1].desc, optional(a[2]).desc,
                                                    a[3].desc, a[4].desc, optional(a[5]).desc, bytes);
    });
  };
  weight.run = [](const Arguments& a) {
    return with_descriptor(a, [&](mluOpDCNDescriptor_t desc) {
      return call(mluOpDCNBackwardWeight, a.handle, desc, a[0], a[1], optional(a[2]), a[3], a.workspace,
                  a.workspace_size, a[4], optional(a[5]));
    });
  };
  weight.expect = expect_weight;
  weight.terms = [](const Arguments& a) {
    return terms_of_samples(a, a[3].count() / std::max<int64_t>(a[3].dim(3), 1));
  };
  weight.work = [](const Arguments& a) { return work_of(a, 4, a[4], a[3]); };
  weight.parameter_messages = {"dcn_param", "dcn_backward_weight_param"};
  weight.make = make_weight;
  weight.reductions = {image_reduction({})};
  return {forward, data, weight};
}

}  // namespace mluop::cases::dcn
