#include "fuzz/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "case/values.h"
#include "fuzz/check.h"

namespace mluop::fuzz {
namespace {

constexpr mluOpDataType_t kDtypes[] = {
    MLUOP_DTYPE_HALF,   MLUOP_DTYPE_FLOAT,        MLUOP_DTYPE_INT8,          MLUOP_DTYPE_INT16,
    MLUOP_DTYPE_INT31,  MLUOP_DTYPE_INT32,        MLUOP_DTYPE_UINT8,         MLUOP_DTYPE_BOOL,
    MLUOP_DTYPE_INT64,  MLUOP_DTYPE_UINT32,       MLUOP_DTYPE_UINT64,        MLUOP_DTYPE_UINT16,
    MLUOP_DTYPE_DOUBLE, MLUOP_DTYPE_COMPLEX_HALF, MLUOP_DTYPE_COMPLEX_FLOAT, MLUOP_DTYPE_BFLOAT16};

int dim_count(const std::vector<int64_t>& dims) { return static_cast<int>(dims.size()); }

}  // namespace

Tensor::Tensor(const cases::TensorRule& rule, const cases::Tensor& tensor, bool takes_strides, Place place)
    : rule_(rule),
      dtype_(tensor.dtype),
      layout_(tensor.layout),
      faulty_layout_(tensor.layout),
      onchip_dtype_(tensor.onchip_dtype),
      dims_(tensor.dims),
      strides_(tensor.strides),
      takes_strides_(takes_strides),
      count_(static_cast<size_t>(element_count(tensor))),
      buffer_(byte_count(tensor), cases::element_size(tensor.dtype), place),
      valid_desc_(descriptor_of(tensor)),
      desc_(valid_desc_),
      pointer_(buffer_.data()) {
  if (!is_strided(tensor)) return;
  memory_.emplace(tensor, rule.is_written());
  strided_.emplace(memory_->bytes(), cases::element_size(tensor.dtype), place);
}

size_t Tensor::numbers() const { return count_ * cases::parts_of(dtype_); }

void Tensor::scatter(cases::Operand& passed) {
  if (!memory_ || pointer_ == nullptr) return;
  memory_->scatter(buffer_.data(), strided_->data());
  passed.data = strided_->data();
}

void Tensor::gather() {
  if (!memory_ || pointer_ == nullptr) return;
  check(strided_->intact(), "bytes next to a tensor have changed");
  check(memory_->has_intact_gaps(strided_->data()), "bytes between the elements of a tensor have changed");
  memory_->gather(strided_->data(), buffer_.data());
}

cases::Operand Tensor::operand() const {
  cases::Operand operand;
  operand.dtype = dtype_;
  operand.layout = faulty_layout_;
  operand.dims = dims_;
  operand.desc = desc_;
  operand.data = pointer_;
  return operand;
}

std::vector<std::byte> Tensor::contents() const { return {buffer_.data(), buffer_.data() + buffer_.byte_count()}; }

bool Tensor::holds(const std::vector<std::byte>& copy) const {
  if (copy.empty() || std::memcmp(copy.data(), buffer_.data(), copy.size()) == 0) return true;
  if (!cases::is_floating(dtype_)) return false;
  for (size_t i = 0; i < numbers(); ++i) {
    const bool both_nan = std::isnan(cases::number_at(copy.data(), dtype_, i)) &&
                          std::isnan(cases::number_at(buffer_.data(), dtype_, i));
    if (!both_nan && cases::bits_at(copy.data(), dtype_, i) != cases::bits_at(buffer_.data(), dtype_, i))
      return false;
  }
  return true;
}

Fault Tensor::change_desc(Decoder& decoder) {
  // The tensor may be absent.
  if (!rule_.has_descriptor || (rule_.is_optional && count_ == 0)) return Fault::kNone;
  desc_ = faulty_desc_;
  check_success(mluOpResetTensorDescriptor(desc_), "mluOpResetTensorDescriptor");
  switch (decoder.number(0, 5)) {
    case 0: desc_ = nullptr; return Fault::kHarmful;
    case 1: return Fault::kHarmful;  // empty
    case 2: {
      const mluOpDataType_t dtype = decoder.pick(kDtypes);
      if (dtype == dtype_ || rule_.is_any_type || !set_faulty(layout_, dtype, dims_)) break;
      return Fault::kHarmful;
    }
    case 3: {
      const auto layout = static_cast<mluOpTensorLayout_t>(decoder.number(0, MLUOP_LAYOUT_NCL));
      const auto& others = rule_.other_layouts;
      if (layout == layout_ || !set_faulty(layout, dtype_, dims_)) break;
      if (std::find(others.begin(), others.end(), layout) == others.end()) return Fault::kHarmful;
      faulty_layout_ = layout;
      return Fault::kHarmless;
    }
    case 4: return change_dims(decoder);
    default: return change_strides(decoder);
  }
  desc_ = valid_desc_;
  return Fault::kNone;
}

Fault Tensor::change_dims(Decoder& decoder) {
  std::vector<int64_t> dims = dims_;
  const size_t at = decoder.index(dims.size());
  if (rule_.has_any_rank && !rule_.free_dims.empty()) {
    // Any shape is valid.
  } else if (decoder.one_in(4)) {
    // Changes the number of dimensions.
    if (decoder.flag() && dims.size() > 1) {
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), decoder.number(0, 2));
    }
    // Filters with one dimension more or less may have the same elements.
    if (rule_.is_filters) dims = dims_;
  } else {
    const bool is_free = std::find(rule_.free_dims.begin(), rule_.free_dims.end(), at) != rule_.free_dims.end();
    dims[at] = decoder.flag() ? decoder.any_number() : dims[at] + decoder.number(-1, 1);
    // Filters without elements may have any other dimensions: the call uses only their number of offsets.
    // Dimensions of size 1 may be broadcast.
    const bool is_broadcast = rule_.has_any_rank && (dims[at] == 1 || dims_[at] == 1);
    if (is_free || is_broadcast || (rule_.is_filters && count_ == 0)) dims[at] = dims_[at];
  }
  // An optional tensor of the shape [0] is missing.
  const bool is_missing = rule_.is_optional && dims == std::vector<int64_t>{0};
  if (dims != dims_ && !is_missing && set_faulty(layout_, dtype_, dims)) return Fault::kHarmful;
  desc_ = valid_desc_;
  return Fault::kNone;
}

Fault Tensor::change_strides(Decoder& decoder) {
  // A call that accepts the strides would need other memory.
  if (takes_strides_ || has_strides()) {
    desc_ = valid_desc_;
    return Fault::kNone;
  }
  std::vector<int64_t> strides(dims_.size(), 1);
  for (size_t i = strides.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * std::max<int64_t>(dims_[i], 1);
  const size_t at = decoder.index(strides.size());
  const int64_t contiguous = strides[at];
  strides[at] = decoder.flag() ? decoder.any_number() : contiguous + decoder.number(-1, 1);
  const mluOpStatus_t status = mluOpSetTensorDescriptorEx_v2(faulty_desc_, layout_, dtype_, dim_count(strides),
                                                             dims_.data(), strides.data());
  if (status != MLUOP_STATUS_SUCCESS || !set_onchip_dtype()) {
    desc_ = valid_desc_;
    return Fault::kNone;
  }
  const bool harmless = strides[at] == contiguous || dims_[at] == 1 || count_ == 0;
  return harmless ? Fault::kHarmless : Fault::kHarmful;
}

bool Tensor::set_faulty(mluOpTensorLayout_t layout, mluOpDataType_t dtype, const std::vector<int64_t>& dims) {
  const mluOpStatus_t status =
      has_strides() && dims == dims_
          ? mluOpSetTensorDescriptorEx_v2(faulty_desc_, layout, dtype, dim_count(dims), dims.data(),
                                          strides_.data())
          : mluOpSetTensorDescriptor_v2(faulty_desc_, layout, dtype, dim_count(dims), dims.data());
  return status == MLUOP_STATUS_SUCCESS && set_onchip_dtype();
}

bool Tensor::set_onchip_dtype() {
  return onchip_dtype_ == MLUOP_DTYPE_INVALID ||
         mluOpSetTensorDescriptorOnchipDataType(faulty_desc_, onchip_dtype_) == MLUOP_STATUS_SUCCESS;
}

void Tensor::restore() {
  desc_ = valid_desc_;
  faulty_layout_ = layout_;
  pointer_ = buffer_.data();
}

}  // namespace mluop::fuzz
