// Indice convolution forward: the error of an index pair that is out of bounds, for all algorithms.
#pragma once

#include <cstdint>

#include "core/checks.h"
#include "ops/indice_convolution_forward/args.h"

namespace mluop::indice_convolution_forward {

// BAD_PARAM: names the index of pair `pair`, its value and its bound.
Failure bad_index(const Args& args, int64_t pair);

}  // namespace mluop::indice_convolution_forward
