#include "reference/sync_batch_norm.h"

#include <algorithm>
#include <cmath>

#include "case/description.h"

// The functions of MLU-OPS, whose tensors are rows of channels, and of mmcv, "sync_bn_...".
namespace mluop::cases::sync_batch_norm {
namespace {

using reference::ChannelShape;
using reference::to_f32;

// Sizes of generators: the number of dimensions in MLU-OPS, whether images are rows in mmcv, and whether optional
// tensors are present.
const SizeRule kDims = {"dims", 3, 2, 5, false}, kRows = {"rows", 0, 0, 1, false},
               kAffine = {"affine", 1, 0, 1, false}, kMoving = {"moving", 1, 0, 1, false};

ChannelShape rows_of(const Operand& x) {
  const int64_t C = x.dims.back();
  return {C == 0 ? 0 : x.count() / C, C, 1};
}

ChannelShape shape_of(const Operand& image) {
  return image.dims.size() == 2 ? rows_of(image) : ChannelShape{image.dim(0), image.dim(1), image.dim(2)};
}

double number(const Operand& tensor, int64_t i) {
  double value = 0;
  with_element_type(tensor, [&]<class T>() { value = to_f32(tensor.as<T>()[i]); });
  return value;
}

void put(double value, const Operand& tensor, int64_t i) {
  with_element_type(tensor, [&]<class T>() { reference::put(value, tensor.as<T>() + i); });
}

float real(const Arguments& a, const char* name) { return static_cast<float>(a.parameters->real(name)); }

Operand optional(const Operand& tensor) { return tensor.count() == 0 ? Operand{} : tensor; }

// x - center, or x + center where the tensors are magnitudes.
double distance(const Arguments& a, double x, double center) { return a.are_magnitudes ? x + center : x - center; }

// For each channel, adds of(c, i) of its elements.
template <class Of>
std::vector<double> sums_per_channel(const ChannelShape& shape, const Of& of) {
  std::vector<double> sums(static_cast<size_t>(shape.C));
  for_each_element(shape, [&](int64_t c, int64_t i) { sums[static_cast<size_t>(c)] += of(c, i); });
  return sums;
}

// Sets the oracle's results of a tensor per channel, as sums.
void set_sums(Operand& output, std::vector<double> sums, double terms) {
  for (double& sum : sums) sum = terms == 0 ? 0 : sum / terms;
  output.sums = std::move(sums);
}

double terms_of(const ChannelShape& shape) { return static_cast<double>(shape.terms()); }

void expect_stats(Arguments& a) {
  const ChannelShape shape = rows_of(a[0]);
  const double terms = terms_of(shape);
  set_sums(a[1], sums_per_channel(shape, [&](int64_t, int64_t i) { return number(a[0], i); }), terms);
  const auto squares = sums_per_channel(shape, [&](int64_t c, int64_t i) {
    const double off = number(a[0], i) - a[1].sums[static_cast<size_t>(c)];
    return off * off;
  });
  for (int64_t c = 0; c < shape.C; ++c) {
    const double var = squares[static_cast<size_t>(c)] / terms;
    put(terms == 0 ? 0 : 1 / std::sqrt(var + double{real(a, "eps")}), a[2], c);
  }
}

void expect_gathered(Arguments& a) {
  std::vector<double> counts;
  for (int64_t w = 0; w < a[4].count(); ++w) counts.push_back(number(a[4], w));
  const reference::GatheredStats stats{a[0].dim(0),      a[0].dim(1),   a[0].as<float>(),
                                       a[1].as<float>(), counts.data(), double{real(a, "eps")}};
  const double momentum = real(a, "momentum"), N = stats.count();
  for (int64_t c = 0; c < stats.C; ++c) {
    put(N == 0 ? 0 : stats.mean(c), a[5], c);
    put(N == 0 ? 0 : 1 / std::sqrt(stats.variance(c) + stats.eps), a[6], c);
    if (N == 0 || a[2].count() == 0) continue;
    const double unbiased = N > 1 ? stats.variance(c) * N / (N - 1) : stats.variance(c);
    // Rounded to float first.
    const auto move = [&](const Operand& moving, double now) {
      put(double{static_cast<float>(reference::moved(momentum, now, number(moving, c)))}, moving, c);
    };
    move(a[2], stats.mean(c));
    move(a[3], unbiased);
  }
}

void expect_elemt(Arguments& a) {
  for_each_element(rows_of(a[0]), [&](int64_t c, int64_t i) {
    const bool is_affine = a[3].count() > 0;
    const reference::Channel channel{a[1].as<float>()[c], a[2].as<float>()[c], is_affine ? a[3].as<float>()[c] : 1,
                                     is_affine ? a[4].as<float>()[c] : 0};
    put(double{channel.output(static_cast<float>(number(a[0], i)))}, a[5], i);
  });
}

void expect_reduced(Arguments& a) {
  const ChannelShape shape = rows_of(a[1]);
  const auto dy = sums_per_channel(shape, [&](int64_t, int64_t i) { return number(a[0], i); });
  const auto xmu = sums_per_channel(shape, [&](int64_t c, int64_t i) {
    return distance(a, number(a[1], i), double{a[2].as<float>()[c]}) * number(a[0], i);
  });
  std::vector<double> dfilter = xmu;
  for (int64_t c = 0; c < shape.C; ++c) {
    double& product = dfilter[static_cast<size_t>(c)];
    // Unlike the sums, products of three numbers may exceed the range of float.
    product = in_range_of_float(product * double{a[3].as<float>()[c]});
  }
  if (shape.N == 0) dfilter.assign(dfilter.size(), 0);
  if (a[4].count() > 0) a[4].sums = dfilter;
  if (a[5].count() > 0) a[5].sums = dy;
  if (a[6].count() > 0) a[6].sums = dy;
  if (a[7].count() > 0) a[7].sums = xmu;
}

// Writes the gradient of an element, from numbers that are rounded to float.
void put_gradient(const Operand& a, const Operand& b, int64_t i, float mean, double factor, double scale,
                  double offset, const Operand& output) {
  const reference::Channel channel{mean, static_cast<float>(factor), static_cast<float>(scale),
                                   static_cast<float>(offset)};
  put(double{channel.gradient(static_cast<float>(number(a, i)), static_cast<float>(number(b, i)))}, output, i);
}

template <bool kSums>
void expect_backward(Arguments& a) {
  double N = kSums ? 0 : 1;
  for (int64_t w = 0; kSums && w < a[7].count(); ++w) N += a[7].as<int32_t>()[w];
  for_each_element(rows_of(a[1]), [&](int64_t c, int64_t i) {
    const auto of_channel = [&](size_t tensor) { return double{a[tensor].as<float>()[c]}; };
    const double invstd = of_channel(3), filter = a[4].count() > 0 ? of_channel(4) : 1;
    put_gradient(a[0], a[1], i, a[2].as<float>()[c], invstd * invstd * (of_channel(6) / N), invstd * filter,
                 of_channel(5) / N, a[kSums ? 8 : 7]);
  });
}

void expect_mean(Arguments& a) {
  const ChannelShape shape = shape_of(a[0]);
  set_sums(a[1], sums_per_channel(shape, [&](int64_t, int64_t i) { return number(a[0], i); }), terms_of(shape));
}

void expect_var(Arguments& a) {
  const ChannelShape shape = shape_of(a[0]);
  const auto squares = sums_per_channel(shape, [&](int64_t c, int64_t i) {
    const double off = distance(a, number(a[0], i), double{a[1].as<float>()[c]});
    return off * off;
  });
  set_sums(a[2], squares, terms_of(shape));
}

void expect_output(Arguments& a) {
  const ChannelShape shape = shape_of(a[0]);
  const double n = terms_of(shape) * a.int32("group_size"), momentum = real(a, "momentum");
  for (int64_t c = 0; c < shape.C; ++c) {
    const auto move = [&](const Operand& moving, double now) {
      if (moving.count() > 0) put(reference::moved(momentum, now, number(moving, c)), moving, c);
    };
    const double var = number(a[2], c);
    put(std::sqrt(var + double{real(a, "eps")}), a[8], c);
    move(a[5], number(a[1], c));
    move(a[6], var * (n > 1 ? n / (n - 1) : 1));
  }
  for_each_element(shape, [&](int64_t c, int64_t i) {
    const double root = std::sqrt(number(a[2], c) + double{real(a, "eps")});
    const reference::Channel channel{a[1].as<float>()[c], static_cast<float>(1 / root),
                                     a[3].count() > 0 ? a[3].as<float>()[c] : 1,
                                     a[4].count() > 0 ? a[4].as<float>()[c] : 0};
    const auto x = static_cast<float>(number(a[0], i));
    a[7].as<float>()[i] = channel.norm(x);
    put(double{channel.output(x)}, a[9], i);
  });
}

void expect_param(Arguments& a) {
  const ChannelShape shape = shape_of(a[0]);
  a[2].sums = sums_per_channel(shape, [&](int64_t, int64_t i) { return number(a[0], i) * number(a[1], i); });
  a[3].sums = sums_per_channel(shape, [&](int64_t, int64_t i) { return number(a[0], i); });
}

void expect_data(Arguments& a) {
  const ChannelShape shape = shape_of(a[0]);
  for_each_element(shape, [&](int64_t c, int64_t i) {
    const auto of_channel = [&](size_t tensor) { return double{a[tensor].as<float>()[c]}; };
    const double weight = a[1].count() > 0 ? of_channel(1) : 1;
    put_gradient(a[0], a[4], i, 0, of_channel(2) / terms_of(shape), weight / of_channel(5),
                 of_channel(3) / terms_of(shape), a[6]);
  });
}

// A generator's tensors: `image` of the shape of the images, `channels` of [C].
class Maker {
 public:
  Maker(const char* op, const Recipe& r, bool is_of_mmcv) : made(new_case(op, r)), r_(r) {
    const int64_t N = r["n"], S = r["s"], C = r["c"];
    checked_product({N, S, C});
    if (is_of_mmcv) {
      dims_ = r["rows"] != 0 ? Dims{N * S, C} : Dims{N, C, S};
    } else {
      const Dims all[] = {{N * S, C}, {N, S, C}, {N, S, 1, C}, {N, 1, S, 1, C}};
      constexpr mluOpTensorLayout_t kLayouts[] = {MLUOP_LAYOUT_NC, MLUOP_LAYOUT_NLC, MLUOP_LAYOUT_NHWC,
                                                  MLUOP_LAYOUT_NDHWC};
      const auto at = static_cast<size_t>(std::clamp<int64_t>(r["dims"], 2, 5) - 2);
      dims_ = all[at];
      layout_ = kLayouts[at];
    }
  }

  void images(std::initializer_list<const char*> ids) {
    for (const char* id : ids) made.inputs.push_back(with_uniform(image(id, r_.dtype), seed()));
  }
  void norm() { made.inputs.push_back(with_uniform(image("norm", MLUOP_DTYPE_FLOAT), seed(), -2, 2)); }
  void channels(std::initializer_list<const char*> ids) {
    for (const char* id : ids) made.inputs.push_back(with_uniform(channel(id), seed(), 0.5, 2));
  }
  void image_output(const char* id, mluOpDataType_t dtype) { made.outputs.push_back(image(id, dtype)); }
  void channel_outputs(std::initializer_list<const char*> ids) {
    for (const char* id : ids) made.outputs.push_back(channel(id));
  }
  void parameters() { made.parameters.message = made.op_name + "_param"; }

  Case made;

 private:
  int32_t seed() { return r_.seed + static_cast<int32_t>(made.inputs.size()); }
  Tensor image(const char* id, mluOpDataType_t dtype) const { return make_tensor(id, dtype, dims_, layout_); }
  Tensor channel(const char* id) const { return make_tensor(id, MLUOP_DTYPE_FLOAT, {r_["c"]}); }

  const Recipe& r_;
  Dims dims_;
  mluOpTensorLayout_t layout_ = MLUOP_LAYOUT_ARRAY;
};

Case make_stats(const Recipe& r) {
  Maker maker("sync_batch_norm_stats_v2", r, false);
  maker.parameters();
  maker.made.parameters.set_real("eps", 0x1p-17);
  maker.images({"x"});
  maker.channel_outputs({"mean", "invstd"});
  return maker.made;
}

// One process in four has no rows.
Case make_gathered(const Recipe& r) {
  const int64_t W = r["w"], C = r["c"];
  checked_product({W, C});
  Case c = new_case("sync_batch_norm_gather_stats_with_counts", r);
  c.parameters.message = c.op_name + "_param";
  c.parameters.set_real("momentum", 0.125);
  c.parameters.set_real("eps", 0x1p-17);
  c.inputs = {with_uniform(make_tensor("mean_all", MLUOP_DTYPE_FLOAT, {W, C}), r.seed),
              with_uniform(make_tensor("invstd_all", MLUOP_DTYPE_FLOAT, {W, C}), r.seed + 1, 0.5, 2)};
  if (r["moving"] != 0) {
    for (const char* id : {"moving_mean", "moving_var"}) {
      c.inputs.push_back(with_uniform(make_tensor(id, r.dtype, {C}), r.seed + 2, 0, 2));
    }
  }
  Integers random(r.seed);
  std::vector<float> counts;
  for (int64_t w = 0; w < W; ++w) {
    counts.push_back(random.below(4) == 0 ? 0 : static_cast<float>(1 + random.below(100)));
  }
  c.inputs.push_back(with_numbers(make_tensor("count_all", r.dtype, {W}), counts));
  for (const char* id : {"mean", "invstd"}) c.outputs.push_back(make_tensor(id, MLUOP_DTYPE_FLOAT, {C}));
  return c;
}

Case make_elemt(const Recipe& r) {
  Maker maker("sync_batch_norm_elemt", r, false);
  maker.images({"x"});
  maker.channels({"mean", "invstd"});
  if (r["affine"] != 0) maker.channels({"filter", "bias"});
  maker.image_output("y", r.dtype);
  return maker.made;
}

// At least one output.
Case make_reduced(const Recipe& r) {
  Maker maker("sync_batch_norm_backward_reduce_v2", r, false);
  maker.parameters();
  const bool grad1 = r["grad1"] != 0, grad2 = r["grad2"] != 0, grad0 = r["grad0"] != 0 || (!grad1 && !grad2);
  maker.made.parameters.set("needs_input_grad0", grad0 ? 1 : 0);
  maker.made.parameters.set("needs_input_grad1", grad1 ? 1 : 0);
  maker.made.parameters.set("needs_input_grad2", grad2 ? 1 : 0);
  maker.images({"dz", "x"});
  maker.channels({"mean", "invstd"});
  if (grad1) maker.channel_outputs({"dfilter"});
  if (grad2) maker.channel_outputs({"dbias"});
  if (grad0) maker.channel_outputs({"sum_dy", "sum_dy_xmu"});
  return maker.made;
}

template <bool kSums>
Case make_backward(const Recipe& r) {
  Maker maker(kSums ? "sync_batch_norm_backward_elemt_v2" : "sync_batch_norm_backward_elemt", r, false);
  maker.images({"diff_y", "x"});
  maker.channels({"mean", "invstd"});
  if (r["affine"] != 0) maker.channels({"filter"});
  maker.channels(kSums ? std::initializer_list<const char*>{"sum_dy", "sum_dy_xmu"}
                       : std::initializer_list<const char*>{"mean_dy", "mean_dy_xmu"});
  if constexpr (kSums) {
    Integers random(r.seed);
    std::vector<int32_t> counts;
    for (int64_t w = 0; w < r["w"]; ++w) counts.push_back(1 + random.below(100));
    maker.made.inputs.push_back(with_values(make_tensor("count", MLUOP_DTYPE_INT32, {r["w"]}), counts));
  }
  maker.image_output("diff_x", r.dtype);
  return maker.made;
}

Case make_mean(const Recipe& r) {
  Maker maker("sync_bn_forward_mean", r, true);
  maker.images({"input"});
  maker.channel_outputs({"mean"});
  return maker.made;
}

Case make_var(const Recipe& r) {
  Maker maker("sync_bn_forward_var", r, true);
  maker.images({"input"});
  maker.channels({"mean"});
  maker.channel_outputs({"var"});
  return maker.made;
}

Case make_output(const Recipe& r) {
  Maker maker("sync_bn_forward_output", r, true);
  maker.parameters();
  maker.made.parameters.set_real("eps", 0x1p-17);
  maker.made.parameters.set_real("momentum", 0.125);
  maker.made.parameters.set("group_size", r["group_size"]);
  maker.images({"input"});
  maker.channels({"mean", "var"});
  if (r["affine"] != 0) maker.channels({"weight", "bias"});
  if (r["moving"] != 0) maker.channels({"running_mean", "running_var"});
  maker.image_output("norm", MLUOP_DTYPE_FLOAT);
  maker.channel_outputs({"std"});
  maker.image_output("output", r.dtype);
  return maker.made;
}

Case make_param(const Recipe& r) {
  Maker maker("sync_bn_backward_param", r, true);
  maker.images({"grad_output"});
  maker.norm();
  maker.channel_outputs({"grad_weight", "grad_bias"});
  return maker.made;
}

Case make_data(const Recipe& r) {
  Maker maker("sync_bn_backward_data", r, true);
  maker.images({"grad_output"});
  if (r["affine"] != 0) maker.channels({"weight"});
  maker.channels({"grad_weight", "grad_bias"});
  maker.norm();
  maker.channels({"std"});
  maker.image_output("grad_input", r.dtype);
  return maker.made;
}

template <bool kIsOfMmcv>
void fit(Case& c) {
  const Dims image = c.inputs[0].dims, channels = {kIsOfMmcv && image.size() == 3 ? image[1] : image.back()};
  for (Tensor& output : c.outputs) {
    const bool is_image = output.id == "y" || output.id == "diff_x" || output.id == "norm" ||
                          output.id == "output" || output.id == "grad_input";
    set_shape(output, is_image ? image : channels);
  }
}

const std::vector<std::string> kImage = {"row", "channel"}, kChannel = {"channel"};

TensorRule image(const char* id, Role role, bool is_of_mmcv, std::vector<size_t> free_dims = {}) {
  return {.id = id,
          .role = role,
          .axes = kImage,
          .other_layouts = is_of_mmcv ? kAnyLayout : std::vector<mluOpTensorLayout_t>(),
          .free_dims = std::move(free_dims)};
}

TensorRule channel(const char* id, Role role, bool is_optional = false) {
  return {.id = id, .role = role, .axes = kChannel, .other_layouts = kAnyLayout, .is_optional = is_optional};
}

constexpr auto kIn = Role::kInput, kOut = Role::kOutput, kInOut = Role::kInOut;

// An operator without tensors; sizes of the images of a batch in networks.
Operator described(const char* name, const char* function, bool is_of_mmcv) {
  Operator op;
  op.name = name;
  op.function = function;
  op.multiplies = true;
  op.sizes = {{"n", 3, 1, 9}, {"s", 7, 1, 300}, {"c", 6, 1, 300}, is_of_mmcv ? kRows : kDims};
  op.parallel_sizes = {{{"n", 8}, {"s", 500}, {"c", 70}}};
  if (is_of_mmcv) {
    op.parallel_sizes.push_back({{"n", 8}, {"s", 500}, {"c", 70}, {"rows", 1}});
    op.parallel_sizes.push_back({{"n", 1}, {"s", 40000}, {"c", 8}});
  }
  op.networks = {{"8x64x112x112", {{"n", 8}, {"s", 12544}, {"c", 64}}},
                 {"8x256x56x56", {{"n", 8}, {"s", 3136}, {"c", 256}}},
                 {"8x2048x7x7", {{"n", 8}, {"s", 49}, {"c", 2048}}}};
  op.fit = is_of_mmcv ? fit<true> : fit<false>;
  return op;
}

// Sums are in double: the result is rounded once, and one of its factors before.
void compare_sums(Operator& op) {
  op.criteria = sum_criteria;
  op.terms = [](const Arguments&) { return int64_t{4}; };
}

std::vector<Operator> of_mluops() {
  Operator stats = described("sync_batch_norm_stats_v2", "mluOpSyncBatchNormStats_v2", false);
  stats.aliases = {"sync_batch_norm_stats", "sync_batchnorm_stats"};
  stats.parameter_messages = {"sync_batch_norm_stats_v2_param", "sync_batch_norm_stats_param",
                              "sync_batchnorm_stats_param"};
  stats.query_function = "mluOpGetSyncBatchNormStatsWorkspaceSize";
  stats.tensors = {image("x", kIn, false, {0, 1}), channel("mean", kOut), channel("invstd", kOut)};
  stats.query = [](const Arguments& a, size_t* size) {
    return mluOpGetSyncBatchNormStatsWorkspaceSize(a.handle, a[0].desc, size);
  };
  stats.run = [](const Arguments& a) {
    return call(mluOpSyncBatchNormStats_v2, a.handle, a[0], a.workspace, a.workspace_size, real(a, "eps"), a[1],
                a[2]);
  };
  stats.expect = expect_stats;
  compare_sums(stats);
  stats.make = make_stats;
  stats.tensors[0].is_any_type = true;
  stats.reductions = {axis_reduction("rows", {{0, 0}})};

  Operator gathered =
      described("sync_batch_norm_gather_stats_with_counts", "mluOpSyncBatchNormGatherStatsWithCounts", false);
  gathered.aliases = {"sync_batchnorm_gather_stats_with_counts"};
  gathered.parameter_messages = {"sync_batch_norm_gather_stats_with_counts_param",
                                 "sync_batchnorm_gather_stats_with_counts_param"};
  gathered.tensors = {{"mean_all", kIn, {"process", "channel"}, kAnyLayout},
                      {"invstd_all", kIn, {"process", "channel"}, kAnyLayout},
                      channel("moving_mean", kInOut, true),
                      channel("moving_var", kInOut, true),
                      {"count_all", kIn, {"process"}, kAnyLayout},
                      channel("mean", kOut),
                      channel("invstd", kOut)};
  gathered.run = [](const Arguments& a) {
    return call(mluOpSyncBatchNormGatherStatsWithCounts, a.handle, a[0], a[1], optional(a[2]), optional(a[3]),
                real(a, "momentum"), real(a, "eps"), a[4], a[5], a[6]);
  };
  gathered.expect = expect_gathered;
  gathered.sizes = {{"w", 4, 1, 16}, {"c", 6, 1, 300}, kMoving};
  gathered.parallel_sizes = {{{"w", 8}, {"c", 20000}}};
  gathered.networks = {{"8x1024", {{"w", 8}, {"c", 1024}}}};
  gathered.make = make_gathered;

  Operator elemt = described("sync_batch_norm_elemt", "mluOpSyncBatchNormElemt", false);
  elemt.aliases = {"sync_batchnorm_elemt"};
  elemt.tensors = {image("x", kIn, false),       channel("mean", kIn),       channel("invstd", kIn),
                   channel("filter", kIn, true), channel("bias", kIn, true), image("y", kOut, false)};
  elemt.run = [](const Arguments& a) {
    return call(mluOpSyncBatchNormElemt, a.handle, a[0], a[1], a[2], optional(a[3]), optional(a[4]), a[5]);
  };
  elemt.expect = expect_elemt;
  elemt.sizes.push_back(kAffine);
  elemt.make = make_elemt;

  Operator reduced = described("sync_batch_norm_backward_reduce_v2", "mluOpSyncBatchNormBackwardReduce_v2", false);
  reduced.aliases = {"sync_batch_norm_backward_reduce", "sync_batchnorm_backward_reduce"};
  reduced.parameter_messages = {"sync_batch_norm_backward_reduce_v2_param",
                                "sync_batch_norm_backward_reduce_param", "sync_batchnorm_backward_reduce_param"};
  reduced.query_function = "mluOpGetSyncBatchNormBackwardReduceWorkspaceSize";
  reduced.tensors = {image("dz", kIn, false),       image("x", kIn, false),           channel("mean", kIn),
                     channel("invstd", kIn),        channel("dfilter", kOut, true),   channel("dbias", kOut, true),
                     channel("sum_dy", kOut, true), channel("sum_dy_xmu", kOut, true)};
  reduced.query = [](const Arguments& a, size_t* size) {
    return mluOpGetSyncBatchNormBackwardReduceWorkspaceSize(a.handle, a[1].desc, size);
  };
  reduced.run = [](const Arguments& a) {
    const auto needs = [&](const char* name) { return a.int32(name) != 0; };
    return call(mluOpSyncBatchNormBackwardReduce_v2, a.handle, a[0], a[1], a[2], a[3], a.workspace,
                a.workspace_size, a[4], a[5], a[6], a[7], needs("needs_input_grad0"), needs("needs_input_grad1"),
                needs("needs_input_grad2"));
  };
  reduced.expect = expect_reduced;
  compare_sums(reduced);
  for (const char* flag : {"grad0", "grad1", "grad2"}) reduced.sizes.push_back({flag, 1, 0, 1, false});
  reduced.make = make_reduced;

  Operator backward = described("sync_batch_norm_backward_elemt", "mluOpSyncBatchNormBackwardElemt", false);
  backward.aliases = {"sync_batchnorm_backward_elemt"};
  backward.tensors = {image("diff_y", kIn, false), image("x", kIn, false),       channel("mean", kIn),
                      channel("invstd", kIn),      channel("filter", kIn, true), channel("mean_dy", kIn),
                      channel("mean_dy_xmu", kIn), image("diff_x", kOut, false)};
  backward.run = [](const Arguments& a) {
    return call(mluOpSyncBatchNormBackwardElemt, a.handle, a[0], a[1], a[2], a[3], optional(a[4]), a[5], a[6],
                a[7]);
  };
  backward.expect = expect_backward<false>;
  backward.sizes.push_back(kAffine);
  backward.make = make_backward<false>;

  Operator backward_v2 = backward;
  backward_v2.name = "sync_batch_norm_backward_elemt_v2";
  backward_v2.function = "mluOpSyncBatchNormBackwardElemtV2";
  backward_v2.aliases = {"sync_batchnorm_backward_elemt_v2"};
  backward_v2.tensors[5] = channel("sum_dy", kIn);
  backward_v2.tensors[6] = channel("sum_dy_xmu", kIn);
  backward_v2.tensors.insert(backward_v2.tensors.begin() + 7,
                             TensorRule{"count", kIn, {"process"}, kAnyLayout, {0}});
  backward_v2.run = [](const Arguments& a) {
    return call(mluOpSyncBatchNormBackwardElemtV2, a.handle, a[0], a[1], a[2], a[3], optional(a[4]), a[5], a[6],
                a[7], a[8]);
  };
  backward_v2.expect = expect_backward<true>;
  backward_v2.sizes.push_back({"w", 2, 1, 9});
  backward_v2.make = make_backward<true>;
  return {stats, gathered, elemt, reduced, backward, backward_v2};
}

std::vector<Operator> of_mmcv() {
  Operator mean = described("sync_bn_forward_mean", "mluOpOmpSyncBnForwardMean", true);
  mean.tensors = {image("input", kIn, true, {0, 2}), channel("mean", kOut)};
  mean.run = [](const Arguments& a) { return call(mluOpOmpSyncBnForwardMean, a.handle, a[0], a[1]); };
  mean.expect = expect_mean;
  compare_sums(mean);
  mean.tensors[0].is_any_type = true;
  mean.make = make_mean;

  Operator var = described("sync_bn_forward_var", "mluOpOmpSyncBnForwardVar", true);
  var.tensors = {image("input", kIn, true, {0, 2}), channel("mean", kIn), channel("var", kOut)};
  var.run = [](const Arguments& a) { return call(mluOpOmpSyncBnForwardVar, a.handle, a[0], a[1], a[2]); };
  var.expect = expect_var;
  compare_sums(var);
  var.tensors[0].is_any_type = true;
  var.make = make_var;

  Operator output = described("sync_bn_forward_output", "mluOpOmpSyncBnForwardOutput", true);
  output.parameter_messages = {"sync_bn_forward_output_param"};
  output.tensors = {image("input", kIn, true),
                    channel("mean", kIn),
                    channel("var", kIn),
                    channel("weight", kIn, true),
                    channel("bias", kIn, true),
                    channel("running_mean", kInOut, true),
                    channel("running_var", kInOut, true),
                    image("norm", kOut, true),
                    channel("std", kOut),
                    image("output", kOut, true)};
  output.run = [](const Arguments& a) {
    return call(mluOpOmpSyncBnForwardOutput, a.handle, a[0], a[1], a[2], optional(a[3]), optional(a[4]),
                optional(a[5]), optional(a[6]), real(a, "eps"), real(a, "momentum"), a.int32("group_size"), a[7],
                a[8], a[9]);
  };
  output.expect = expect_output;
  output.sizes.insert(output.sizes.end(), {kAffine, kMoving, {"group_size", 2, 1, 4, false}});
  output.make = make_output;

  Operator param = described("sync_bn_backward_param", "mluOpOmpSyncBnBackwardParam", true);
  param.tensors = {image("grad_output", kIn, true), image("norm", kIn, true), channel("grad_weight", kOut),
                   channel("grad_bias", kOut)};
  param.run = [](const Arguments& a) {
    return call(mluOpOmpSyncBnBackwardParam, a.handle, a[0], a[1], a[2], a[3]);
  };
  param.expect = expect_param;
  compare_sums(param);
  param.tensors[0].is_any_type = true;
  param.make = make_param;

  Operator data = described("sync_bn_backward_data", "mluOpOmpSyncBnBackwardData", true);
  data.tensors = {image("grad_output", kIn, true), channel("weight", kIn, true), channel("grad_weight", kIn),
                  channel("grad_bias", kIn),       image("norm", kIn, true),     channel("std", kIn),
                  image("grad_input", kOut, true)};
  data.run = [](const Arguments& a) {
    return call(mluOpOmpSyncBnBackwardData, a.handle, a[0], optional(a[1]), a[2], a[3], a[4], a[5], a[6]);
  };
  data.expect = expect_data;
  data.sizes.push_back(kAffine);
  data.make = make_data;
  return {mean, var, output, param, data};
}

}  // namespace

std::vector<Operator> operators() {
  std::vector<Operator> all = of_mluops();
  for (Operator& op : of_mmcv()) all.push_back(std::move(op));
  return all;
}

}  // namespace mluop::cases::sync_batch_norm
