// The inputs of CenterPoint's backbone, for the cases of indice convolution and of get indice pairs.
#pragma once

#include <cmath>

#include "perf/support/case.h"
#include "support/center_point.h"

namespace mluop::perf {

// Scales the number of scans, because the number of sites of a scan is limited.
inline test::CenterPointInput scaled(test::CenterPointInput input, double size) {
  input.sites = scaled(input.sites, size);
  input.scans = static_cast<int>(std::ceil(input.scans * size));
  return input;
}

}  // namespace mluop::perf
