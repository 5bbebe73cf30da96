// mluOpIndiceConvolutionForward and its workspace query: entry and checks.
#include <functional>
#include <numeric>

#include "core/boundary.h"
#include "core/checks.h"
#include "core/dtype.h"
#include "core/log.h"
#include "ops/indice_convolution_forward/plan.h"

namespace mluop {
namespace {

using indice_convolution_forward::Args;

// What both functions take.
struct Call {
  const TensorDescriptor *features, *filters, *indice_pairs, *features_out;
  const int64_t* indice_num;
  int64_t num_act_out, inverse, sub_m;
};

// Filters and pairs below these make sizes of workspaces that int64_t holds.
constexpr int64_t kMaxFilterBytes = int64_t{1} << 56;
constexpr int64_t kMaxCount = int64_t{1} << 31;

// Where a layout has the channels; the offsets lie where these are not.
struct FilterLayout {
  int co, ci, first_offset;
};

FilterLayout layout_of(const TensorDescriptor& filters) {
  switch (filters.layout) {
    case MLUOP_LAYOUT_NDHWC: return {0, 4, 1};
    case MLUOP_LAYOUT_NCDHW: return {0, 1, 2};
    default: return {4, 3, 0};
  }
}

// The sum of indice_num; kMaxCount or more if there are too many to tell.
int64_t count_pairs(const int64_t* indice_num, int64_t offsets) {
  int64_t total = 0;
  for (int64_t k = 0; k < offsets && total < kMaxCount; ++k) total += indice_num[k];
  return total;
}

bool filters_tensor(Checks& check, const TensorDescriptor* desc, mluOpDataType_t dtype) {
  return check.not_null("filters_desc", desc) &&
         check.rule(desc->dim_count == 5, MLUOP_STATUS_NOT_SUPPORTED, "filters has ", desc->dim_count,
                    " dimensions, expected 5") &&
         check.rule(desc->layout == MLUOP_LAYOUT_NDHWC || desc->layout == MLUOP_LAYOUT_NCDHW ||
                        desc->layout == MLUOP_LAYOUT_ARRAY,
                    MLUOP_STATUS_NOT_SUPPORTED, "filters has layout ", name_of(desc->layout),
                    ", expected NDHWC, NCDHW or ARRAY") &&
         check.tensor("filters", desc, dtype, desc->layout, {-1, -1, -1, -1, -1}) &&
         check.rule(element_count(*desc) > 0, MLUOP_STATUS_BAD_PARAM, "filters has shape ",
                    shape_text(desc->shape()), ", expected no dimension 0") &&
         check.rule(byte_count(*desc) < kMaxFilterBytes, MLUOP_STATUS_BAD_PARAM, "filters has ", byte_count(*desc),
                    " bytes, expected fewer than 2^56");
}

bool good_counts(Checks& check, const int64_t* indice_num, int64_t offsets, int64_t inputs) {
  if (!check.not_null("indice_num", indice_num)) return false;
  for (int64_t k = 0; k < offsets; ++k) {
    if (!check.rule(0 <= indice_num[k] && indice_num[k] <= inputs, MLUOP_STATUS_BAD_PARAM, "indice_num[", k,
                    "] is ", indice_num[k], ", expected 0 to ", inputs)) {
      return false;
    }
  }
  return check.rule(count_pairs(indice_num, offsets) < kMaxCount, MLUOP_STATUS_NOT_SUPPORTED,
                    "indice_num counts 2^31 pairs or more, expected fewer");
}

bool few_rows(Checks& check, std::string_view name, const TensorDescriptor& desc) {
  return check.rule(desc.dims[0] < kMaxCount, MLUOP_STATUS_NOT_SUPPORTED, name, " has ", desc.dims[0],
                    " rows, expected fewer than 2^31");
}

bool arguments(Checks& check, const Context& context, const Call& call) {
  if (!(check.rule(!context.device.is_200_series, MLUOP_STATUS_ARCH_MISMATCH, "device is ", context.device.name,
                   ", expected mlu370 or mlu590") &&
        check.not_null("features_desc", call.features))) {
    return false;
  }
  const auto bad = MLUOP_STATUS_BAD_PARAM;
  const auto array = MLUOP_LAYOUT_ARRAY;
  const auto dtype = call.features->dtype;
  if (!(check.rule(dtype == MLUOP_DTYPE_FLOAT || dtype == MLUOP_DTYPE_HALF, bad, "features has data type ",
                   name_of(dtype), ", expected FLOAT or HALF") &&
        filters_tensor(check, call.filters, dtype))) {
    return false;
  }
  const FilterLayout at = layout_of(*call.filters);
  const auto* dims = call.filters->dims.data();
  const int64_t offsets = dims[at.first_offset] * dims[at.first_offset + 1] * dims[at.first_offset + 2];
  return check.tensor("features", call.features, dtype, array, {-1, dims[at.ci]}) &&
         check.tensor("indice_pairs", call.indice_pairs, MLUOP_DTYPE_INT32, array,
                      {offsets, 2, call.features->dims[0]}) &&
         check.tensor("features_out", call.features_out, dtype, array, {-1, dims[at.co]}) &&
         check.rule(call.num_act_out == call.features_out->dims[0], bad, "num_act_out is ", call.num_act_out,
                    ", expected features_out dim 0, which is ", call.features_out->dims[0]) &&
         check.rule(call.inverse == 0 || call.inverse == 1, bad, "inverse is ", call.inverse, ", expected 0") &&
         check.rule(call.inverse == 0, MLUOP_STATUS_NOT_SUPPORTED, "inverse is 1, expected 0") &&
         check.rule(call.sub_m == 0 || call.sub_m == 1, bad, "sub_m is ", call.sub_m, ", expected 0 or 1") &&
         few_rows(check, "features", *call.features) && few_rows(check, "features_out", *call.features_out) &&
         good_counts(check, call.indice_num, offsets, call.features->dims[0]);
}

// The sizes of the call, without its data.
Args sizes_of(const Call& call) {
  const FilterLayout at = layout_of(*call.filters);
  const auto* dims = call.filters->dims.data();
  Args args{};
  args.N = call.features->dims[0];
  args.M = call.features_out->dims[0];
  args.Ci = dims[at.ci];
  args.Co = dims[at.co];
  args.K = dims[at.first_offset] * dims[at.first_offset + 1] * dims[at.first_offset + 2];
  args.pair_count = count_pairs(call.indice_num, args.K);
  args.dtype = call.features->dtype;
  // Of contiguous filters: what follows a dimension.
  const auto stride = [&](int dim) {
    return std::accumulate(dims + dim + 1, dims + 5, int64_t{1}, std::multiplies<>());
  };
  args.strides = {stride(at.co), stride(at.first_offset + 2), stride(at.ci)};
  args.indice_num = call.indice_num;
  return args;
}

void log_call(std::string_view name, const Call& call, const indice_convolution_forward::Plan& plan) {
  if (!debug_log_enabled()) return;
  log_debug(text("[", name, "] features ", describe(*call.features), ", filters ", describe(*call.filters),
                 ", indice_pairs ", describe(*call.indice_pairs), ", features_out ", describe(*call.features_out),
                 ", ", plan.atomics ? "atomics" : "deterministic", ", taskDim ", plan.task_dim, ", tile of ",
                 1 << plan.tiling.shift, " rows, ", plan.tiling.pairs, " pairs at once"));
}

}  // namespace
}  // namespace mluop

mluOpStatus_t MLUOP_WIN_API mluOpGetIndiceConvolutionForwardWorkspaceSize(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const mluOpTensorDescriptor_t filters_desc,
    const mluOpTensorDescriptor_t indice_pairs_desc, const mluOpTensorDescriptor_t features_out_desc,
    const int64_t indice_num[], const int64_t num_act_out, const int64_t inverse, const int64_t sub_m,
    size_t* workspace_size) {
  using namespace mluop;
  constexpr auto kName = "mluOpGetIndiceConvolutionForwardWorkspaceSize";
  return guarded(kName, [&] {
    Checks check(kName);
    const Call call{features_desc, filters_desc, indice_pairs_desc, features_out_desc,
                    indice_num,    num_act_out,  inverse,           sub_m};
    if (!check.not_null("handle", handle)) return check.status();
    const std::lock_guard lock(handle->execution);
    if (!(arguments(check, *handle, call) && check.not_null("workspace_size", workspace_size))) {
      return check.status();
    }
    *workspace_size = indice_convolution_forward::workspace_bytes(*handle, sizes_of(call));
    return MLUOP_STATUS_SUCCESS;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpIndiceConvolutionForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t filters_desc, const void* filters,
    const mluOpTensorDescriptor_t indice_pairs_desc, const void* indice_pairs, const int64_t indice_num[],
    const int64_t num_act_out, const int64_t inverse, const int64_t sub_m, void* workspace,
    const size_t workspace_size, const mluOpTensorDescriptor_t features_out_desc, void* features_out) {
  using namespace mluop;
  constexpr auto kName = "mluOpIndiceConvolutionForward";
  return guarded(kName, [&] {
    Checks check(kName);
    const Call call{features_desc, filters_desc, indice_pairs_desc, features_out_desc,
                    indice_num,    num_act_out,  inverse,           sub_m};
    if (!check.not_null("handle", handle)) return check.status();
    const std::lock_guard lock(handle->execution);
    if (!(arguments(check, *handle, call) && check.data("features_out", features_out_desc, features_out))) {
      return check.status();
    }
    Args args = sizes_of(call);
    const size_t needed = indice_convolution_forward::workspace_bytes(*handle, args);
    const bool empty = args.N == 0 || args.M == 0;
    if (!empty &&
        !(check.data("features", features_desc, features) && check.data("filters", filters_desc, filters) &&
          check.data("indice_pairs", indice_pairs_desc, indice_pairs) &&
          check.rule(workspace_size >= needed, MLUOP_STATUS_BAD_PARAM, "workspace_size is ", workspace_size,
                     ", expected at least ", needed) &&
          check.not_null("workspace", workspace) &&
          check.no_overlap({{"features_out", features_out, byte_count(*features_out_desc)},
                            {"workspace", workspace, static_cast<int64_t>(needed)}},
                           {{"features", features, byte_count(*features_desc)},
                            {"filters", filters, byte_count(*filters_desc)},
                            {"indice_pairs", indice_pairs, byte_count(*indice_pairs_desc)},
                            {"indice_num", indice_num, args.K * int64_t{sizeof(int64_t)}}}))) {
      return check.status();
    }
    args.features = features;
    args.filters = filters;
    args.indice_pairs = static_cast<const int32_t*>(indice_pairs);
    args.features_out = features_out;
    const auto plan = indice_convolution_forward::make_plan(*handle, args);
    log_call(kName, call, plan);
    indice_convolution_forward::run(*handle, plan, args, static_cast<std::byte*>(workspace));
    return MLUOP_STATUS_SUCCESS;
  });
}
