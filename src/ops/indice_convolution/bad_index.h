// Indice convolution: the error of an index pair that is out of bounds.
#pragma once

#include <cstdint>

#include "core/checks.h"
#include "ops/indice_convolution/args.h"

namespace mluop::indice_convolution {

// BAD_PARAM: names the index of pair `pair`, its value and its bound.
Failure bad_index(const IndexPairs& pairs, int64_t pair);

}  // namespace mluop::indice_convolution
