#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/voxelization/voxelization_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/simd.h"
#include "ops/voxelization/voxelization_native_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::voxelization::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using Di = hn::RebindToSigned<D>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// Points whose cells are computed together.
constexpr int64_t kGroup = 64;

// The cells of a group of points.
struct Cells {
  alignas(64) float coordinates[3][kGroup];
  alignas(64) int32_t cells[3][kGroup];
  alignas(64) int32_t in_range[kGroup];  // all bits set, or none
};

// Finds the cells of coordinates [0, count); other cells are unspecified.
HWY_INLINE void find_cells(const std::array<Axis, 3>& axes, int64_t count, Cells& group) {
  const D d;
  const Di di;
  for (int64_t i = 0; i < count; i += kLanes) {
    auto in_range = hn::FirstN(d, static_cast<size_t>(kLanes));
    for (size_t axis = 0; axis < 3; ++axis) {
      const auto offset = hn::Sub(hn::Load(d, group.coordinates[axis] + i), hn::Set(d, axes[axis].low));
      const auto cell = hn::Floor(hn::Div(offset, hn::Set(d, axes[axis].size)));
      const auto in_axis = hn::And(hn::Ge(cell, hn::Zero(d)), hn::Lt(cell, hn::Set(d, axes[axis].cells)));
      hn::Store(hn::ConvertTo(di, hn::IfThenElseZero(in_axis, cell)), di, group.cells[axis] + i);
      in_range = hn::And(in_range, in_axis);
    }
    hn::Store(hn::VecFromMask(di, hn::RebindMask(di, in_range)), di, group.in_range + i);
  }
}

void locate_points(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t buckets = args.sizes.buckets;
  const auto columns = static_cast<int64_t>(args.axes[0].cells), rows = static_cast<int64_t>(args.axes[1].cells);
  Cells group{};
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const Range points = args.sizes.points_of(chunk);
    int32_t* const counts = args.workspace.positions + chunk * buckets;
    std::fill_n(counts, buckets, 0);
    for (int64_t first = points.begin; first < points.end; first += kGroup) {
      const int64_t count = std::min(kGroup, points.end - first);
      for (int64_t i = 0; i < count; ++i) {
        const float* point = args.points + (first + i) * args.F;
        for (int64_t axis = 0; axis < 3; ++axis) group.coordinates[axis][i] = point[axis];
      }
      find_cells(args.axes, count, group);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t key = (group.cells[2][i] * rows + group.cells[1][i]) * columns + group.cells[0][i];
        const int64_t in_range = group.in_range[i];
        args.workspace.roles[first + i] = key | ~in_range;
        counts[bucket_of(hash_of(key), buckets)] -= group.in_range[i];
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::voxelization::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::voxelization::native {

MLUOP_EXPORT_KERNEL(locate_kernel, locate_points, KernelArgs);

void count_points(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t buckets = args.sizes.buckets;
  for (int64_t bucket = begin; bucket < end; ++bucket) {
    int32_t before = 0;
    for (int64_t chunk = 0; chunk < args.sizes.chunks; ++chunk) {
      int32_t& position = args.workspace.positions[chunk * buckets + bucket];
      before += std::exchange(position, before);
    }
    args.workspace.bucket_starts[bucket + 1] = before;
  }
}

void partition_points(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const Workspace& workspace = args.workspace;
  const int64_t buckets = args.sizes.buckets;
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    int64_t next[Sizes::kMaxBuckets];
    for (int64_t bucket = 0; bucket < buckets; ++bucket) {
      next[bucket] = workspace.bucket_starts[bucket] + workspace.positions[chunk * buckets + bucket];
    }
    const Range points = args.sizes.points_of(chunk);
    for (int64_t p = points.begin; p < points.end; ++p) {
      const int64_t key = workspace.roles[p];
      if (key == kNone) continue;
      const int64_t to = next[bucket_of(hash_of(key), buckets)]++;
      workspace.keys[to] = key;
      workspace.indices[to] = static_cast<int32_t>(p);
    }
  }
}

namespace {

// The points of a bucket in ascending order.
struct Bucket {
  Bucket(const Workspace& workspace, int64_t number)
      : size(workspace.bucket_starts[number + 1] - workspace.bucket_starts[number]),
        keys(workspace.keys + workspace.bucket_starts[number]),
        indices(workspace.indices + workspace.bucket_starts[number]),
        counts(workspace.counts + workspace.bucket_starts[number]),
        slots(workspace.slots + 2 * workspace.bucket_starts[number]) {}

  // The position in the bucket of the first point with this key: `i` if no earlier point has it.
  int32_t find(int64_t key, int32_t i) const {
    const int64_t slot_count = 2 * size;
    for (int64_t slot = slot_of(hash_of(key), slot_count);; slot = slot + 1 == slot_count ? 0 : slot + 1) {
      int32_t& held = slots[slot];
      if (held == kNone) held = i;
      if (keys[held] == key) return held;
    }
  }

  int64_t size;
  const int64_t* keys;
  const int32_t* indices;
  int32_t* counts;
  int32_t* slots;
};

}  // namespace

void match_points(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t max_points = args.max_points;
  int64_t* const roles = args.workspace.roles;
  for (int64_t number = begin; number < end; ++number) {
    const Bucket bucket(args.workspace, number);
    const auto size = static_cast<int32_t>(bucket.size);
    std::fill_n(bucket.slots, 2 * bucket.size, static_cast<int32_t>(kNone));
    std::fill_n(bucket.counts, bucket.size, 0);
    for (int32_t i = 0; i < size; ++i) {
      const int32_t first = bucket.find(bucket.keys[i], i);
      const int32_t position = bucket.counts[first]++;
      roles[bucket.indices[i]] = position < max_points ? Role::other(bucket.indices[first], position) : kNone;
    }
    for (int32_t i = 0; i < size; ++i) {
      if (bucket.counts[i] == 0) continue;
      roles[bucket.indices[i]] = Role::first(std::min<int64_t>(bucket.counts[i], max_points), 0);
    }
  }
}

void count_first_points(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const Range points = args.sizes.points_of(chunk);
    args.workspace.first_counts[chunk] =
        std::count_if(args.workspace.roles + points.begin, args.workspace.roles + points.end, Role::is_first);
  }
}

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

}  // namespace

void number_voxels(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t row = args.F, voxel_elements = args.max_points * args.F;
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const Range points = args.sizes.points_of(chunk);
    int64_t voxel = args.workspace.first_counts[chunk];
    for (int64_t p = points.begin; p < points.end; ++p) {
      int64_t& role = args.workspace.roles[p];
      if (!Role::is_first(role)) continue;
      if (voxel >= args.max_voxels) {
        role = kNone;
        continue;
      }
      const float* point = args.points + p * row;
      const int64_t count = Role::count(role);
      role = Role::first(count, voxel);
      for (size_t axis = 0; axis < 3; ++axis) {
        args.coors[voxel * 3 + 2 - static_cast<int64_t>(axis)] =
            static_cast<int32_t>(args.axes[axis].cell(point[axis]));
      }
      args.num_points_per_voxel[voxel] = static_cast<int32_t>(count);
      float* to = args.voxels + voxel * voxel_elements;
      if (count > 0) copy_row(point, to, row);
      if (count * row < voxel_elements) {
        std::memset(to + count * row, 0, static_cast<size_t>(voxel_elements - count * row) * sizeof(float));
      }
      ++voxel;
    }
  }
}

void copy_points(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t* roles = args.workspace.roles;
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const Range points = args.sizes.points_of(chunk);
    for (int64_t p = points.begin; p < points.end; ++p) {
      const int64_t role = roles[p];
      if (!Role::is_other(role)) continue;
      const int64_t first = roles[Role::first_point(role)];
      if (first == kNone) continue;
      const int64_t to = Role::number(first) * args.max_points + Role::number(role);
      copy_row(args.points + p * args.F, args.voxels + to * args.F, args.F);
    }
  }
}

}  // namespace mluop::voxelization::native
#endif
