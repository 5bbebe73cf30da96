// mluOpAbs.
#include "core/checks.h"
#include "core/dtype.h"
#include "ops/elementwise/elementwise.h"

mluOpStatus_t MLUOP_WIN_API mluOpAbs(mluOpHandle_t handle, const mluOpTensorDescriptor_t x_desc, const void* x,
                                     const mluOpTensorDescriptor_t y_desc, void* y) {
  using namespace mluop;
  return run_operator("mluOpAbs", handle, [&](Call& call) {
    const mluOpDataType_t dtype = dtype_of(x_desc);
    const bool is_complex = dtype == MLUOP_DTYPE_COMPLEX_FLOAT;
    const elementwise::Unary unary{
        {x_desc, x}, {y_desc, y}, is_complex ? MLUOP_DTYPE_FLOAT : dtype, Strides::kAny};
    elementwise::declare_unary(call, unary);
    call.check_pointers();
    require_element_type("x", dtype, {MLUOP_DTYPE_INT32, MLUOP_DTYPE_COMPLEX_FLOAT});
    if (!elementwise::check_unary(call, unary)) return;
    elementwise::run(call, {elementwise::abs_map(dtype)}, unary.x, {}, unary.y);
  });
}
