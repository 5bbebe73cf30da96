#include "reference/voxelization.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

namespace mluop::reference {
namespace {

using Cell = std::array<int32_t, 3>;  // z, y, x

struct Hash {
  size_t operator()(const Cell& cell) const {
    size_t hash = 0;
    for (const int32_t coordinate : cell) hash = hash * 0x9E3779B97F4A7C15U + static_cast<size_t>(coordinate);
    return hash ^ hash >> 29;
  }
};

// Whether the point is in range; if so, writes its cell.
bool locate(const VoxelizationProblem& problem, const float* point, Cell& cell) {
  for (int axis = 0; axis < 3; ++axis) {
    const float low = problem.coors_range[axis], high = problem.coors_range[axis + 3];
    const float cells = std::round((high - low) / problem.voxel_size[axis]);
    const float found = std::floor((point[axis] - low) / problem.voxel_size[axis]);
    if (!(found >= 0 && found < cells)) return false;
    cell[static_cast<size_t>(2 - axis)] = static_cast<int32_t>(found);
  }
  return true;
}

}  // namespace

void voxelization(const VoxelizationProblem& problem, const float* points, float* voxels, int32_t* coors,
                  int32_t* num_points_per_voxel, int32_t* voxel_num) {
  std::fill_n(voxels, problem.voxels_count(), 0.0F);
  std::fill_n(coors, problem.max_voxels * 3, 0);
  std::fill_n(num_points_per_voxel, problem.max_voxels, 0);
  voxel_num[0] = 0;
  // Any grid is valid.
  if (problem.max_voxels == 0) return;
  std::unordered_map<Cell, int64_t, Hash> voxel_of_cell;
  Cell cell;
  for (int64_t p = 0; p < problem.N; ++p) {
    const float* point = points + p * problem.F;
    if (!locate(problem, point, cell)) continue;
    const auto next = static_cast<int64_t>(voxel_of_cell.size());
    const auto found = voxel_of_cell.find(cell);
    if (found == voxel_of_cell.end() && next == problem.max_voxels) continue;
    const int64_t voxel = found == voxel_of_cell.end() ? next : found->second;
    if (voxel == next) {
      voxel_of_cell.emplace(cell, voxel);
      std::copy(cell.begin(), cell.end(), coors + voxel * 3);
    }
    int32_t& count = num_points_per_voxel[voxel];
    if (count == problem.max_points) continue;
    std::copy_n(point, problem.F, voxels + (voxel * problem.max_points + count) * problem.F);
    ++count;
  }
  voxel_num[0] = static_cast<int32_t>(voxel_of_cell.size());
}

}  // namespace mluop::reference
