#include "core/tensor.h"

#include <algorithm>

#include "core/dtype.h"
#include "core/text.h"

namespace mluop {

int64_t element_count(const TensorDescriptor& desc) {
  if (desc.dim_count == 0) return desc.is_scalar ? 1 : 0;
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

int64_t span_count(const TensorDescriptor& desc) {
  if (element_count(desc) == 0) return 0;
  int64_t count = 1;
  for (size_t i = 0; i < desc.shape().size(); ++i) count += (desc.dims[i] - 1) * desc.strides[i];
  return count;
}

std::array<size_t, MLUOP_DIM_MAX> order_in_memory(const TensorDescriptor& desc) {
  std::array<size_t, MLUOP_DIM_MAX> order{};
  for (size_t dim = 0; dim < desc.shape().size(); ++dim) {
    size_t i = dim;
    for (; i > 0 && desc.strides[order[i - 1]] < desc.strides[dim]; --i) order[i] = order[i - 1];
    order[i] = dim;
  }
  return order;
}

bool has_distinct_places(const TensorDescriptor& desc) {
  if (element_count(desc) == 0) return true;
  const auto order = order_in_memory(desc);
  int64_t reach = 0;  // of the dimensions with smaller strides
  for (size_t i = desc.shape().size(); i-- > 0;) {
    const size_t dim = order[i];
    if (desc.dims[dim] == 1) continue;
    if (desc.strides[dim] <= reach) return false;
    reach += (desc.dims[dim] - 1) * desc.strides[dim];
  }
  return true;
}

bool is_dense(const TensorDescriptor& desc) {
  return has_distinct_places(desc) && span_count(desc) == element_count(desc);
}

bool has_same_places(const TensorDescriptor& a, const TensorDescriptor& b) {
  if (!std::ranges::equal(a.shape(), b.shape())) return false;
  for (size_t i = 0; i < a.shape().size(); ++i) {
    if (a.dims[i] != 1 && a.strides[i] != b.strides[i]) return false;
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
