// The order of the vertices of the intersection of rotated boxes by its definition: a serial loop in fp32, whose
// results the library returns. The oracle of the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

// pairs: B x N. vertices [pairs, 24, 2], mask [pairs, 24], num_valid [pairs], idx [pairs, 9].
void sort_vertices(int64_t pairs, const float* vertices, const uint8_t* mask, const int32_t* num_valid,
                   int32_t* idx);

}  // namespace mluop::reference
