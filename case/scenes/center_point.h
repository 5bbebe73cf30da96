// The sparse tensors of CenterPoint's backbone: voxels of LiDAR scans, and the outputs of its strided
// convolutions.
#pragma once

#include <cstdint>
#include <vector>

#include "case/scenes/indice_pairs.h"

namespace mluop::scenes {

// The strided convolutions of the network, each from one level of the backbone to the next.
inline constexpr SparseConvolution kCenterPointSteps[] = {
    {{3, 3, 3}, {2, 2, 2}, {1, 1, 1}},
    {{3, 3, 3}, {2, 2, 2}, {1, 1, 1}},
    {{3, 3, 3}, {2, 2, 2}, {0, 1, 1}},
    {{3, 1, 1}, {2, 1, 1}},
};

struct CenterPointInput {
  int level;
  int64_t sites;  // sum over all scans
  int scans = 4;
};
// The four inputs in the operator's document.
inline constexpr CenterPointInput kCenterPointInputs[] = {{0, 248636}, {1, 280511}, {2, 149100}, {3, 58838}};

struct SparseTensor {
  Site grid;
  std::vector<Site> sites;  // by (batch, z, y, x)
};

// Level 0 has 41 x 1440 x 1440 voxels of 0.2 x 0.075 x 0.075 m around the car. The batch consists of scans
// at different places. Each scan accumulates turns of a moving sensor of 32 beams until the level has its share of
// `sites`: four to thirty turns for the inputs of the document. Throws if a scan cannot reach its share.
SparseTensor center_point_tensor(const CenterPointInput& input);

}  // namespace mluop::scenes
