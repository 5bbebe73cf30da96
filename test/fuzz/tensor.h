// A tensor argument of a fuzzed call: a valid descriptor and data of exactly its size, and faults of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/buffer.h"
#include "fuzz/decoder.h"
#include "support/api.h"

namespace mluop::fuzz {

// What a valid descriptor states.
struct TensorFormat {
  mluOpDataType_t dtype;
  std::vector<int64_t> dims;
  mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY;
  // The operator accepts any layout.
  bool any_layout = false;
  // Bit i: only this tensor states dimension i, so that a change of it is no fault.
  unsigned free_dims = 0;
  // Bit i: a change to layout i is no fault.
  unsigned free_layouts = 0;
  // Another number of dimensions may state the same, so that a change of it is no fault.
  bool free_dim_count = false;
};

// A change of an argument.
enum class Fault {
  kNone,
  kHarmless,  // the call may succeed, with the same result
  kHarmful,   // the call must fail
};

class Tensor {
 public:
  Tensor(const TensorFormat& format, bool is_output, Place place);

  template <class T>
  T* data() const {
    return buffer_.as<T>();
  }
  size_t count() const { return count_; }
  bool is_output() const { return is_output_; }
  // A copy of the elements, whether they are those of a copy, and whether they are with each NaN equal to any
  // other.
  std::vector<std::byte> contents() const;
  bool is_identical(const std::vector<std::byte>& copy) const;
  bool holds(const std::vector<std::byte>& copy) const;
  Buffer& buffer() { return buffer_; }
  const Buffer& buffer() const { return buffer_; }

  // The arguments of the call.
  mluOpTensorDescriptor_t desc() const { return desc_; }
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

  TensorFormat format_;
  bool is_output_;
  size_t count_;
  Buffer buffer_;
  test::Descriptor valid_desc_, faulty_desc_;
  mluOpTensorDescriptor_t desc_;
  std::byte* pointer_;
};

}  // namespace mluop::fuzz
