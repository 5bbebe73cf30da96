// k nearest neighbors: workspace and launches of the native algorithm. The first separates the coordinates of the
// points. Then some centers, the probes, are compared with vectors of all points. Their distances choose the cells
// of a grid, by which the points are sorted. Each other center is compared with the points of the cells around it,
// or with all where these do not tell or a grid does not pay. The k + 1 nearest tell whether the order in which
// mmcv's heap leaves equal distances matters; the heap itself runs where it does, over all points.
#pragma once

#include "ops/knn/knn_args.h"
#include "team/operator_call.h"

namespace mluop::knn::native {

size_t workspace_bytes(const Sizes& sizes);

// Computes the outputs, which have elements. Throws Failure (ALLOC_FAILED) or std::bad_alloc before it writes
// them.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace mluop::knn::native
