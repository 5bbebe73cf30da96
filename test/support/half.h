// The half of the oracles, under the names of the tests.
#pragma once

#include "reference/half.h"

namespace mluop::test {

using reference::Half;
using reference::to_f16;
using reference::to_f32;

}  // namespace mluop::test
