// Indice convolution forward, atomics mode: gather-GEMM-scatter, as in the design document. Its workspace is small
// compared to the tensors: the pairs of an offset are processed in chunks, and half outputs in slices of channels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "ops/indice_convolution_forward/args.h"
#include "team/context.h"

namespace mluop::indice_convolution_forward::device {

// The workspace, in the order of the design document.
struct GatherGemmScatterBuffers {
  GatherGemmScatterBuffers(Arena& workspace, const Args& args);

  int64_t chunk_pairs;
  int64_t channels;     // of a slice: all Co for float, whose sums are the output
  std::byte* filters;   // [K, Ci, channels]
  float* products;      // [chunk_pairs, channels rounded up to kMaxLanes]
  std::byte* features;  // [chunk_pairs, Ci], gathered rows
  float* sums;          // [M, channels], half only
};

// Fills the output with zeros; then, for each slice of channels, offset and chunk of pairs, gathers rows of
// features, multiplies them by the filter of the offset and adds the products to the output with atomics. Throws
// Failure (an index is out of bounds, or a tile does not fit NRAM) and std::bad_alloc before it writes the output.
void run_gather_gemm_scatter(Context& context, const Args& args, Arena workspace);

}  // namespace mluop::indice_convolution_forward::device
