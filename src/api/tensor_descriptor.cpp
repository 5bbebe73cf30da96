#include <algorithm>
#include <limits>

#include "core/boundary.h"
#include "core/checks.h"
#include "core/dtype.h"
#include "core/sizes.h"
#include "core/tensor.h"

namespace mluop {
namespace {

bool check_format(Checks& check, mluOpTensorLayout_t layout, mluOpDataType_t dtype) {
  return check.rule(!name_of(layout).empty(), MLUOP_STATUS_BAD_PARAM, "layout is ", static_cast<int>(layout),
                    ", expected a value of mluOpTensorLayout_t") &&
         check.rule(size_of(dtype) > 0, MLUOP_STATUS_BAD_PARAM, "dtype is ", static_cast<int>(dtype),
                    ", expected a data type other than MLUOP_DTYPE_INVALID");
}

template <class Int>
bool check_dims(Checks& check, int dim_count, const Int* dims) {
  if (!(check.rule(dim_count >= 1 && dim_count <= MLUOP_DIM_MAX, MLUOP_STATUS_BAD_PARAM, "dimNb is ", dim_count,
                   ", expected 1 to ", MLUOP_DIM_MAX) &&
        check.not_null("dimSize", dims))) {
    return false;
  }
  for (int i = 0; i < dim_count; ++i) {
    if (!check.rule(dims[i] >= 0, MLUOP_STATUS_BAD_PARAM, "dimSize[", i, "] is ", dims[i],
                    ", expected 0 or more")) {
      return false;
    }
  }
  return true;
}

template <class Int>
bool check_strides(Checks& check, int dim_count, const Int* strides) {
  if (!check.not_null("dimStride", strides)) return false;
  for (int i = 0; i < dim_count; ++i) {
    if (!check.rule(strides[i] >= 0, MLUOP_STATUS_BAD_PARAM, "dimStride[", i, "] is ", strides[i],
                    ", expected 0 or more")) {
      return false;
    }
  }
  return true;
}

// The largest byte offset that a descriptor can lead to, dimensions counted as at least 1.
bool check_span(Checks& check, const TensorDescriptor& desc) {
  auto elements = std::optional<int64_t>(1);
  auto span = std::optional<int64_t>(1);
  const auto element_size = static_cast<int64_t>(std::max<size_t>(size_of(desc.dtype), 1));
  for (int i = 0; i < desc.dim_count; ++i) {
    const int64_t dim = std::max<int64_t>(desc.dims[i], 1);
    if (elements) elements = checked_product(*elements, dim);
    const auto reach = checked_product(dim - 1, desc.strides[i]);
    if (span) span = reach ? checked_sum(*span, *reach) : reach;
  }
  return check.rule(
      elements && span && checked_product(*elements, element_size) && checked_product(*span, element_size),
      MLUOP_STATUS_BAD_PARAM, "the size in bytes of shape ", shape_text(desc.shape()), " exceeds 2^63 - 1");
}

enum class Strides { kContiguous, kGiven };

// Takes shape and strides into `desc` if they are valid. One body for all setters.
template <class Int>
mluOpStatus_t set_shape(Checks& check, TensorDescriptor& desc, mluOpTensorLayout_t layout, mluOpDataType_t dtype,
                        int dim_count, const Int* dims, Strides kind, const Int* strides) {
  if (!(check_dims(check, dim_count, dims) &&
        (kind == Strides::kContiguous || check_strides(check, dim_count, strides)))) {
    return check.status();
  }
  TensorDescriptor wanted{layout, dtype, dim_count, {}, {}};
  std::copy_n(dims, dim_count, wanted.dims.begin());
  if (kind == Strides::kGiven) std::copy_n(strides, dim_count, wanted.strides.begin());
  if (!check_span(check, wanted)) return check.status();
  if (kind == Strides::kContiguous) set_contiguous_strides(wanted);
  desc = wanted;
  return MLUOP_STATUS_SUCCESS;
}

template <class Int>
mluOpStatus_t set(std::string_view function, mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                  mluOpDataType_t dtype, int dim_count, const Int* dims, Strides kind,
                  const Int* strides = nullptr) {
  return guarded(function, [&] {
    Checks check(function);
    if (!(check.not_null("desc", desc) && check_format(check, layout, dtype))) return check.status();
    return set_shape(check, *desc, layout, dtype, dim_count, dims, kind, strides);
  });
}

template <class Int>
mluOpStatus_t set_dims(std::string_view function, mluOpTensorDescriptor_t desc, int dim_count, const Int* dims) {
  return guarded(function, [&] {
    Checks check(function);
    if (!check.not_null("desc", desc)) return check.status();
    return set_shape<Int>(check, *desc, desc->layout, desc->dtype, dim_count, dims, Strides::kContiguous, nullptr);
  });
}

template <class Int>
bool check_fits(Checks& check, std::string_view name, const Int* wanted, const int64_t* values, int count) {
  if (wanted == nullptr) return true;
  for (int i = 0; i < count; ++i) {
    if (!check.rule(values[i] <= std::numeric_limits<Int>::max(), MLUOP_STATUS_NUMERICAL_OVERFLOW, name, "[", i,
                    "] is ", values[i], ", which int cannot hold: use the _v2 function")) {
      return false;
    }
  }
  return true;
}

// One body for the getters; null outputs are skipped.
template <class Int>
mluOpStatus_t get(std::string_view function, const TensorDescriptor* desc, mluOpTensorLayout_t* layout,
                  mluOpDataType_t* dtype, int* dim_count, Int* dims, Int* strides) {
  return guarded(function, [&] {
    Checks check(function);
    if (!(check.not_null("desc", desc) && check_fits(check, "dimSize", dims, desc->dims.data(), desc->dim_count) &&
          check_fits(check, "dimStride", strides, desc->strides.data(), desc->dim_count))) {
      return check.status();
    }
    if (layout != nullptr) *layout = desc->layout;
    if (dtype != nullptr) *dtype = desc->dtype;
    if (dim_count != nullptr) *dim_count = desc->dim_count;
    for (int i = 0; i < desc->dim_count; ++i) {
      if (dims != nullptr) dims[i] = static_cast<Int>(desc->dims[i]);
      if (strides != nullptr) strides[i] = static_cast<Int>(desc->strides[i]);
    }
    return MLUOP_STATUS_SUCCESS;
  });
}

}  // namespace
}  // namespace mluop

using mluop::Checks;
using mluop::Strides;

mluOpStatus_t MLUOP_WIN_API mluOpCreateTensorDescriptor(mluOpTensorDescriptor_t* desc) {
  constexpr auto kName = "mluOpCreateTensorDescriptor";
  return mluop::guarded(kName, [&] {
    Checks check(kName);
    if (!check.not_null("desc", desc)) return check.status();
    *desc = new mluOpTensorStruct();
    return MLUOP_STATUS_SUCCESS;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpDestroyTensorDescriptor(mluOpTensorDescriptor_t desc) {
  constexpr auto kName = "mluOpDestroyTensorDescriptor";
  return mluop::guarded(kName, [&] {
    Checks check(kName);
    if (!check.not_null("desc", desc)) return check.status();
    delete desc;
    return MLUOP_STATUS_SUCCESS;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpResetTensorDescriptor(mluOpTensorDescriptor_t desc) {
  constexpr auto kName = "mluOpResetTensorDescriptor";
  return mluop::guarded(kName, [&] {
    Checks check(kName);
    if (!check.not_null("desc", desc)) return check.status();
    *desc = mluOpTensorStruct();
    return MLUOP_STATUS_SUCCESS;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptor(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                                     mluOpDataType_t dtype, int dimNb, const int dimSize[]) {
  return mluop::set<int>("mluOpSetTensorDescriptor", desc, layout, dtype, dimNb, dimSize, Strides::kContiguous);
}

mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptor_v2(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                                        mluOpDataType_t dtype, int dimNb,
                                                        const int64_t dimSize[]) {
  return mluop::set<int64_t>("mluOpSetTensorDescriptor_v2", desc, layout, dtype, dimNb, dimSize,
                             Strides::kContiguous);
}

mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorEx(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                                       mluOpDataType_t dtype, int dimNb, const int dimSize[],
                                                       const int dimStride[]) {
  return mluop::set("mluOpSetTensorDescriptorEx", desc, layout, dtype, dimNb, dimSize, Strides::kGiven, dimStride);
}

mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptorEx_v2(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                                          mluOpDataType_t dtype, int dimNb,
                                                          const int64_t dimSize[], const int64_t dimStride[]) {
  return mluop::set("mluOpSetTensorDescriptorEx_v2", desc, layout, dtype, dimNb, dimSize, Strides::kGiven,
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

uint64_t MLUOP_WIN_API mluOpGetTensorElementNum(const mluOpTensorDescriptor_t desc) {
  if (desc == nullptr) {
    mluop::fail("mluOpGetTensorElementNum", MLUOP_STATUS_BAD_PARAM, "desc is null");
    return 0;
  }
  return static_cast<uint64_t>(mluop::element_count(*desc));
}
