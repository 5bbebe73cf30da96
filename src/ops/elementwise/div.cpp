// mluOpDiv.
#include "core/checks.h"
#include "ops/elementwise/elementwise.h"

namespace mluop::elementwise {
namespace {

// The shape to which x and y, which may be null or have other ranks, are broadcast.
TensorDescriptor broadcast(const TensorDescriptor* x, const TensorDescriptor* y) {
  TensorDescriptor z;
  z.dim_count = x == nullptr ? 0 : x->dim_count;
  for (int i = 0; i < z.dim_count; ++i) {
    const int64_t extent = dim_of(x, i);
    z.dims[static_cast<size_t>(i)] = extent == 1 ? dim_of(y, i) : extent;
  }
  return z;
}

void check_broadcast(const TensorDescriptor& x, const TensorDescriptor& y) {
  require(x.dim_count == y.dim_count, MLUOP_STATUS_BAD_PARAM, "y has ", y.dim_count, " dimensions, expected ",
          x.dim_count);
  for (size_t i = 0; i < x.shape().size(); ++i) {
    require(x.dims[i] == 1 || y.dims[i] == 1 || x.dims[i] == y.dims[i], MLUOP_STATUS_BAD_PARAM, "y dim ", i,
            " is ", y.dims[i], ", expected 1 or ", x.dims[i]);
  }
}

}  // namespace
}  // namespace mluop::elementwise

mluOpStatus_t MLUOP_WIN_API mluOpDiv(mluOpHandle_t handle, const mluOpComputationPreference_t prefer,
                                     const mluOpTensorDescriptor_t x_desc, const void* x,
                                     const mluOpTensorDescriptor_t y_desc, const void* y,
                                     const mluOpTensorDescriptor_t z_desc, void* z) {
  using namespace mluop;
  using namespace mluop::elementwise;
  return run_operator("mluOpDiv", handle, [&](Call& call) {
    const mluOpDataType_t dtype = dtype_of(x_desc);
    const TensorDescriptor shape = broadcast(x_desc, y_desc);
    // The rank of x.
    TensorDescriptor any = shape;
    any.dims.fill(kAny);
    call.parameter("prefer", int64_t{prefer});
    call.input("x", x_desc, x);
    call.input_like("y", {y_desc, y}, &any, dtype, kAnyLayout);
    call.output_like("z", {z_desc, z}, &shape, dtype, kAnyLayout);
    call.allow_strides(Strides::kDense);
    call.allow_in_place(InPlace::kSameTensor);
    if (has_no_elements(z_desc)) call.reads_nothing();
    call.check_pointers();
    require_element_type("x", dtype);
    require_dimensions("x", x_desc);
    check_broadcast(*x_desc, *y_desc);
    call.check_tensors();
    if (has_no_elements(z_desc)) return;
    run(call, {div_map(dtype)}, {x_desc, x}, {y_desc, y}, {z_desc, z});
  });
}
