// A tensor argument of a fuzzed call: a valid descriptor and data of exactly its size, and faults of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "case/operators.h"
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
  Tensor(const cases::TensorRule& rule, const cases::Tensor& tensor, Place place);

  const cases::TensorRule& rule() const { return rule_; }
  size_t count() const { return count_; }
  // Returns a copy of the elements; holds() tells whether the elements equal a copy, with all NaN equal.
  std::vector<std::byte> contents() const;
  bool holds(const std::vector<std::byte>& copy) const;
  Buffer& buffer() { return buffer_; }
  const Buffer& buffer() const { return buffer_; }

  // The arguments of the call.
  cases::Operand operand() const;
  std::byte* pointer() const { return pointer_; }

  // Changes the descriptor: null, empty, data type, layout, dimensions or strides.
  Fault change_desc(Decoder& decoder);
  void set_pointer(std::byte* pointer) { pointer_ = pointer; }
  // Undoes the changes.
  void restore();

 private:
  Fault change_dims(Decoder& decoder);
  Fault change_strides(Decoder& decoder);
  bool set_faulty(mluOpTensorLayout_t layout, mluOpDataType_t dtype, const std::vector<int64_t>& dims);

  const cases::TensorRule& rule_;
  mluOpDataType_t dtype_;
  mluOpTensorLayout_t layout_, faulty_layout_;
  std::vector<int64_t> dims_;
  size_t count_;
  Buffer buffer_;
  test::Descriptor valid_desc_, faulty_desc_;
  mluOpTensorDescriptor_t desc_;
  std::byte* pointer_;
};

}  // namespace mluop::fuzz
