// mluOpLog.
#include "core/checks.h"
#include "ops/elementwise/elementwise.h"

mluOpStatus_t MLUOP_WIN_API mluOpLog(mluOpHandle_t handle, const mluOpComputationPreference_t prefer,
                                     const mluOpLogBase_t base, const mluOpTensorDescriptor_t x_desc,
                                     const void* x, const mluOpTensorDescriptor_t y_desc, void* y) {
  using namespace mluop;
  return run_operator("mluOpLog", handle, [&](Call& call) {
    const mluOpDataType_t dtype = dtype_of(x_desc);
    const elementwise::Unary unary{{x_desc, x}, {y_desc, y}, dtype, Strides::kDense};
    call.parameter("log_base", int64_t{base});
    call.parameter("prefer", int64_t{prefer});
    elementwise::declare_unary(call, unary);
    call.check_pointers();
    require(base == MLUOP_LOG_E || base == MLUOP_LOG_2 || base == MLUOP_LOG_10, MLUOP_STATUS_BAD_PARAM, "base is ",
            static_cast<int>(base), ", expected MLUOP_LOG_E (0), MLUOP_LOG_2 (1) or MLUOP_LOG_10 (2)");
    require_element_type("x", dtype);
    if (!elementwise::check_unary(call, unary)) return;
    constexpr int64_t kCost = 24;
    elementwise::run(call, {elementwise::log_map(base, dtype), kCost}, unary.x, {}, unary.y);
  });
}
