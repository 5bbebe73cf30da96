// The inputs of CenterPoint's backbone, for the cases of indice convolution and of get indice pairs.
#pragma once

#include <cmath>

#include "case/scenes/center_point.h"
#include "perf/support/case.h"

namespace mluop::perf {

// Scales the number of scans, because the number of sites of a scan is limited.
inline scenes::CenterPointInput scaled(scenes::CenterPointInput input, double size) {
  input.sites = scaled(input.sites, size);
  input.scans = static_cast<int>(std::ceil(input.scans * size));
  return input;
}

}  // namespace mluop::perf
