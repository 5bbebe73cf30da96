// The floor of indice convolution forward: its products.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace mluop::perf {

// Multiplies as many blocks of a few rows, the case's filters packed, as its pairs fill: indice_num [K] of them,
// each thread an equal share of every offset. Rows and sums stay in the first level of the cache: no pair is read,
// no row fetched, no sum written back. Products are those of float for half as well.
std::function<void()> indice_convolution_forward_floor(int64_t Ci, int64_t Co, std::span<const int64_t> indice_num,
                                                       int threads);

}  // namespace mluop::perf
