// The kernels that write the outputs.
#include <algorithm>
#include <cstring>

#include "ops/voxelization/native/kernels.h"

namespace mluop::voxelization::native {
namespace {

// Copies a row of F values, usually 4 or 5: two moves without branches on F.
void copy_row(const float* from, float* to, int64_t F) {
  constexpr int64_t kMove = 4;
  if (F < kMove || F > 2 * kMove) {
    std::memcpy(to, from, static_cast<size_t>(F) * sizeof(float));
    return;
  }
  float head[kMove], tail[kMove];
  std::memcpy(head, from, sizeof(head));
  std::memcpy(tail, from + F - kMove, sizeof(tail));
  std::memcpy(to, head, sizeof(head));
  std::memcpy(to + F - kMove, tail, sizeof(tail));
}

void number(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  const int64_t row = call.F, voxel_elements = call.max_points * call.F;
  for (int64_t item = begin; item < end; ++item) {
    const Range points = args.sizes.chunk(item);
    int64_t voxel = args.buffers.first_counts[item];
    for (int64_t p = points.begin; p < points.end; ++p) {
      int64_t& role = args.buffers.roles[p];
      if (!Role::is_first(role)) continue;
      if (voxel >= call.max_voxels) {
        role = kNone;
        continue;
      }
      const float* point = call.points + p * row;
      const int64_t count = Role::count(role);
      role = Role::first(count, voxel);
      for (size_t axis = 0; axis < 3; ++axis) {
        call.coors[voxel * 3 + 2 - static_cast<int64_t>(axis)] =
            static_cast<int32_t>(call.axes[axis].cell(point[axis]));
      }
      call.num_points_per_voxel[voxel] = static_cast<int32_t>(count);
      float* to = call.voxels + voxel * voxel_elements;
      if (count > 0) copy_row(point, to, row);
      if (count * row < voxel_elements) {
        std::memset(to + count * row, 0, static_cast<size_t>(voxel_elements - count * row) * sizeof(float));
      }
      ++voxel;
    }
  }
}

void copy(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  const int64_t* roles = args.buffers.roles;
  for (int64_t item = begin; item < end; ++item) {
    const Range points = args.sizes.chunk(item);
    for (int64_t p = points.begin; p < points.end; ++p) {
      const int64_t role = roles[p];
      if (!Role::is_other(role)) continue;
      const int64_t first = roles[Role::first_point(role)];
      if (first == kNone) continue;
      const int64_t to = Role::number(first) * call.max_points + Role::number(role);
      copy_row(call.points + p * call.F, call.voxels + to * call.F, call.F);
    }
  }
}

}  // namespace

Kernel number_kernel() { return number; }

Kernel copy_kernel() { return copy; }

}  // namespace mluop::voxelization::native
