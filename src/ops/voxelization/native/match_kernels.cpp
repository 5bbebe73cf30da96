// The kernels that find the first point of each voxel.
#include <algorithm>
#include <utility>

#include "ops/voxelization/native/kernels.h"

namespace mluop::voxelization::native {
namespace {

void count(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t buckets = args.sizes.buckets;
  for (int64_t bucket = begin; bucket < end; ++bucket) {
    int32_t before = 0;
    for (int64_t chunk = 0; chunk < args.sizes.chunks; ++chunk) {
      int32_t& position = args.buffers.positions[chunk * buckets + bucket];
      before += std::exchange(position, before);
    }
    args.buffers.bucket_starts[bucket + 1] = before;
  }
}

void partition(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const Buffers& buffers = args.buffers;
  const int64_t buckets = args.sizes.buckets;
  for (int64_t item = begin; item < end; ++item) {
    int64_t next[Sizes::kMaxBuckets];
    for (int64_t bucket = 0; bucket < buckets; ++bucket) {
      next[bucket] = buffers.bucket_starts[bucket] + buffers.positions[item * buckets + bucket];
    }
    const Range points = args.sizes.chunk(item);
    for (int64_t p = points.begin; p < points.end; ++p) {
      const int64_t key = buffers.roles[p];
      if (key == kNone) continue;
      const int64_t to = next[bucket_of(hash_of(key), buckets)]++;
      buffers.keys[to] = key;
      buffers.indices[to] = static_cast<int32_t>(p);
    }
  }
}

// The points of a bucket in ascending order.
struct Bucket {
  Bucket(const Buffers& buffers, int64_t number)
      : size(buffers.bucket_starts[number + 1] - buffers.bucket_starts[number]),
        keys(buffers.keys + buffers.bucket_starts[number]),
        indices(buffers.indices + buffers.bucket_starts[number]),
        counts(buffers.counts + buffers.bucket_starts[number]),
        slots(buffers.slots + 2 * buffers.bucket_starts[number]) {}

  // The position in the bucket of the first point with this key: `i` if there is none before.
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

void match(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t max_points = args.call.max_points;
  int64_t* const roles = args.buffers.roles;
  for (int64_t number = begin; number < end; ++number) {
    const Bucket bucket(args.buffers, number);
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

void count_first(const KernelArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t item = begin; item < end; ++item) {
    const Range points = args.sizes.chunk(item);
    args.buffers.first_counts[item] =
        std::count_if(args.buffers.roles + points.begin, args.buffers.roles + points.end, Role::is_first);
  }
}

}  // namespace

Kernel count_kernel() { return count; }

Kernel partition_kernel() { return partition; }

Kernel match_kernel() { return match; }

Kernel count_first_kernel() { return count_first; }

}  // namespace mluop::voxelization::native
