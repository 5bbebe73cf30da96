// Sums over channels whose bits do not depend on the lanes of a vector: channel c is added to partial sum c %
// kPartialSums, in the order of c; then the upper half of the partial sums is added to the lower half, until one
// is left.
#pragma once

#include <cstdint>

namespace mluop {

inline constexpr int64_t kPartialSums = 16;

}  // namespace mluop
