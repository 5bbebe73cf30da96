// The half of the oracles, under the names of the tests.
#pragma once

#include "reference/half.h"

namespace mluop::test {

using reference::floats_of;
using reference::Half;
using reference::half_value;
using reference::to_f16;
using reference::to_f32;

}  // namespace mluop::test
