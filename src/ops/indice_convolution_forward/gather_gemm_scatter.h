// Indice convolution forward, atomics mode: the document's composition of primitives.
#pragma once

#include <cstddef>

#include "core/workspace_layout.h"
#include "ops/indice_convolution_forward/kernels.h"
#include "team/context.h"

namespace mluop::indice_convolution_forward {

// The document's order of the workspace. Pairs of an offset are taken in slices, and half outputs by blocks of
// channels, so that all of it stays small beside the tensors.
struct CompositionLayout {
  CompositionLayout(WorkspaceLayout& workspace, const Args& args);

  int64_t slice;     // pairs
  int64_t channels;  // of a block; all Co for float, whose sums are the output
  // Offsets of [K, Ci, channels], [slice, channels], [slice, Ci] and, for half, [M, channels].
  size_t filters, products, gathered, sums;
};

// Fills the output with zeros and then, for each block and offset: gathers rows of features, multiplies them by
// the offset's filter, and adds the products to the output with atomics. Throws Failure and std::bad_alloc before
// the output is written.
void run_composition(Context& context, const Args& args, std::byte* workspace);

}  // namespace mluop::indice_convolution_forward
