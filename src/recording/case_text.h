// The text format of protobuf messages, in every locale. Parsers read back the exact values: floats have as many
// digits as they need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "recording/argument.h"

namespace mluop {

class CaseText {
 public:
  // Fields of a message that is nested in `depth` other messages.
  explicit CaseText(int depth = 0) : depth_(depth) {}

  void comment(std::string_view line);
  // Open and close a nested message.
  void begin(std::string_view message);
  void end();

  // A number or an enumerator.
  void field(std::string_view name, std::string_view value);
  void field(std::string_view name, int64_t value);
  void string_field(std::string_view name, std::string_view value);
  // An array is a repeated field.
  void parameter(const Parameter& parameter);
  // Shape, layout, data type, and the on-chip data type if it is set.
  void descriptor(const TensorDescriptor& desc);

  // The elements of a tensor, as one repeated field: begin_elements(), elements() for each part in order, and
  // end_elements(). INT32 is written as value_i, other types as value_h (bits) or value_f (decimals); a complex
  // element as two numbers.
  void begin_elements(mluOpDataType_t dtype, bool decimal);
  void elements(mluOpDataType_t dtype, bool decimal, std::span<const std::byte> bytes);
  void end_elements();

  // Appends fields of the same depth.
  void append(const CaseText& fields) { text_ += fields.text_; }
  const std::string& text() const { return text_; }
  void clear() { text_.clear(); }

 private:
  void indent() { text_.append(2 * static_cast<size_t>(depth_), ' '); }

  int depth_;
  int64_t element_ = 0;  // index of the next element of the repeated field
  std::string text_;
};

}  // namespace mluop
