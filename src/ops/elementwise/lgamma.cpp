// mluOpLgamma.
#include "core/checks.h"
#include "ops/elementwise/elementwise.h"

mluOpStatus_t MLUOP_WIN_API mluOpLgamma(mluOpHandle_t handle, const mluOpTensorDescriptor_t x_desc, const void* x,
                                        const mluOpTensorDescriptor_t y_desc, void* y) {
  using namespace mluop;
  return run_operator("mluOpLgamma", handle, [&](Call& call) {
    const mluOpDataType_t dtype = dtype_of(x_desc);
    const elementwise::Unary unary{{x_desc, x}, {y_desc, y}, dtype, Strides::kAny};
    elementwise::declare_unary(call, unary);
    call.check_pointers();
    call.check_not_200_series();
    require_element_type("x", dtype);
    if (!elementwise::check_unary(call, unary)) return;
    constexpr int64_t kCost = 256;
    elementwise::run(call, {elementwise::lgamma_map(dtype), kCost}, unary.x, {}, unary.y);
  });
}
