// Voxelization: range kernels of the native algorithm, in the order of their launches. Each reads what the ones
// before it have written.
#pragma once

#include <cstdint>

#include "ops/voxelization/args.h"
#include "ops/voxelization/native/workspace.h"
#include "team/launch.h"

namespace mluop::voxelization::native {

struct KernelArgs {
  const Args& call;
  const Sizes& sizes;
  const Buffers& buffers;
};
using Kernel = RangeKernel<KernelArgs>;

// The hash of a key: the bucket is determined by its upper half, the slot in the table of the bucket by the lower
// one.
inline uint64_t hash_of(int64_t key) {
  // The finalizer of MurmurHash3.
  auto hash = static_cast<uint64_t>(key);
  hash = (hash ^ (hash >> 33)) * 0xFF51AFD7ED558CCDU;
  hash = (hash ^ (hash >> 33)) * 0xC4CEB9FE1A85EC53U;
  return hash ^ hash >> 33;
}
inline int64_t bucket_of(uint64_t hash, int64_t buckets) {
  return static_cast<int64_t>((hash >> 32) * static_cast<uint64_t>(buckets) >> 32);
}
inline int64_t slot_of(uint64_t hash, int64_t slots) {
  return static_cast<int64_t>((hash & UINT32_MAX) * static_cast<uint64_t>(slots) >> 32);
}

// Work items: chunks. The keys of the points, and the sizes of the buckets in each chunk.
Kernel locate_kernel();
// Work items: buckets. The points of the bucket in the chunks before each chunk; bucket_starts[bucket + 1] = all.
Kernel count_kernel();
// Work items: chunks. The keys and indices of the points in the order of buckets.
Kernel partition_kernel();
// Work items: buckets. The role of each point, without the number of its voxel.
Kernel match_kernel();
// Work items: chunks. The number of first points.
Kernel count_first_kernel();
// Work items: chunks. Numbers the voxels of the first points; writes their coors and num_points_per_voxel, their
// first points, and the zeros past their points.
Kernel number_kernel();
// Work items: chunks. Writes the other points.
Kernel copy_kernel();

}  // namespace mluop::voxelization::native
