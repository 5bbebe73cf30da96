// The sparse tensors of CenterPoint's backbone: batches of LiDAR scans as voxels, and what its strided
// convolutions make of them.
#pragma once

#include <cstdint>
#include <vector>

#include "support/indice_pairs.h"

namespace mluop::test {

// Of the network's strided convolutions, each from one level of its backbone to the next.
inline constexpr SparseConvolution kCenterPointSteps[] = {
    {{3, 3, 3}, {2, 2, 2}, {1, 1, 1}},
    {{3, 3, 3}, {2, 2, 2}, {1, 1, 1}},
    {{3, 3, 3}, {2, 2, 2}, {0, 1, 1}},
    {{3, 1, 1}, {2, 1, 1}},
};

struct CenterPointInput {
  int level;
  int64_t sites;  // of all scans together
  int scans = 4;
};
// The four inputs in the operator's document.
inline constexpr CenterPointInput kCenterPointInputs[] = {{0, 248636}, {1, 280511}, {2, 149100}, {3, 58838}};

struct SparseTensor {
  Site grid;
  std::vector<Site> sites;  // by (batch, z, y, x)
};

// Level 0 has 41 x 1440 x 1440 voxels of 0.2 x 0.075 x 0.075 m around the car. A batch of scans from different
// places, each of a moving sensor of 32 beams that sweeps on until the level has its share of `sites`: in the
// document's inputs four to thirty turns. Throws if a scan cannot have so many.
SparseTensor center_point_tensor(const CenterPointInput& input);

}  // namespace mluop::test
