// A tensor argument of a fuzzed call: a valid descriptor and data of exactly its size, and faults of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "case/operators.h"
#include "case/strides.h"
#include "fuzz/buffer.h"
#include "fuzz/decoder.h"
#include "support/api.h"

namespace mluop::fuzz {

// A change of an argument.
enum class Fault {
  kNone,
  kHarmless,  // the call may succeed, with the same result
  kHarmful,   // the call must fail
};

class Tensor {
 public:
  // takes_strides: whether the call accepts any strides.
  Tensor(const cases::TensorRule& rule, const cases::Tensor& tensor, bool takes_strides, Place place);

  const cases::TensorRule& rule() const { return rule_; }
  size_t count() const { return count_; }
  // The numbers of the elements: two for each complex element.
  size_t numbers() const;
  // Returns a copy of the elements; holds() tells whether the elements equal a copy, with all NaN equal.
  std::vector<std::byte> contents() const;
  bool holds(const std::vector<std::byte>& copy) const;
  Buffer& buffer() { return buffer_; }
  const Buffer& buffer() const { return buffer_; }

  // The arguments of the call.
  cases::Operand operand() const;
  std::byte* pointer() const { return pointer_; }
  // A tensor with strides has other memory for the call: scatter() copies the elements there before it, gather()
  // back after it; the gaps must be unchanged. Other tensors stay as they are.
  bool has_strides() const { return memory_.has_value(); }
  void scatter(cases::Operand& passed);
  void gather();

  // Changes the descriptor: null, empty, data type, layout, dimensions or strides.
  Fault change_desc(Decoder& decoder);
  void set_pointer(std::byte* pointer) { pointer_ = pointer; }
  // Undoes the changes.
  void restore();

 private:
  Fault change_dims(Decoder& decoder);
  Fault change_strides(Decoder& decoder);
  bool set_onchip_dtype();
  bool set_faulty(mluOpTensorLayout_t layout, mluOpDataType_t dtype, const std::vector<int64_t>& dims);

  const cases::TensorRule& rule_;
  mluOpDataType_t dtype_;
  mluOpTensorLayout_t layout_, faulty_layout_;
  mluOpDataType_t onchip_dtype_;
  std::vector<int64_t> dims_, strides_;
  bool takes_strides_;
  size_t count_;
  Buffer buffer_;
  std::optional<cases::StridedMemory> memory_;
  std::optional<Buffer> strided_;
  test::Descriptor valid_desc_, faulty_desc_;
  mluOpTensorDescriptor_t desc_;
  std::byte* pointer_;
};

}  // namespace mluop::fuzz
