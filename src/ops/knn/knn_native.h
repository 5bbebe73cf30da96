// k nearest neighbors: workspace and launches of the native algorithm. The first separates the coordinates of the
// points; then each center is compared with vectors of points. The k + 1 nearest tell whether the order in which
// mmcv's heap leaves equal distances matters; the heap itself runs where it does.
#pragma once

#include "ops/knn/knn_args.h"
#include "team/operator_call.h"

namespace mluop::knn::native {

size_t workspace_bytes(const Sizes& sizes);

// Computes the outputs, which have elements. Throws Failure (ALLOC_FAILED) or std::bad_alloc before it writes
// them.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace mluop::knn::native
