// Rounds floats to half, to nearest even.
#pragma once

#include <cstdint>

#include "core/half.h"
#include "team/launch.h"

namespace mluop {

void narrow(Context& context, const float* from, int64_t count, Half* to);

}  // namespace mluop
