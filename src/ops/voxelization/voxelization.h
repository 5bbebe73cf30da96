// Voxelization: the algorithm and the arguments of a call.
//
// A cell is a position of the grid; its key is (z * cells along y + y) * cells along x + x. A voxel is a cell with
// at least one point; its first point has the lowest index.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "team/operator_call.h"

namespace mluop::voxelization {

// One axis of the grid. All arithmetic is in fp32, as in the definition.
struct Axis {
  float low, size;
  float cells;  // an integer, at most 2^31

  // The cell of a coordinate, if 0 <= cell < cells.
  float cell(float coordinate) const { return std::floor((coordinate - low) / size); }
};

// The arguments of the call, checked.
struct Args {
  int64_t N, F, max_points, max_voxels;
  std::array<Axis, 3> axes;       // x, y, z
  const float* points;            // [N, F]
  float* voxels;                  // [max_voxels, max_points, F]
  int32_t* coors;                 // [max_voxels, 3]
  int32_t* num_points_per_voxel;  // [max_voxels]
  int32_t* voxel_num;             // [1]
};

namespace native {

// The workspace for N points. Throws Failure: BAD_PARAM if the bytes of a buffer exceed int64_t.
size_t workspace_bytes(int64_t N);

// Computes the outputs. Throws std::bad_alloc before it writes them.
void run(Call& call, const Args& args, Arena arena);

}  // namespace native
}  // namespace mluop::voxelization
