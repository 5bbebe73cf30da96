// Comparisons of bits. A NaN equals a NaN only.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "support/differences.h"

namespace mluop::test {

// Equal bits, or NaN of any payloads: IEEE 754 does not specify which payload an addition of two NaN returns.
bool same_bits(float a, float b);
::testing::AssertionResult same_bits(const std::vector<float>& evaluated, const std::vector<float>& baseline);

}  // namespace mluop::test
