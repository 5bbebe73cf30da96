// mluOpThreeInterpolateBackward: entry and checks.
#include "core/boundary.h"
#include "core/checks.h"
#include "core/dtype.h"
#include "core/log.h"
#include "ops/three_interpolate_backward/plan.h"

namespace mluop {
namespace {

constexpr auto kName = "mluOpThreeInterpolateBackward";

// The 200 series converts indices to float, which counts exactly up to here.
constexpr int64_t kMost200SeriesFeatures = int64_t{1} << 23;

}  // namespace
}  // namespace mluop

mluOpStatus_t MLUOP_WIN_API mluOpThreeInterpolateBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t indices_desc, const void* indices, const mluOpTensorDescriptor_t weights_desc,
    const void* weights, const mluOpTensorDescriptor_t grad_features_desc, void* grad_features) {
  using namespace mluop;
  return guarded(kName, [&] {
    Checks check(kName);
    if (!check.not_null("handle", handle)) return check.status();
    const std::lock_guard lock(handle->execution);
    if (!(check.not_null("grad_output_desc", grad_output_desc) &&
          check.not_null("grad_features_desc", grad_features_desc))) {
      return check.status();
    }
    const auto dtype = grad_output_desc->dtype;
    const auto layout = MLUOP_LAYOUT_ARRAY;
    const auto b = grad_output_desc->dims[0], c = grad_output_desc->dims[1], n = grad_output_desc->dims[2];
    const auto m = grad_features_desc->dims[2];
    if (!(check.rule(dtype == MLUOP_DTYPE_FLOAT || dtype == MLUOP_DTYPE_HALF, MLUOP_STATUS_BAD_PARAM,
                     "grad_output has data type ", name_of(dtype), ", expected FLOAT or HALF") &&
          check.tensor("grad_output", grad_output_desc, dtype, layout, {-1, -1, -1}) &&
          check.tensor("indices", indices_desc, MLUOP_DTYPE_INT32, layout, {b, n, 3}) &&
          check.tensor("weights", weights_desc, dtype, layout, {b, n, 3}) &&
          check.tensor("grad_features", grad_features_desc, dtype, layout, {b, c, -1}) &&
          check.positive("grad_output dim 0", b) && check.positive("grad_output dim 1", c) &&
          check.positive("grad_output dim 2", n) && check.positive("grad_features dim 2", m) &&
          check.rule(!handle->device.is_200_series || m <= kMost200SeriesFeatures, MLUOP_STATUS_NOT_SUPPORTED,
                     "grad_features dim 2 is ", m, ", expected at most 2^23 on ", handle->device.name) &&
          check.data("grad_output", grad_output_desc, grad_output) &&
          check.data("indices", indices_desc, indices) && check.data("weights", weights_desc, weights) &&
          check.data("grad_features", grad_features_desc, grad_features) &&
          check.no_overlap({{"grad_features", grad_features, byte_count(*grad_features_desc)}},
                           {{"grad_output", grad_output, byte_count(*grad_output_desc)},
                            {"indices", indices, byte_count(*indices_desc)},
                            {"weights", weights, byte_count(*weights_desc)}}))) {
      return check.status();
    }
    const three_interpolate_backward::Args args{
        .B = b,
        .C = c,
        .N = n,
        .M = m,
        .dtype = dtype,
        .grad_output = grad_output,
        .indices = static_cast<const int32_t*>(indices),
        .weights = weights,
        .grad_features = grad_features,
    };
    const auto plan = three_interpolate_backward::make_plan(*handle, args);
    if (debug_log_enabled()) {
      log_debug(text("[", kName, "] grad_output ", describe(*grad_output_desc), ", indices ",
                     describe(*indices_desc), ", weights ", describe(*weights_desc), ", grad_features ",
                     describe(*grad_features_desc), ", taskDim ", plan.task_dim, ", tile of ",
                     plan.tiling.features, " features"));
    }
    three_interpolate_backward::run(*handle, plan, args);
    return MLUOP_STATUS_SUCCESS;
  });
}
