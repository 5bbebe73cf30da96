// Shared by the operators on index pairs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "case/description.h"

namespace mluop::cases {

// indice_num, with a number for each offset: the library reads as many numbers as dim 0 of the tensor `pairs`.
// Never null, which the library rejects.
inline const int64_t* indice_num(const Arguments& a, size_t pairs) {
  static constexpr int64_t kNone = 0;
  const std::vector<int64_t>& numbers = a.parameters->list("indice_num");
  const int64_t offsets = a[pairs].dims.empty() ? 0 : a[pairs].dim(0);
  if (static_cast<int64_t>(numbers.size()) != offsets) {
    fail(a.parameters->place, "indice_num has " + std::to_string(numbers.size()) + " values, expected " +
                                  std::to_string(offsets) + ", dim 0 of indice_pairs");
  }
  return numbers.empty() ? &kNone : numbers.data();
}

}  // namespace mluop::cases
