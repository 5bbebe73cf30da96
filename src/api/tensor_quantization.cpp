// The fields of tensor descriptors that no shape depends on: on-chip data type, factors of a quantization, pointer
// mode.
#include "core/checks.h"
#include "core/dtype.h"
#include "core/tensor.h"

namespace mluop {
namespace {

// Runs body(*desc) for a function that reads or sets a descriptor.
template <class Body>
mluOpStatus_t run_on_descriptor(std::string_view function, mluOpTensorDescriptor_t desc, const Body& body) {
  return run_guarded(function, [&] {
    require_not_null("desc", desc);
    body(*desc);
  });
}

}  // namespace
}  // namespace mluop

using mluop::require;
using mluop::require_not_null;
using mluop::run_on_descriptor;
using mluop::TensorDescriptor;

mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorOnchipDataType(mluOpTensorDescriptor_t desc,
                                                                   mluOpDataType_t onchip_dtype) {
  return run_on_descriptor("mluOpSetTensorDescriptorOnchipDataType", desc, [&](TensorDescriptor& tensor) {
    require(onchip_dtype == MLUOP_DTYPE_INVALID || mluop::size_of(onchip_dtype) > 0, MLUOP_STATUS_BAD_PARAM,
            "onchip_dtype is ", static_cast<int>(onchip_dtype), ", expected a value of mluOpDataType_t");
    tensor.onchip_dtype = onchip_dtype;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorOnchipDataType(const mluOpTensorDescriptor_t desc,
                                                                   mluOpDataType_t* onchip_dtype) {
  return run_on_descriptor("mluOpGetTensorDescriptorOnchipDataType", desc, [&](const TensorDescriptor& tensor) {
    require_not_null("onchip_dtype", onchip_dtype);
    *onchip_dtype = tensor.onchip_dtype;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorPosition(mluOpTensorDescriptor_t desc, int position) {
  return run_on_descriptor("mluOpSetTensorDescriptorPosition", desc,
                           [&](TensorDescriptor& tensor) { tensor.position = position; });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorPosition(const mluOpTensorDescriptor_t desc, int* position) {
  return run_on_descriptor("mluOpGetTensorDescriptorPosition", desc, [&](const TensorDescriptor& tensor) {
    require_not_null("position", position);
    *position = tensor.position;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorPositionAndScale(mluOpTensorDescriptor_t desc, int position,
                                                                     float scale) {
  return run_on_descriptor("mluOpSetTensorDescriptorPositionAndScale", desc, [&](TensorDescriptor& tensor) {
    tensor.position = position;
    tensor.scale = scale;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorPositionAndScale(const mluOpTensorDescriptor_t desc,
                                                                     int* position, float* scale) {
  return run_on_descriptor("mluOpGetTensorDescriptorPositionAndScale", desc, [&](const TensorDescriptor& tensor) {
    require_not_null("position", position);
    require_not_null("scale", scale);
    *position = tensor.position;
    *scale = tensor.scale;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorPositionScaleAndOffset(mluOpTensorDescriptor_t desc,
                                                                           int position, float scale, int offset) {
  return run_on_descriptor("mluOpSetTensorDescriptorPositionScaleAndOffset", desc, [&](TensorDescriptor& tensor) {
    tensor.position = position;
    tensor.scale = scale;
    tensor.offset = offset;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorPositionScaleAndOffset(const mluOpTensorDescriptor_t desc,
                                                                           int* position, float* scale,
                                                                           int* offset) {
  return run_on_descriptor("mluOpGetTensorDescriptorPositionScaleAndOffset", desc,
                           [&](const TensorDescriptor& tensor) {
                             require_not_null("position", position);
                             require_not_null("scale", scale);
                             require_not_null("offset", offset);
                             *position = tensor.position;
                             *scale = tensor.scale;
                             *offset = tensor.offset;
                           });
}

mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorPointerMode(mluOpTensorDescriptor_t desc,
                                                                mluOpPointerMode_t pointer_mode) {
  return run_on_descriptor("mluOpSetTensorDescriptorPointerMode", desc, [&](TensorDescriptor& tensor) {
    require(pointer_mode == MLUOP_POINTER_MODE_HOST || pointer_mode == MLUOP_POINTER_MODE_DEVICE,
            MLUOP_STATUS_BAD_PARAM, "pointer_mode is ", static_cast<int>(pointer_mode),
            ", expected MLUOP_POINTER_MODE_HOST (0) or MLUOP_POINTER_MODE_DEVICE (1)");
    tensor.pointer_mode = pointer_mode;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorPointerMode(const mluOpTensorDescriptor_t desc,
                                                                mluOpPointerMode_t* pointer_mode) {
  return run_on_descriptor("mluOpGetTensorDescriptorPointerMode", desc, [&](const TensorDescriptor& tensor) {
    require_not_null("pointer_mode", pointer_mode);
    *pointer_mode = tensor.pointer_mode;
  });
}
