#include "fuzz/tensor.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "fuzz/check.h"
#include "fuzz/same_bits.h"

namespace mluop::fuzz {
namespace {

constexpr mluOpDataType_t kDtypes[] = {
    MLUOP_DTYPE_HALF,   MLUOP_DTYPE_FLOAT,        MLUOP_DTYPE_INT8,          MLUOP_DTYPE_INT16,
    MLUOP_DTYPE_INT31,  MLUOP_DTYPE_INT32,        MLUOP_DTYPE_UINT8,         MLUOP_DTYPE_BOOL,
    MLUOP_DTYPE_INT64,  MLUOP_DTYPE_UINT32,       MLUOP_DTYPE_UINT64,        MLUOP_DTYPE_UINT16,
    MLUOP_DTYPE_DOUBLE, MLUOP_DTYPE_COMPLEX_HALF, MLUOP_DTYPE_COMPLEX_FLOAT, MLUOP_DTYPE_BFLOAT16};

size_t element_bytes(mluOpDataType_t dtype) {
  size_t bytes = 0;
  check_success(mluOpGetSizeOfDataType(dtype, &bytes), "mluOpGetSizeOfDataType");
  return bytes;
}

size_t product(const std::vector<int64_t>& dims) {
  return static_cast<size_t>(std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()));
}

int dim_count(const std::vector<int64_t>& dims) { return static_cast<int>(dims.size()); }

}  // namespace

Tensor::Tensor(const TensorFormat& format, bool is_output, Place place)
    : format_(format),
      is_output_(is_output),
      count_(product(format.dims)),
      buffer_(count_ * element_bytes(format.dtype), element_bytes(format.dtype), place),
      valid_desc_(format.dtype, format.dims, format.layout),
      desc_(valid_desc_),
      pointer_(buffer_.data()) {}

std::vector<std::byte> Tensor::contents() const { return {buffer_.data(), buffer_.data() + buffer_.byte_count()}; }

bool Tensor::is_identical(const std::vector<std::byte>& copy) const {
  return copy.empty() || std::memcmp(copy.data(), buffer_.data(), copy.size()) == 0;
}

bool Tensor::holds(const std::vector<std::byte>& copy) const {
  const auto same = [&](auto element) {
    using T = decltype(element);
    return same_bits(data<T>(), reinterpret_cast<const T*>(copy.data()), count_);
  };
  switch (format_.dtype) {
    case MLUOP_DTYPE_HALF: return same(test::Half{});
    case MLUOP_DTYPE_FLOAT: return same(float{});
    default: return is_identical(copy);
  }
}

Fault Tensor::change_desc(Decoder& decoder) {
  desc_ = faulty_desc_;
  check_success(mluOpResetTensorDescriptor(desc_), "mluOpResetTensorDescriptor");
  switch (decoder.number(0, 5)) {
    case 0: desc_ = nullptr; return Fault::kHarmful;
    case 1: return Fault::kHarmful;  // empty
    case 2: {
      const mluOpDataType_t dtype = decoder.pick(kDtypes);
      if (dtype == format_.dtype || !set_faulty(format_.layout, dtype, format_.dims)) break;
      return Fault::kHarmful;
    }
    case 3: {
      const auto layout = static_cast<mluOpTensorLayout_t>(decoder.number(0, MLUOP_LAYOUT_NCL));
      const bool is_free = (format_.free_layouts >> layout & 1) != 0;
      if (layout == format_.layout || is_free || !set_faulty(layout, format_.dtype, format_.dims)) break;
      return format_.any_layout ? Fault::kHarmless : Fault::kHarmful;
    }
    case 4: return change_dims(decoder);
    default: return change_strides(decoder);
  }
  desc_ = valid_desc_;
  return Fault::kNone;
}

Fault Tensor::change_dims(Decoder& decoder) {
  std::vector<int64_t> dims = format_.dims;
  const size_t at = decoder.index(dims.size());
  if (decoder.one_in(4)) {
    // Another number of dimensions.
    if (decoder.flag() && dims.size() > 1) {
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), decoder.number(0, 2));
    }
    if (format_.free_dim_count) dims = format_.dims;
  } else {
    const bool is_free = (format_.free_dims >> at & 1) != 0;
    dims[at] = decoder.flag() ? decoder.any_number() : dims[at] + decoder.number(-1, 1);
    if (is_free) dims[at] = format_.dims[at];
  }
  if (dims != format_.dims && set_faulty(format_.layout, format_.dtype, dims)) return Fault::kHarmful;
  desc_ = valid_desc_;
  return Fault::kNone;
}

Fault Tensor::change_strides(Decoder& decoder) {
  std::vector<int64_t> strides(format_.dims.size(), 1);
  for (size_t i = strides.size() - 1; i > 0; --i)
    strides[i - 1] = strides[i] * std::max<int64_t>(format_.dims[i], 1);
  const size_t at = decoder.index(strides.size());
  const int64_t contiguous = strides[at];
  strides[at] = decoder.flag() ? decoder.any_number() : contiguous + decoder.number(-1, 1);
  const mluOpStatus_t status = mluOpSetTensorDescriptorEx_v2(
      faulty_desc_, format_.layout, format_.dtype, dim_count(strides), format_.dims.data(), strides.data());
  if (status != MLUOP_STATUS_SUCCESS) {
    desc_ = valid_desc_;
    return Fault::kNone;
  }
  const bool harmless = strides[at] == contiguous || format_.dims[at] == 1 || count_ == 0;
  return harmless ? Fault::kHarmless : Fault::kHarmful;
}

bool Tensor::set_faulty(mluOpTensorLayout_t layout, mluOpDataType_t dtype, const std::vector<int64_t>& dims) {
  return mluOpSetTensorDescriptor_v2(faulty_desc_, layout, dtype, dim_count(dims), dims.data()) ==
         MLUOP_STATUS_SUCCESS;
}

void Tensor::restore() {
  desc_ = valid_desc_;
  pointer_ = buffer_.data();
}

}  // namespace mluop::fuzz
