// Indice convolution forward: the pairs of all offsets, checked and sorted by tile of the output.
#pragma once

#include <cstdint>

#include "core/workspace_layout.h"
#include "ops/indice_convolution_forward/kernels.h"
#include "team/context.h"

namespace mluop::indice_convolution_forward {

// Where all but the order lies in a workspace.
struct BucketsLayout {
  // Tiles of 2^shift rows; up to task_dim tasks.
  BucketsLayout(WorkspaceLayout& workspace, const Args& args, int shift, int task_dim);

  CountingLayout counting;
  int shift;
  size_t first_numbers, noted;  // offsets
};

// `order` has pair_count elements, `notes` pair_count / kPairsPerNote; null: the pairs will be counted alone.
Buckets make_buckets(const BucketsLayout& layout, const Args& args, std::byte* workspace, int32_t* order,
                     int32_t* notes);

// Counts the pairs of each tile. Throws Failure with BAD_PARAM if an index is out of bounds.
void check_and_count(Context& context, const Args& args, const Buckets& buckets);

// Writes the order of what is counted.
void sort(Context& context, const Args& args, const Buckets& buckets);

}  // namespace mluop::indice_convolution_forward
