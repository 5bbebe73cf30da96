#include "recording/argument.h"

#include "core/dtype.h"
#include "core/text.h"

namespace mluop {

int64_t Argument::count() const { return is_tensor() ? span_count(*desc) : shape[0]; }

int64_t Argument::bytes() const {
  return count() * static_cast<int64_t>(size_of(is_tensor() ? desc->dtype : dtype));
}

std::string text_of(const Parameter& parameter) {
  struct {
    std::string operator()(int64_t value) const { return text(value); }
    std::string operator()(float value) const { return text(value); }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(mluOpReduceMode_t value) const { return text(static_cast<int>(value)); }
    std::string operator()(std::span<const int32_t> values) const {
      std::string list;
      for (const int32_t value : values) list += text(list.empty() ? "" : ", ", value);
      return values.size() == 1 ? list : "[" + list + "]";
    }
  } const value_text;
  return text(parameter.name, " ", std::visit(value_text, parameter.value));
}

}  // namespace mluop
