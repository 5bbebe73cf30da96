// Values of fp32 that tests put among ordinary ones.
#pragma once

#include <limits>

namespace mluop::test {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace mluop::test
