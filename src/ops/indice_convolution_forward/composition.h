// Indice convolution forward, atomics mode: the document's composition of primitives.
#pragma once

#include <cstddef>

#include "core/workspace_layout.h"
#include "ops/indice_convolution_forward/kernels.h"
#include "team/context.h"

namespace mluop::indice_convolution_forward {

// The document's order of the workspace. Pairs of an offset are taken in slices, so that the parts of a slice stay
// small beside the tensors.
struct CompositionLayout {
  CompositionLayout(WorkspaceLayout& workspace, const Args& args);

  int64_t slice;                             // pairs
  size_t filters, products, gathered, sums;  // offsets of [K, Ci, Co], [slice, Co], [slice, Ci], half: [M, Co]
};

// Fills the output with zeros and then, for each offset: gathers rows of features, multiplies them by the offset's
// filter, and adds the products to the output with atomics. Throws Failure and std::bad_alloc before the output is
// written.
void run_composition(Context& context, const Args& args, std::byte* workspace);

}  // namespace mluop::indice_convolution_forward
