// mluOpThreeInterpolateBackward: entry and checks. Start with the entry below, then run() and make_plan() in
// three_interpolate_backward_native.cpp. For many channels and few features, continue with sum() in
// three_interpolate_backward_native_grouped_kernels.cpp, otherwise with direct() in
// three_interpolate_backward_native_direct_kernels.cpp. The device algorithm is run() in
// three_interpolate_backward_device.cpp, then interpolate() in three_interpolate_backward_device_kernels.cpp.
#include "ops/three_interpolate_backward/three_interpolate_backward.h"

namespace mluop::three_interpolate_backward {
namespace {

// The 200 series converts indices to fp32, which is exact up to this number.
constexpr int64_t kMax200SeriesFeatures = int64_t{1} << 23;

void check_feature_count(const DeviceProfile& device, int64_t M) {
  require(!device.is_200_series || M <= kMax200SeriesFeatures, MLUOP_STATUS_NOT_SUPPORTED,
          "grad_features dim 2 is ", M, ", expected at most 2^23 on ", device.name);
}

}  // namespace
}  // namespace mluop::three_interpolate_backward

mluOpStatus_t MLUOP_WIN_API mluOpThreeInterpolateBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t indices_desc, const void* indices, const mluOpTensorDescriptor_t weights_desc,
    const void* weights, const mluOpTensorDescriptor_t grad_features_desc, void* grad_features) {
  using namespace mluop;
  using namespace mluop::three_interpolate_backward;
  return run_operator("mluOpThreeInterpolateBackward", handle, [&](Call& call) {
    const auto array = MLUOP_LAYOUT_ARRAY;
    const auto dtype = dtype_of(grad_output_desc);
    const int64_t B = dim_of(grad_output_desc, 0), C = dim_of(grad_output_desc, 1),
                  N = dim_of(grad_output_desc, 2), M = dim_of(grad_features_desc, 2);
    call.input("grad_output", grad_output_desc, grad_output, dtype, array, {kAny, kAny, kAny});
    call.input("indices", indices_desc, indices, MLUOP_DTYPE_INT32, array, {B, N, 3});
    call.input("weights", weights_desc, weights, dtype, array, {B, N, 3});
    call.output("grad_features", grad_features_desc, grad_features, dtype, array, {B, C, kAny});

    call.check_pointers();
    check_feature_count(call.context().device, M);
    require_element_type("grad_output", dtype);
    call.check_tensors();
    require_positive("grad_output dim 0", B);
    require_positive("grad_output dim 1", C);
    require_positive("grad_output dim 2", N);
    require_positive("grad_features dim 2", M);

    const Args args{
        .B = B,
        .C = C,
        .N = N,
        .M = M,
        .dtype = dtype,
        .grad_output = grad_output,
        .indices = static_cast<const int32_t*>(indices),
        .weights = weights,
        .grad_features = grad_features,
    };
    if (call.context().algorithm == MLUOP_OMP_ALGORITHM_DEVICE) {
      device::run(call, args);
    } else {
      native::run(call, args);
    }
  });
}
