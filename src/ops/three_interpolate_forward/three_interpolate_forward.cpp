// mluOpThreeInterpolateForward: entry and checks. Start with the entry below, then run() and make_plan() in
// three_interpolate_forward_native.cpp; it launches the kernels of primitives/indices/check_indices.h and
// three_interpolate_forward_native_kernels.h. In three_interpolate_forward_native_kernels.cpp, read
// interpolate_packed() and interpolate_direct(), which follow their helpers.
#include "ops/three_interpolate_forward/three_interpolate_forward.h"

namespace mluop::three_interpolate_forward {
namespace {

// The 200 series converts indices to fp32, which is exact up to this number.
constexpr int64_t kMax200SeriesFeatures = int64_t{1} << 23;

void check_feature_count(const DeviceProfile& device, int64_t M) {
  require(!device.is_200_series || M <= kMax200SeriesFeatures, MLUOP_STATUS_NOT_SUPPORTED, "features dim 2 is ", M,
          ", expected at most 2^23 on ", device.name);
}

}  // namespace
}  // namespace mluop::three_interpolate_forward

mluOpStatus_t MLUOP_WIN_API mluOpThreeInterpolateForward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t features_desc, const void* features,
    const mluOpTensorDescriptor_t indices_desc, const void* indices, const mluOpTensorDescriptor_t weights_desc,
    const void* weights, const mluOpTensorDescriptor_t output_desc, void* output) {
  using namespace mluop;
  using namespace mluop::three_interpolate_forward;
  return run_operator("mluOpThreeInterpolateForward", handle, [&](Call& call) {
    const auto array = MLUOP_LAYOUT_ARRAY;
    const auto dtype = dtype_of(features_desc);
    const int64_t B = dim_of(features_desc, 0), C = dim_of(features_desc, 1), M = dim_of(features_desc, 2),
                  N = dim_of(output_desc, 2);
    call.input("features", features_desc, features, dtype, array, {kAny, kAny, kAny});
    call.input("indices", indices_desc, indices, MLUOP_DTYPE_INT32, array, {B, N, 3});
    call.input("weights", weights_desc, weights, dtype, array, {B, N, 3});
    call.output("output", output_desc, output, dtype, array, {B, C, kAny});

    call.check_pointers();
    check_feature_count(call.context().device, M);
    require_element_type("features", dtype);
    call.check_tensors();
    require_positive("features dim 0", B);
    require_positive("features dim 1", C);
    require_positive("features dim 2", M);
    require_positive("output dim 2", N);

    native::run(call, {
                          .B = B,
                          .C = C,
                          .M = M,
                          .N = N,
                          .dtype = dtype,
                          .features = features,
                          .indices = static_cast<const int32_t*>(indices),
                          .weights = weights,
                          .output = output,
                      });
  });
}
