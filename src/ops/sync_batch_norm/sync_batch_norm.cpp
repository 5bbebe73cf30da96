// The functions of MLU-OPS: rows of channels, channels last. Start with the entries at the end, then run_stats(),
// gather(), run_elemt(), run_reduce(), run_backward_elemt().
#include "ops/sync_batch_norm/sync_batch_norm.h"

#include <algorithm>
#include <cmath>

#include "core/checks.h"
#include "core/sizes.h"
#include "mlu_op.h"
#include "team/launch.h"

namespace mluop::sync_batch_norm {
namespace {

constexpr auto kBad = MLUOP_STATUS_BAD_PARAM;

std::optional<mluOpTensorLayout_t> layout_of(const TensorDescriptor* desc) {
  return desc == nullptr ? kAnyLayout : desc->layout;
}

// Requires an element type, and a layout in which C is the last dimension.
void require_rows(const TensorDescriptor& x) {
  require_element_type("x", x.dtype);
  constexpr struct {
    mluOpTensorLayout_t layout;
    int dims;
  } kLayouts[] = {{MLUOP_LAYOUT_NHWC, 4}, {MLUOP_LAYOUT_NDHWC, 5}, {MLUOP_LAYOUT_NC, 2}, {MLUOP_LAYOUT_NLC, 3}};
  const auto* const found = std::find_if(std::begin(kLayouts), std::end(kLayouts),
                                         [&](const auto& each) { return each.layout == x.layout; });
  require(found != std::end(kLayouts), kBad, "x has layout ", name_of(x.layout),
          ", expected NHWC, NDHWC, NC or NLC");
  require(x.dim_count == found->dims, kBad, "x has ", x.dim_count, " dimensions, expected ", found->dims);
}

// Requires that two optional tensors are both present or both absent.
template <class T>
void require_pair(std::string_view first_name, const Passed<T>& first, std::string_view second_name,
                  const Passed<T>& second) {
  const bool first_is_missing = first.is_missing();
  require(first_is_missing == second.is_missing(), kBad, first_is_missing ? first_name : second_name,
          " is missing, expected ", first_name, " and ", second_name, ", or neither");
}

mluOpStatus_t query(const char* function, mluOpHandle_t handle, const TensorDescriptor* x_desc, size_t* size) {
  return run_workspace_query(function, handle, size, [&](Call& call) {
    call.input("x", x_desc, nullptr);
    call.check_pointers();
    require_rows(*x_desc);
    call.check_tensors();
    return size_t{0};
  });
}

struct Workspace {
  void* data = nullptr;
  size_t size = 0;
};

mluOpStatus_t run_stats(const char* function, mluOpHandle_t handle, const Input& x, const Workspace& workspace,
                        float eps, const Output& mean, const Output& invstd) {
  return run_operator(function, handle, [&](Call& call) {
    const Shape shape = rows_of(x.desc);
    call.input("x", x.desc, x.data);
    call.parameter("eps", eps);
    call.output("mean", mean.desc, mean.data, kFloat, kAnyLayout, {shape.C});
    call.output("invstd", invstd.desc, invstd.data, kFloat, kAnyLayout, {shape.C});
    call.check_pointers();
    require_rows(*x.desc);
    call.check_tensors();
    call.workspace(workspace.data, workspace.size, 0);
    const SumScratch scratch = reserve_sums(call.context(), shape);
    const bool is_empty = shape.N == 0;
    if (!is_empty) set_shift(shape, x.desc->dtype, x.data, scratch.shift);
    const double* const sums = sum_squares(call, shape, x.desc->dtype, x.data, scratch);
    for (int64_t c = 0; c < shape.C; ++c) {
      const double M = static_cast<double>(shape.N), sum = sums[c], squares = sums[shape.C + c];
      // NaN remains NaN.
      const double var = std::max((squares - sum * (sum / M)) / M, 0.0);
      floats(mean)[c] = is_empty ? 0 : static_cast<float>(double{scratch.shift[c]} + sum / M);
      floats(invstd)[c] = is_empty ? 0 : static_cast<float>(1 / std::sqrt(var + double{eps}));
    }
  });
}

struct GatherArgs {
  int64_t W, C;
  const float *mean_all, *invstd_all;
  mluOpDataType_t dtype;  // of counts and moving statistics
  const void* counts;
  void *moving_mean, *moving_var;  // null: absent
  float momentum, eps;
  float *mean, *invstd;
};

// Work items: channels.
void gather(const GatherArgs& args, int64_t begin, int64_t end, Task&) {
  const auto count = [&](int64_t w) {
    return dispatch_dtype(args.dtype, [&](auto element) {
      return double{to_f32(static_cast<const decltype(element)*>(args.counts)[w])};
    });
  };
  const auto move = [&](void* moving, int64_t c, double now) {
    dispatch_dtype(args.dtype, [&](auto element) {
      auto* const to = static_cast<decltype(element)*>(moving) + c;
      const double momentum = args.momentum;
      round_to(static_cast<float>(momentum * now + (1 - momentum) * double{to_f32(*to)}), to);
    });
  };
  double N = 0;
  for (int64_t w = 0; w < args.W; ++w) N += count(w);
  for (int64_t c = begin; c < end; ++c) {
    // The sum of counts times number(w); counts of 0 add nothing, whatever the number is.
    const auto average = [&](const auto& number) {
      double sum = 0;
      for (int64_t w = 0; w < args.W; ++w) {
        if (count(w) != 0) sum += number(w * args.C + c) * count(w);
      }
      return N == 0 ? 0 : sum / N;
    };
    const double mean = average([&](int64_t i) { return double{args.mean_all[i]}; });
    const double var = std::max(average([&](int64_t i) {
                                  const double invstd = args.invstd_all[i], off = args.mean_all[i] - mean;
                                  return (1 / (invstd * invstd) - double{args.eps}) + off * off;
                                }),
                                0.0);
    args.mean[c] = static_cast<float>(mean);
    args.invstd[c] = N == 0 ? 0 : static_cast<float>(1 / std::sqrt(var + double{args.eps}));
    if (args.moving_mean == nullptr || N == 0) continue;
    move(args.moving_mean, c, mean);
    move(args.moving_var, c, N > 1 ? var * N / (N - 1) : var);
  }
}

void run_elemt(Call& call, const Input& x, const Input& mean, const Input& invstd, const Input& filter,
               const Input& bias, const Output& y) {
  const Shape shape = rows_of(x.desc);
  const auto dtype = dtype_of(x.desc);
  call.input("x", x.desc, x.data);
  call.input("mean", mean.desc, mean.data, kFloat, kAnyLayout, {shape.C});
  call.input("invstd", invstd.desc, invstd.data, kFloat, kAnyLayout, {shape.C});
  const auto* const filters =
      static_cast<const float*>(call.optional_input("filter", filter, kFloat, kAnyLayout, {shape.C}));
  const auto* const biases =
      static_cast<const float*>(call.optional_input("bias", bias, kFloat, kAnyLayout, {shape.C}));
  call.output_like("y", y, x.desc, dtype, layout_of(x.desc));
  if (has_no_elements(y.desc)) call.reads_nothing();
  call.check_pointers();
  require_rows(*x.desc);
  require_pair("filter", filter, "bias", bias);
  call.check_tensors();
  if (has_no_elements(y.desc)) return;
  const Channels channels = reserve_channels(call.context(), shape.C);
  for (int64_t c = 0; c < shape.C; ++c) {
    channels.mean[c] = floats(mean)[c];
    channels.factor[c] = floats(invstd)[c];
    channels.scale[c] = filters == nullptr ? 1 : filters[c];
    channels.offset[c] = filters == nullptr ? 0 : biases[c];
  }
  map_forward(call, shape, dtype, x.data, channels, nullptr, y.data);
}

// The tensors of a backward function, and the outputs of the sums.
struct Reduction {
  Input dz, x, mean, invstd;
  Workspace workspace;
  Output dfilter, dbias, sum_dy, sum_dy_xmu;
  bool needs_input_grad0, needs_input_grad1, needs_input_grad2;
};

mluOpStatus_t run_reduce(const char* function, mluOpHandle_t handle, const Reduction& r) {
  return run_operator(function, handle, [&](Call& call) {
    const Shape shape = rows_of(r.x.desc);
    const auto dtype = dtype_of(r.x.desc);
    const auto layout = layout_of(r.x.desc);
    call.input_like("dz", r.dz, r.x.desc, dtype, layout);
    call.input("x", r.x.desc, r.x.data);
    call.input("mean", r.mean.desc, r.mean.data, kFloat, kAnyLayout, {shape.C});
    call.input("invstd", r.invstd.desc, r.invstd.data, kFloat, kAnyLayout, {shape.C});
    const auto output = [&](const char* name, const Output& tensor, bool is_needed) {
      if (is_needed) call.output(name, tensor.desc, tensor.data, kFloat, kAnyLayout, {shape.C});
    };
    output("dfilter", r.dfilter, r.needs_input_grad1);
    output("dbias", r.dbias, r.needs_input_grad2);
    output("sum_dy", r.sum_dy, r.needs_input_grad0);
    output("sum_dy_xmu", r.sum_dy_xmu, r.needs_input_grad0);
    call.parameter("needs_input_grad0", r.needs_input_grad0);
    call.parameter("needs_input_grad1", r.needs_input_grad1);
    call.parameter("needs_input_grad2", r.needs_input_grad2);
    if (shape.N == 0) call.reads_nothing();
    call.check_pointers();
    require_rows(*r.x.desc);
    call.check_tensors();
    call.workspace(r.workspace.data, r.workspace.size, 0);
    const SumScratch scratch = reserve_sums(call.context(), shape);
    if (shape.N > 0) std::copy_n(floats(r.mean), shape.C, scratch.shift);
    const double* const sums = sum_products(call, shape, dtype, r.dz.data, r.x.data, false, scratch);
    for (int64_t c = 0; c < shape.C; ++c) {
      const double sum = sums[c], sum_of_products = sums[shape.C + c];
      if (r.needs_input_grad0) floats(r.sum_dy)[c] = static_cast<float>(sum);
      if (r.needs_input_grad0) floats(r.sum_dy_xmu)[c] = static_cast<float>(sum_of_products);
      if (r.needs_input_grad1) {
        floats(r.dfilter)[c] =
            shape.N == 0 ? 0 : static_cast<float>(sum_of_products * double{floats(r.invstd)[c]});
      }
      if (r.needs_input_grad2) floats(r.dbias)[c] = static_cast<float>(sum);
    }
  });
}

// dy, xmu: the means per channel, or, with counts, the sums, which are divided by the sum of all counts.
struct Terms {
  const char* dy_name;
  const char* xmu_name;
  Input dy, xmu;
  const Input* counts;
};

void run_backward_elemt(Call& call, const Input& diff_y, const Input& x, const Input& mean, const Input& invstd,
                        const Input& filter, const Terms& terms, const Output& diff_x) {
  const Shape shape = rows_of(x.desc);
  const auto dtype = dtype_of(x.desc);
  const auto layout = layout_of(x.desc);
  call.input_like("diff_y", diff_y, x.desc, dtype, layout);
  call.input("x", x.desc, x.data);
  call.input("mean", mean.desc, mean.data, kFloat, kAnyLayout, {shape.C});
  call.input("invstd", invstd.desc, invstd.data, kFloat, kAnyLayout, {shape.C});
  const auto* const filters =
      static_cast<const float*>(call.optional_input("filter", filter, kFloat, kAnyLayout, {shape.C}));
  call.input(terms.dy_name, terms.dy.desc, terms.dy.data, kFloat, kAnyLayout, {shape.C});
  call.input(terms.xmu_name, terms.xmu.desc, terms.xmu.data, kFloat, kAnyLayout, {shape.C});
  if (terms.counts != nullptr) {
    call.input("count", terms.counts->desc, terms.counts->data, MLUOP_DTYPE_INT32, kAnyLayout, {kAny});
  }
  call.output_like("diff_x", diff_x, x.desc, dtype, layout);
  if (has_no_elements(diff_x.desc)) call.reads_nothing();
  call.check_pointers();
  require_rows(*x.desc);
  call.check_tensors();
  if (has_no_elements(diff_x.desc)) return;
  int64_t count = terms.counts == nullptr ? 1 : 0;
  if (terms.counts != nullptr) {
    const auto* const counts = static_cast<const int32_t*>(terms.counts->data);
    for (int64_t w = 0; w < dim_of(terms.counts->desc, 0); ++w) count += counts[w];
  }
  const Channels channels = reserve_channels(call.context(), shape.C);
  for (int64_t c = 0; c < shape.C; ++c) {
    const double N = static_cast<double>(count), r = floats(invstd)[c];
    channels.mean[c] = floats(mean)[c];
    channels.factor[c] = static_cast<float>(r * r * (double{floats(terms.xmu)[c]} / N));
    channels.scale[c] = static_cast<float>(r * (filters == nullptr ? 1 : double{filters[c]}));
    channels.offset[c] = static_cast<float>(double{floats(terms.dy)[c]} / N);
  }
  map_backward(call, shape, dtype, diff_y.data, x.data, false, channels, diff_x.data);
}

}  // namespace
}  // namespace mluop::sync_batch_norm

mluOpStatus_t MLUOP_WIN_API mluOpGetSyncBatchNormStatsWorkspaceSize(mluOpHandle_t handle,
                                                                    const mluOpTensorDescriptor_t x_desc,
                                                                    size_t* workspace_size) {
  return mluop::sync_batch_norm::query("mluOpGetSyncBatchNormStatsWorkspaceSize", handle, x_desc, workspace_size);
}

mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchNormStats_v2(mluOpHandle_t handle, const mluOpTensorDescriptor_t x_desc,
                                                       const void* x, void* workspace, size_t workspace_size,
                                                       const float eps, const mluOpTensorDescriptor_t mean_desc,
                                                       void* mean, const mluOpTensorDescriptor_t invstd_desc,
                                                       void* invstd) {
  return mluop::sync_batch_norm::run_stats("mluOpSyncBatchNormStats_v2", handle, {x_desc, x},
                                           {workspace, workspace_size}, eps, {mean_desc, mean},
                                           {invstd_desc, invstd});
}

mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchNormStats(mluOpHandle_t handle, const mluOpTensorDescriptor_t x_desc,
                                                    const void* x, const float eps,
                                                    const mluOpTensorDescriptor_t mean_desc, void* mean,
                                                    const mluOpTensorDescriptor_t invstd_desc, void* invstd) {
  return mluop::sync_batch_norm::run_stats("mluOpSyncBatchNormStats", handle, {x_desc, x}, {}, eps,
                                           {mean_desc, mean}, {invstd_desc, invstd});
}

mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchNormGatherStatsWithCounts(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t mean_all_desc, const void* mean_all,
    const mluOpTensorDescriptor_t invstd_all_desc, const void* invstd_all,
    const mluOpTensorDescriptor_t moving_mean_desc, void* moving_mean,
    const mluOpTensorDescriptor_t moving_var_desc, void* moving_var, float momentum, float eps,
    const mluOpTensorDescriptor_t count_all_desc, const void* count_all, const mluOpTensorDescriptor_t mean_desc,
    void* mean, const mluOpTensorDescriptor_t invstd_desc, void* invstd) {
  using namespace mluop;
  using namespace mluop::sync_batch_norm;
  return run_operator("mluOpSyncBatchNormGatherStatsWithCounts", handle, [&](Call& call) {
    const int64_t W = dim_of(mean_all_desc, 0), C = dim_of(mean_all_desc, 1);
    const auto dtype = dtype_of(count_all_desc);
    const Output means{moving_mean_desc, moving_mean}, vars{moving_var_desc, moving_var};
    call.input("mean_all", mean_all_desc, mean_all, kFloat, kAnyLayout, {kAny, kAny});
    call.input("invstd_all", invstd_all_desc, invstd_all, kFloat, kAnyLayout, {W, C});
    if (!means.is_missing()) call.inout("moving_mean", moving_mean_desc, moving_mean, dtype, kAnyLayout, {C});
    if (!vars.is_missing()) call.inout("moving_var", moving_var_desc, moving_var, dtype, kAnyLayout, {C});
    call.parameter("momentum", momentum);
    call.parameter("eps", eps);
    call.input("count_all", count_all_desc, count_all, dtype, kAnyLayout, {W});
    call.output("mean", mean_desc, mean, kFloat, kAnyLayout, {C});
    call.output("invstd", invstd_desc, invstd, kFloat, kAnyLayout, {C});
    if (has_no_elements(mean_desc)) call.reads_nothing();
    call.check_pointers();
    require_element_type("count_all", dtype);
    require_pair("moving_mean", means, "moving_var", vars);
    call.check_tensors();
    call.context().reserve(0);
    const GatherArgs args{W,
                          C,
                          static_cast<const float*>(mean_all),
                          static_cast<const float*>(invstd_all),
                          dtype,
                          count_all,
                          means.is_missing() ? nullptr : moving_mean,
                          moving_var,
                          momentum,
                          eps,
                          static_cast<float*>(mean),
                          static_cast<float*>(invstd)};
    const int task_dim = choose_task_dim(C, saturated_product({W, C, 32}));
    launch<GatherArgs>(call.context(), "gather", task_dim, Evenly{C}, gather, args);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchNormElemt(mluOpHandle_t handle, const mluOpTensorDescriptor_t x_desc,
                                                    const void* x, const mluOpTensorDescriptor_t mean_desc,
                                                    const void* mean, const mluOpTensorDescriptor_t invstd_desc,
                                                    const void* invstd, const mluOpTensorDescriptor_t filter_desc,
                                                    const void* filter, const mluOpTensorDescriptor_t bias_desc,
                                                    const void* bias, const mluOpTensorDescriptor_t y_desc,
                                                    void* y) {
  return mluop::run_operator("mluOpSyncBatchNormElemt", handle, [&](mluop::Call& call) {
    mluop::sync_batch_norm::run_elemt(call, {x_desc, x}, {mean_desc, mean}, {invstd_desc, invstd},
                                      {filter_desc, filter}, {bias_desc, bias}, {y_desc, y});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetSyncBatchNormBackwardReduceWorkspaceSize(mluOpHandle_t handle,
                                                                             const mluOpTensorDescriptor_t x_desc,
                                                                             size_t* workspace_size) {
  return mluop::sync_batch_norm::query("mluOpGetSyncBatchNormBackwardReduceWorkspaceSize", handle, x_desc,
                                       workspace_size);
}

mluOpStatus_t MLUOP_WIN_API mluOpGetSyncBatchnormBackwardReduceWorkspaceSize(mluOpHandle_t handle,
                                                                             const mluOpTensorDescriptor_t x_desc,
                                                                             size_t* workspace_size) {
  return mluop::sync_batch_norm::query("mluOpGetSyncBatchnormBackwardReduceWorkspaceSize", handle, x_desc,
                                       workspace_size);
}

mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchNormBackwardReduce_v2(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t dz_desc, const void* dz,
    const mluOpTensorDescriptor_t x_desc, const void* x, const mluOpTensorDescriptor_t mean_desc, const void* mean,
    const mluOpTensorDescriptor_t invstd_desc, const void* invstd, void* workspace, size_t workspace_size,
    const mluOpTensorDescriptor_t dfilter_desc, void* dfilter, const mluOpTensorDescriptor_t dbias_desc,
    void* dbias, const mluOpTensorDescriptor_t sum_dy_desc, void* sum_dy,
    const mluOpTensorDescriptor_t sum_dy_xmu_desc, void* sum_dy_xmu, const bool needs_input_grad0,
    const bool needs_input_grad1, const bool needs_input_grad2) {
  return mluop::sync_batch_norm::run_reduce("mluOpSyncBatchNormBackwardReduce_v2", handle,
                                            {{dz_desc, dz},
                                             {x_desc, x},
                                             {mean_desc, mean},
                                             {invstd_desc, invstd},
                                             {workspace, workspace_size},
                                             {dfilter_desc, dfilter},
                                             {dbias_desc, dbias},
                                             {sum_dy_desc, sum_dy},
                                             {sum_dy_xmu_desc, sum_dy_xmu},
                                             needs_input_grad0,
                                             needs_input_grad1,
                                             needs_input_grad2});
}

mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchNormBackwardReduce(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t dz_desc, const void* dz,
    const mluOpTensorDescriptor_t x_desc, const void* x, const mluOpTensorDescriptor_t mean_desc, const void* mean,
    const mluOpTensorDescriptor_t invstd_desc, const void* invstd, const mluOpTensorDescriptor_t dfilter_desc,
    void* dfilter, const mluOpTensorDescriptor_t dbias_desc, void* dbias,
    const mluOpTensorDescriptor_t sum_dy_desc, void* sum_dy, const mluOpTensorDescriptor_t sum_dy_xmu_desc,
    void* sum_dy_xmu, const bool needs_input_grad0, const bool needs_input_grad1, const bool needs_input_grad2) {
  return mluop::sync_batch_norm::run_reduce("mluOpSyncBatchNormBackwardReduce", handle,
                                            {{dz_desc, dz},
                                             {x_desc, x},
                                             {mean_desc, mean},
                                             {invstd_desc, invstd},
                                             {},
                                             {dfilter_desc, dfilter},
                                             {dbias_desc, dbias},
                                             {sum_dy_desc, sum_dy},
                                             {sum_dy_xmu_desc, sum_dy_xmu},
                                             needs_input_grad0,
                                             needs_input_grad1,
                                             needs_input_grad2});
}

mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchnormBackwardReduce_v2(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t dz_desc, const void* dz,
    const mluOpTensorDescriptor_t x_desc, const void* x, const mluOpTensorDescriptor_t mean_desc, const void* mean,
    const mluOpTensorDescriptor_t invstd_desc, const void* invstd, void* workspace, size_t workspace_size,
    const mluOpTensorDescriptor_t dfilter_desc, void* dfilter, const mluOpTensorDescriptor_t dbias_desc,
    void* dbias, const mluOpTensorDescriptor_t sum_dy_desc, void* sum_dy,
    const mluOpTensorDescriptor_t sum_dy_xmu_desc, void* sum_dy_xmu, const bool needs_input_grad0,
    const bool needs_input_grad1, const bool needs_input_grad2) {
  return mluOpSyncBatchNormBackwardReduce_v2(handle, dz_desc, dz, x_desc, x, mean_desc, mean, invstd_desc, invstd,
                                             workspace, workspace_size, dfilter_desc, dfilter, dbias_desc, dbias,
                                             sum_dy_desc, sum_dy, sum_dy_xmu_desc, sum_dy_xmu, needs_input_grad0,
                                             needs_input_grad1, needs_input_grad2);
}

mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchnormBackwardReduce(
    mluOpHandle_t, const mluOpTensorDescriptor_t, const void*, const mluOpTensorDescriptor_t, const void*,
    const mluOpTensorDescriptor_t, const void*, const mluOpTensorDescriptor_t, const void*,
    const mluOpTensorDescriptor_t, void*, const mluOpTensorDescriptor_t, void*, const mluOpTensorDescriptor_t,
    void*, const mluOpTensorDescriptor_t, void*, const bool, const bool, const bool) {
  return mluop::run_guarded("mluOpSyncBatchnormBackwardReduce", [] {
    throw mluop::Failure(MLUOP_STATUS_NOT_SUPPORTED,
                         "this spelling is not supported, expected mluOpSyncBatchNormBackwardReduce");
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchNormBackwardElemt(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t diff_y_desc, const void* diff_y,
    const mluOpTensorDescriptor_t x_desc, const void* x, const mluOpTensorDescriptor_t mean_desc, const void* mean,
    const mluOpTensorDescriptor_t invstd_desc, const void* invstd, const mluOpTensorDescriptor_t filter_desc,
    const void* filter, const mluOpTensorDescriptor_t mean_dy_desc, const void* mean_dy,
    const mluOpTensorDescriptor_t mean_dy_xmu_desc, const void* mean_dy_xmu,
    const mluOpTensorDescriptor_t diff_x_desc, void* diff_x) {
  return mluop::run_operator("mluOpSyncBatchNormBackwardElemt", handle, [&](mluop::Call& call) {
    mluop::sync_batch_norm::run_backward_elemt(
        call, {diff_y_desc, diff_y}, {x_desc, x}, {mean_desc, mean}, {invstd_desc, invstd}, {filter_desc, filter},
        {"mean_dy", "mean_dy_xmu", {mean_dy_desc, mean_dy}, {mean_dy_xmu_desc, mean_dy_xmu}, nullptr},
        {diff_x_desc, diff_x});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpSyncBatchNormBackwardElemtV2(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t diff_y_desc, const void* diff_y,
    const mluOpTensorDescriptor_t x_desc, const void* x, const mluOpTensorDescriptor_t mean_desc, const void* mean,
    const mluOpTensorDescriptor_t invstd_desc, const void* invstd, const mluOpTensorDescriptor_t filter_desc,
    const void* filter, const mluOpTensorDescriptor_t sum_dy_desc, const void* sum_dy,
    const mluOpTensorDescriptor_t sum_dy_xmu_desc, const void* sum_dy_xmu,
    const mluOpTensorDescriptor_t count_desc, const void* count, const mluOpTensorDescriptor_t diff_x_desc,
    void* diff_x) {
  return mluop::run_operator("mluOpSyncBatchNormBackwardElemtV2", handle, [&](mluop::Call& call) {
    const mluop::Input counts{count_desc, count};
    mluop::sync_batch_norm::run_backward_elemt(
        call, {diff_y_desc, diff_y}, {x_desc, x}, {mean_desc, mean}, {invstd_desc, invstd}, {filter_desc, filter},
        {"sum_dy", "sum_dy_xmu", {sum_dy_desc, sum_dy}, {sum_dy_xmu_desc, sum_dy_xmu}, &counts},
        {diff_x_desc, diff_x});
  });
}
