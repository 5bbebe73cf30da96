#include "case/strides.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "case/values.h"

namespace mluop::cases {
namespace {

// NaN in the gaps of inputs.
constexpr std::byte kReadGap{0xFF}, kWrittenGap{0xA5};

// The dimensions from the outermost to the innermost in memory.
std::vector<size_t> order_of(const Dims& strides) {
  std::vector<size_t> order(strides.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  return order;
}

// The distance of neighbours along the next outer dimension.
int64_t next_stride(int64_t stride, int64_t extent, int64_t gap) {
  int64_t next = 0;
  if (__builtin_mul_overflow(stride, std::max<int64_t>(extent, 1), &next) ||
      __builtin_add_overflow(next, gap, &next)) {
    fail({}, "sizes are too large: a stride exceeds int64");
  }
  return next;
}

}  // namespace

bool is_strided(const Tensor& tensor) {
  if (tensor.strides.empty() || element_count(tensor) == 0) return false;
  int64_t expected = 1;
  for (size_t i = tensor.dims.size(); i > 0; --i) {
    if (tensor.dims[i - 1] != 1 && tensor.strides[i - 1] != expected) return true;
    expected *= tensor.dims[i - 1];
  }
  return false;
}

StridedMemory::StridedMemory(const Tensor& tensor, bool is_written)
    : dims_(tensor.dims),
      strides_(tensor.strides),
      element_(element_size(tensor.dtype)),
      bytes_(span_bytes(tensor)),
      gap_(is_written ? kWrittenGap : kReadGap) {}

template <class Visit>
void StridedMemory::for_each(const Visit& visit) const {
  if (bytes_ == 0) return;
  Dims index(dims_.size(), 0);
  for (size_t at = 0, packed = 0;; packed += element_) {
    visit(at, packed);
    size_t dim = dims_.size();
    for (; dim > 0; --dim) {
      const size_t stride = static_cast<size_t>(strides_[dim - 1]) * element_;
      if (++index[dim - 1] < dims_[dim - 1]) {
        at += stride;
        break;
      }
      at -= stride * static_cast<size_t>(dims_[dim - 1] - 1);
      index[dim - 1] = 0;
    }
    if (dim == 0) return;
  }
}

void StridedMemory::scatter(const std::byte* packed, std::byte* memory) const {
  std::fill_n(memory, bytes_, gap_);
  for_each([&](size_t at, size_t from) { std::memcpy(memory + at, packed + from, element_); });
}

void StridedMemory::gather(const std::byte* memory, std::byte* packed) const {
  for_each([&](size_t at, size_t to) { std::memcpy(packed + to, memory + at, element_); });
}

bool StridedMemory::has_intact_gaps(const std::byte* memory) const {
  Bytes gaps(memory, memory + bytes_);
  for_each([&](size_t at, size_t) { std::fill_n(gaps.data() + at, element_, gap_); });
  return std::all_of(gaps.begin(), gaps.end(), [this](std::byte byte) { return byte == gap_; });
}

Dims strides_in_order(const Dims& dims, const std::vector<size_t>& order, int64_t step, int64_t gap) {
  Dims strides(dims.size());
  int64_t stride = step;
  for (size_t i = order.size(); i > 0; --i) {
    strides[order[i - 1]] = stride;
    stride = next_stride(stride, dims[order[i - 1]], i == order.size() ? gap : 0);
  }
  return strides;
}

Dims strides_for(const Tensor& tensor, const Dims& dims) {
  if (tensor.strides.size() != dims.size()) return {};
  const std::vector<size_t> order = order_of(tensor.strides);
  Dims strides = tensor.strides;
  for (size_t i = order.size(); i > 1; --i) {
    const size_t dim = order[i - 1], next = order[i - 2];
    const int64_t gap = tensor.strides[next] - next_stride(tensor.strides[dim], tensor.dims[dim], 0);
    strides[next] = next_stride(strides[dim], dims[dim], std::max<int64_t>(gap, 0));
  }
  return strides;
}

Descriptor descriptor_of(const Tensor& tensor) {
  try {
    Descriptor desc = tensor.strides.empty()
                          ? Descriptor(tensor.dtype, tensor.dims, tensor.layout)
                          : Descriptor::with_strides(tensor.dtype, tensor.dims, tensor.strides, tensor.layout);
    if (tensor.onchip_dtype != MLUOP_DTYPE_INVALID) {
      require(mluOpSetTensorDescriptorOnchipDataType(desc, tensor.onchip_dtype));
    }
    return desc;
  } catch (const std::runtime_error& error) {
    fail(tensor.place, error.what());
  }
}

}  // namespace mluop::cases
