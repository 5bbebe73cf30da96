#include "core/checks.h"

#include "core/dtype.h"

namespace mluop {

bool Checks::refuse(mluOpStatus_t status, const std::string& message) {
  status_ = fail(function_, status, message);
  return false;
}

bool Checks::not_null(std::string_view name, const void* pointer) {
  return rule(pointer != nullptr, MLUOP_STATUS_BAD_PARAM, name, " is null");
}

bool Checks::positive(std::string_view name, int64_t value) {
  return rule(value > 0, MLUOP_STATUS_BAD_PARAM, name, " is ", value, ", expected at least 1");
}

bool Checks::tensor(std::string_view name, const TensorDescriptor* desc, mluOpDataType_t dtype,
                    mluOpTensorLayout_t layout, std::initializer_list<int64_t> shape) {
  const auto bad = MLUOP_STATUS_BAD_PARAM;
  if (!rule(desc != nullptr, bad, name, "_desc is null") ||
      !rule(desc->dtype == dtype, bad, name, " has data type ", name_of(desc->dtype), ", expected ",
            name_of(dtype)) ||
      !rule(desc->layout == layout, bad, name, " has layout ", name_of(desc->layout), ", expected ",
            name_of(layout)) ||
      !rule(desc->dim_count == static_cast<int>(shape.size()), bad, name, " has ", desc->dim_count,
            " dimensions, expected ", shape.size())) {
    return false;
  }
  int i = 0;
  for (const int64_t expected : shape) {
    if (!rule(expected == -1 || desc->dims[i] == expected, bad, name, " dim ", i, " is ", desc->dims[i],
              ", expected ", expected)) {
      return false;
    }
    ++i;
  }
  return is_contiguous(*desc) ||
         refuse(bad, text(name, " has strides ", shape_text({desc->strides.data(), shape.size()}),
                          ", expected a contiguous tensor of shape ", shape_text(desc->shape())));
}

bool Checks::data(std::string_view name, const TensorDescriptor* desc, const void* data) {
  return data != nullptr || element_count(*desc) == 0 ||
         refuse(MLUOP_STATUS_BAD_PARAM,
                text(name, " is null, expected the data of a tensor ", shape_text(desc->shape())));
}

bool Checks::no_overlap(std::initializer_list<Memory> outputs, std::initializer_list<Memory> inputs) {
  for (const Memory* output = outputs.begin(); output != outputs.end(); ++output) {
    for (const Memory& input : inputs) {
      if (!apart(*output, input)) return false;
    }
    for (const Memory* other = output + 1; other != outputs.end(); ++other) {
      if (!apart(*output, *other)) return false;
    }
  }
  return true;
}

bool Checks::apart(const Memory& output, const Memory& other) {
  const auto first = reinterpret_cast<uintptr_t>(output.data);
  const auto second = reinterpret_cast<uintptr_t>(other.data);
  const bool disjoint = output.bytes == 0 || other.bytes == 0 ||
                        (first < second ? second - first >= static_cast<uintptr_t>(output.bytes)
                                        : first - second >= static_cast<uintptr_t>(other.bytes));
  return rule(disjoint, MLUOP_STATUS_BAD_PARAM, output.name, " overlaps ", other.name,
              ", expected memory of its own");
}

}  // namespace mluop
