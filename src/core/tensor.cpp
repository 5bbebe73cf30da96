#include "core/tensor.h"

#include <algorithm>

#include "core/dtype.h"
#include "core/text.h"

namespace mluop {

int64_t element_count(const TensorDescriptor& desc) {
  if (desc.dim_count == 0) return 0;
  int64_t count = 1;
  for (const int64_t dim : desc.shape()) count *= dim;
  return count;
}

int64_t byte_count(const TensorDescriptor& desc) {
  return element_count(desc) * static_cast<int64_t>(size_of(desc.dtype));
}

bool is_contiguous(const TensorDescriptor& desc) {
  if (element_count(desc) == 0) return true;
  int64_t expected = 1;
  for (int i = desc.dim_count - 1; i >= 0; --i) {
    if (desc.dims[i] != 1 && desc.strides[i] != expected) return false;
    expected *= desc.dims[i];
  }
  return true;
}

mluOpDataType_t dtype_of(const TensorDescriptor* desc) {
  return desc == nullptr ? MLUOP_DTYPE_INVALID : desc->dtype;
}

int64_t dim_of(const TensorDescriptor* desc, int dim) {
  return desc == nullptr || dim >= desc->dim_count ? 0 : desc->dims[static_cast<size_t>(dim)];
}

void set_contiguous_strides(TensorDescriptor& desc) {
  int64_t stride = 1;
  for (int i = desc.dim_count - 1; i >= 0; --i) {
    desc.strides[i] = stride;
    stride *= std::max<int64_t>(desc.dims[i], 1);
  }
}

std::string shape_text(std::span<const int64_t> dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) out += text(i == 0 ? "" : ", ", dims[i]);
  return out + "]";
}

std::string describe(const TensorDescriptor& desc) {
  return text(name_of(desc.dtype), " ", shape_text(desc.shape()), " ", name_of(desc.layout));
}

}  // namespace mluop
