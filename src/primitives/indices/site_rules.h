// Rules for sites, rows of a batch and D coordinates, and for numbers by axis.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/checks.h"

namespace mluop {

inline constexpr int64_t kMaxSiteAxes = 7;

// Requires 1 to 7 axes: `columns` is dimension 1 of the tensor `name`. BAD_PARAM.
inline void require_site_columns(std::string_view name, int64_t columns) {
  require(2 <= columns && columns <= kMaxSiteAxes + 1, MLUOP_STATUS_BAD_PARAM, name, " dim 1 is ", columns,
          ", expected 2 to ", kMaxSiteAxes + 1);
}

// Requires elements of at least 1. BAD_PARAM.
inline void require_axis_steps(std::string_view name, const int32_t* steps, int64_t axes) {
  for (int64_t d = 0; d < axes; ++d) {
    require(steps[d] >= 1, MLUOP_STATUS_BAD_PARAM, name, "[", d, "] is ", steps[d], ", expected at least 1");
  }
}

// x modulo m, from 0 to m - 1. Requires m >= 1.
constexpr int32_t floor_modulo(int32_t x, int32_t m) {
  const int32_t rest = x % m;
  return rest < 0 ? rest + m : rest;
}

}  // namespace mluop
