#include <algorithm>
#include <limits>
#include <optional>

#include "api/tensor_descriptor.h"
#include "core/checks.h"
#include "core/descriptor.h"
#include "core/dtype.h"
#include "core/sizes.h"
#include "core/tensor.h"

namespace mluop {
namespace {

void check_format(mluOpTensorLayout_t layout, mluOpDataType_t dtype) {
  require(!name_of(layout).empty(), MLUOP_STATUS_BAD_PARAM, "layout is ", static_cast<int>(layout),
          ", expected a value of mluOpTensorLayout_t");
  require(size_of(dtype) > 0, MLUOP_STATUS_BAD_PARAM, "dtype is ", static_cast<int>(dtype),
          ", expected a data type other than MLUOP_DTYPE_INVALID");
}

template <class Int>
void check_not_negative(std::string_view name, int count, const Int* values) {
  require_not_null(name, values);
  for (int i = 0; i < count; ++i) {
    require(values[i] >= 0, MLUOP_STATUS_BAD_PARAM, name, "[", i, "] is ", values[i], ", expected 0 or more");
  }
}

// Requires that the number of elements and the largest byte offset of the strides fit int64_t, with each dimension
// counted as at least 1.
void check_extent(const TensorDescriptor& desc) {
  auto elements = std::optional<int64_t>(1);
  auto extent = std::optional<int64_t>(1);
  const auto element_size = static_cast<int64_t>(std::max<size_t>(size_of(desc.dtype), 1));
  for (int i = 0; i < desc.dim_count; ++i) {
    const int64_t dim = std::max<int64_t>(desc.dims[i], 1);
    if (elements) elements = checked_product(*elements, dim);
    const auto reach = checked_product(dim - 1, desc.strides[i]);
    if (extent) extent = reach ? checked_sum(*extent, *reach) : reach;
  }
  const bool fits =
      elements && extent && checked_product(*elements, element_size) && checked_product(*extent, element_size);
  if (!fits) {
    throw Failure(MLUOP_STATUS_BAD_PARAM,
                  text("the size in bytes of shape ", shape_text(desc.shape()), " exceeds 2^63 - 1"));
  }
}

enum class StridesFrom { kShape, kCaller };

// Sets shape and strides of `desc` if they are valid; the body of all setters.
template <class Int>
void set_shape(TensorDescriptor& desc, mluOpTensorLayout_t layout, mluOpDataType_t dtype, int dim_count,
               const Int* dims, StridesFrom kind, const Int* strides) {
  const bool may_be_scalar = desc.pointer_mode == MLUOP_POINTER_MODE_HOST;
  require(dim_count >= (may_be_scalar ? 0 : 1) && dim_count <= MLUOP_DIM_MAX, MLUOP_STATUS_BAD_PARAM, "dimNb is ",
          dim_count, may_be_scalar ? ", expected 0 to " : ", expected 1 to ", MLUOP_DIM_MAX);
  // The arrays of a scalar may be null.
  if (dim_count > 0) check_not_negative("dimSize", dim_count, dims);
  if (dim_count > 0 && kind == StridesFrom::kCaller) check_not_negative("dimStride", dim_count, strides);
  TensorDescriptor requested = desc;
  requested.layout = layout;
  requested.dtype = dtype;
  requested.dim_count = dim_count;
  requested.is_scalar = dim_count == 0;
  requested.dims = {};
  requested.strides = {};
  std::copy_n(dims, dim_count, requested.dims.begin());
  if (kind == StridesFrom::kCaller) std::copy_n(strides, dim_count, requested.strides.begin());
  check_extent(requested);
  if (kind == StridesFrom::kShape) set_contiguous_strides(requested);
  desc = requested;
}

}  // namespace

void set_contiguous(TensorDescriptor& desc, mluOpTensorLayout_t layout, mluOpDataType_t dtype, int dim_count,
                    const int* dims) {
  check_format(layout, dtype);
  set_shape<int>(desc, layout, dtype, dim_count, dims, StridesFrom::kShape, nullptr);
}

namespace {

template <class Int>
mluOpStatus_t set(std::string_view function, mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                  mluOpDataType_t dtype, int dim_count, const Int* dims, StridesFrom kind,
                  const Int* strides = nullptr) {
  return run_guarded(function, [&] {
    require_not_null("desc", desc);
    check_format(layout, dtype);
    set_shape(*desc, layout, dtype, dim_count, dims, kind, strides);
  });
}

template <class Int>
mluOpStatus_t set_dims(std::string_view function, mluOpTensorDescriptor_t desc, int dim_count, const Int* dims) {
  return run_guarded(function, [&] {
    require_not_null("desc", desc);
    set_shape<Int>(*desc, desc->layout, desc->dtype, dim_count, dims, StridesFrom::kShape, nullptr);
  });
}

template <class Int>
void check_fits(std::string_view name, const Int* destination, const int64_t* values, int count) {
  if (destination == nullptr) return;
  for (int i = 0; i < count; ++i) {
    require(values[i] <= std::numeric_limits<Int>::max(), MLUOP_STATUS_NUMERICAL_OVERFLOW, name, "[", i, "] is ",
            values[i], ", which int cannot hold: use the _v2 function");
  }
}

// Reads a descriptor; null outputs are skipped. The body of all getters.
template <class Int>
mluOpStatus_t get(std::string_view function, const TensorDescriptor* desc, mluOpTensorLayout_t* layout,
                  mluOpDataType_t* dtype, int* dim_count, Int* dims, Int* strides) {
  return run_guarded(function, [&] {
    require_not_null("desc", desc);
    check_fits("dimSize", dims, desc->dims.data(), desc->dim_count);
    check_fits("dimStride", strides, desc->strides.data(), desc->dim_count);
    if (layout != nullptr) *layout = desc->layout;
    if (dtype != nullptr) *dtype = desc->dtype;
    if (dim_count != nullptr) *dim_count = desc->dim_count;
    for (int i = 0; i < desc->dim_count; ++i) {
      if (dims != nullptr) dims[i] = static_cast<Int>(desc->dims[i]);
      if (strides != nullptr) strides[i] = static_cast<Int>(desc->strides[i]);
    }
  });
}

}  // namespace
}  // namespace mluop

using mluop::require_not_null;
using mluop::run_guarded;
using mluop::StridesFrom;

mluOpStatus_t MLUOP_WIN_API mluOpCreateTensorDescriptor(mluOpTensorDescriptor_t* desc) {
  return mluop::create_descriptor("mluOpCreateTensorDescriptor", "desc", desc);
}

mluOpStatus_t MLUOP_WIN_API mluOpDestroyTensorDescriptor(mluOpTensorDescriptor_t desc) {
  return mluop::destroy_descriptor("mluOpDestroyTensorDescriptor", "desc", desc);
}

mluOpStatus_t MLUOP_WIN_API mluOpResetTensorDescriptor(mluOpTensorDescriptor_t desc) {
  return run_guarded("mluOpResetTensorDescriptor", [&] {
    require_not_null("desc", desc);
    *desc = mluOpTensorStruct();
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptor(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                                     mluOpDataType_t dtype, int dimNb, const int dimSize[]) {
  return mluop::set<int>("mluOpSetTensorDescriptor", desc, layout, dtype, dimNb, dimSize, StridesFrom::kShape);
}

mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptor_v2(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                                        mluOpDataType_t dtype, int dimNb,
                                                        const int64_t dimSize[]) {
  return mluop::set<int64_t>("mluOpSetTensorDescriptor_v2", desc, layout, dtype, dimNb, dimSize,
                             StridesFrom::kShape);
}

mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorEx(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                                       mluOpDataType_t dtype, int dimNb, const int dimSize[],
                                                       const int dimStride[]) {
  return mluop::set("mluOpSetTensorDescriptorEx", desc, layout, dtype, dimNb, dimSize, StridesFrom::kCaller,
                    dimStride);
}

mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorEx_v2(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                                          mluOpDataType_t dtype, int dimNb,
                                                          const int64_t dimSize[], const int64_t dimStride[]) {
  return mluop::set("mluOpSetTensorDescriptorEx_v2", desc, layout, dtype, dimNb, dimSize, StridesFrom::kCaller,
                    dimStride);
}

mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorDim(mluOpTensorDescriptor_t desc, int dimNb,
                                                        const int* dimSize) {
  return mluop::set_dims("mluOpSetTensorDescriptorDim", desc, dimNb, dimSize);
}

mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorDim_v2(mluOpTensorDescriptor_t desc, int dimNb,
                                                           const int64_t* dimSize) {
  return mluop::set_dims("mluOpSetTensorDescriptorDim_v2", desc, dimNb, dimSize);
}

mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptor(const mluOpTensorDescriptor_t desc,
                                                     mluOpTensorLayout_t* layout, mluOpDataType_t* dtype,
                                                     int* dimNb, int dimSize[]) {
  return mluop::get<int>("mluOpGetTensorDescriptor", desc, layout, dtype, dimNb, dimSize, nullptr);
}

mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptor_v2(const mluOpTensorDescriptor_t desc,
                                                        mluOpTensorLayout_t* layout, mluOpDataType_t* dtype,
                                                        int* dimNb, int64_t dimSize[]) {
  return mluop::get<int64_t>("mluOpGetTensorDescriptor_v2", desc, layout, dtype, dimNb, dimSize, nullptr);
}

mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorEx(const mluOpTensorDescriptor_t desc,
                                                       mluOpTensorLayout_t* layout, mluOpDataType_t* dtype,
                                                       int* dimNb, int dimSize[], int dimStride[]) {
  return mluop::get("mluOpGetTensorDescriptorEx", desc, layout, dtype, dimNb, dimSize, dimStride);
}

mluOpStatus_t MLUOP_WIN_API mluOpGetTensorDescriptorEx_v2(const mluOpTensorDescriptor_t desc,
                                                          mluOpTensorLayout_t* layout, mluOpDataType_t* dtype,
                                                          int* dimNb, int64_t dimSize[], int64_t dimStride[]) {
  return mluop::get("mluOpGetTensorDescriptorEx_v2", desc, layout, dtype, dimNb, dimSize, dimStride);
}

size_t MLUOP_WIN_API mluOpGetTensorElementNum(const mluOpTensorDescriptor_t desc) {
  if (desc == nullptr) {
    mluop::report_failure("mluOpGetTensorElementNum", MLUOP_STATUS_BAD_PARAM, "desc is null");
    return 0;
  }
  return static_cast<size_t>(mluop::element_count(*desc));
}
