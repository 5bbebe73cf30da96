#include "core/checks.h"

#include <algorithm>
#include <string>
#include <vector>

namespace mluop {

void require_element_type(std::string_view name, mluOpDataType_t dtype,
                          std::initializer_list<mluOpDataType_t> further) {
  if (dtype == MLUOP_DTYPE_FLOAT || is_16_bit(dtype) || std::ranges::count(further, dtype) > 0) return;
  std::vector<mluOpDataType_t> expected = {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF, MLUOP_DTYPE_BFLOAT16};
  expected.insert(expected.end(), further);
  std::string names;
  for (size_t i = 0; i < expected.size(); ++i) {
    names += text(i == 0 ? "" : i + 1 == expected.size() ? " or " : ", ", name_of(expected[i]));
  }
  throw Failure(MLUOP_STATUS_BAD_PARAM, text(name, " has data type ", name_of(dtype), ", expected ", names));
}

}  // namespace mluop
