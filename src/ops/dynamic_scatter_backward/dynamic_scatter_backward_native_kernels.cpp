#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/dynamic_scatter_backward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/simd.h"
#include "ops/dynamic_scatter_backward/count_valid-inl.h"
#include "ops/dynamic_scatter_backward/dynamic_scatter_backward_native_kernels.h"
#include "ops/dynamic_scatter_backward/key_partition-inl.h"
#include "primitives/memory/prefetch.h"
#include "primitives/memory/stream-inl.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "primitives/simd/mask_bits-inl.h"
#include "team/atomics.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using dynamic_scatter_backward::HWY_NAMESPACE::count_valid;
using dynamic_scatter_backward::HWY_NAMESPACE::rank_chunk;
using dynamic_scatter_backward::HWY_NAMESPACE::row_lookahead;
using dynamic_scatter_backward::HWY_NAMESPACE::visit_owned;
using mluop::HWY_NAMESPACE::bits_of;
using mluop::HWY_NAMESPACE::StreamWriter;

// For sum and mean.

void check(const CheckArgs& args, int64_t begin, int64_t end, Task&) {
  const int32_t* const map = args.point2voxel_map + begin;
  const int64_t count = end - begin;
  const int64_t valid = count_valid(map, count, args.voxel_count);
  if (valid < count) args.bad_point.report(begin + valid);
  if (args.reduce_type != MLUOP_REDUCE_DMEAN) return;
  const int32_t* const bad_count = std::find_if(
      map, map + valid, [&](int32_t voxel) { return voxel != kNoVoxel && args.voxel_points_count[voxel] < 1; });
  if (bad_count != map + valid) args.bad_point.report(begin + (bad_count - map));
}

// Writes rows of grad_feats. kStream: rows are whole cache lines.
template <bool kMean, bool kStream>
class RowWriter {
 public:
  explicit RowWriter(const Args& args) : args_(args) {}

  HWY_INLINE void write(int64_t point, int32_t voxel) const {
    const float* const from = args_.grad_voxel_feats_row(voxel);
    float* const to = args_.grad_feats_row(point);
    const auto count = static_cast<float>(kMean ? args_.voxel_points_count[voxel] : 1);
    mluop::HWY_NAMESPACE::for_each_vector(args_.channels, [&](auto d, int64_t c) HWY_ATTR {
      stream_.write<kStream>(gradient(d, from + c, count), d, to + c);
    });
  }

  HWY_INLINE void zero(int64_t point) const {
    float* const to = args_.grad_feats_row(point);
    if constexpr (kStream) {
      stream_.fill(reinterpret_cast<uint8_t*>(to), 0, static_cast<size_t>(args_.row_bytes()));
    } else {
      std::fill_n(to, args_.channels, 0.0F);
    }
  }

 private:
  template <class D>
  static HWY_INLINE hn::Vec<D> gradient(D d, const float* from, float count) {
    const auto sum = hn::LoadU(d, from);
    return kMean ? hn::Div(sum, hn::Set(d, count)) : sum;
  }

  const Args& args_;
  const StreamWriter stream_;
};

template <bool kMean, bool kStream>
void gather_rows(const Args& args, int64_t begin, int64_t end) {
  const int64_t lookahead = row_lookahead(args.row_bytes());
  const RowWriter<kMean, kStream> writer(args);
  for (int64_t point = begin; point < end; ++point) {
    const int32_t voxel = args.point2voxel_map[point];
    const int32_t next = args.point2voxel_map[std::min(point + lookahead, end - 1)];
    if (next != kNoVoxel) prefetch_row<Use::kRead>(args.grad_voxel_feats_row(next), args.row_bytes());
    if (voxel == kNoVoxel) {
      writer.zero(point);
    } else {
      writer.write(point, voxel);
    }
  }
}

void gather(const GatherArgs& args, int64_t begin, int64_t end, Task&) {
  if (args.reduce_type == MLUOP_REDUCE_DMEAN) {
    args.stream ? gather_rows<true, true>(args, begin, end) : gather_rows<true, false>(args, begin, end);
  } else {
    args.stream ? gather_rows<false, true>(args, begin, end) : gather_rows<false, false>(args, begin, end);
  }
}

// For the maximum. The kernels without vectors are at the end of the file.

void rank(const RankArgs& args, int64_t begin, int64_t end, Task&) {
  const int32_t* keys = args.points.keys;
  bool skipped = false;
  for (int64_t chunk = begin; chunk < end; ++chunk) {
    const Range points = args.points.chunk_points(chunk);
    const int64_t valid = count_valid(keys + points.begin, points.size(), args.voxel_count);
    if (valid < points.size()) {
      args.bad_point.report(points.begin + valid);
      return;
    }
    skipped =
        skipped || std::find(keys + points.begin, keys + points.end, KeyedPoints::kNoKey) != keys + points.end;
    rank_chunk(args.partition, args.points, chunk);
  }
  if (skipped) args.any_skipped.store(true, std::memory_order_relaxed);
}

// Bytes of one bit per lane.
template <class D>
constexpr int64_t kBitBytes = (hn::MaxLanes(D()) + 7) / 8;

// Bytes of the bits of a voxel: one bit for each channel, set if a point has claimed the channel.
inline int64_t claimed_bytes(int64_t channels) {
  using D = hn::ScalableTag<float>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  return channels / lanes * kBitBytes<D> + (channels % lanes > 0 ? 4 : 0);
}

// The channels of a vector that points have claimed before, and the channels that a point claims because its
// features equal the maxima of the voxel.
template <class D>
struct Claims {
  HWY_INLINE Claims(D d, const float* features, const float* maxima, const uint8_t* claimed) {
    // Highway reads and writes bits in groups of eight bytes.
    uint64_t bits = 0;
    std::memcpy(&bits, claimed, kBitBytes<D>);
    before = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&bits));
    added = hn::AndNot(before, hn::Eq(hn::LoadU(d, features), hn::LoadU(d, maxima)));
  }
  HWY_INLINE void store(D d, uint8_t* claimed) const {
    const uint64_t bits = bits_of(d, hn::Or(before, added));
    std::memcpy(claimed, &bits, kBitBytes<D>);
  }

  hn::Mask<D> before, added;
};

// Calls body(d, channel, claimed) for the vectors of a row, with the first channel and the bits of each vector.
template <class Body>
HWY_INLINE void for_each_vector(int64_t channels, uint8_t* claimed, const Body& body) {
  mluop::HWY_NAMESPACE::for_each_vector(channels, [&](auto d, int64_t c) HWY_ATTR {
    body(d, c, claimed);
    claimed += kBitBytes<decltype(d)>;
  });
}

// Writes the output row of each point, and claims channels of its voxel.
template <bool kStream>
struct MatchRows {
  MatchRows(const MatchArgs& match_args, const StreamWriter& stream_writer)
      : args(match_args),
        stream(stream_writer),
        voxel_bytes(claimed_bytes(args.channels)),
        lookahead(row_lookahead(args.row_bytes())) {}

  HWY_INLINE void prefetch(int64_t point, int64_t voxel) const {
    prefetch_row<Use::kReadOnce>(args.feats_row(point), args.row_bytes());
    prefetch_row<Use::kRead>(args.voxel_feats_row(voxel), args.row_bytes());
    prefetch_row<Use::kRead>(args.grad_voxel_feats_row(voxel), args.row_bytes());
  }

  HWY_INLINE void visit(int64_t point, int64_t voxel) const {
    for_each_vector(args.channels, args.claimed + voxel * voxel_bytes,
                    Vector{stream, args.feats_row(point), args.voxel_feats_row(voxel),
                           args.grad_voxel_feats_row(voxel), args.grad_feats_row(point)});
  }

  struct Vector {
    template <class D>
    HWY_INLINE void operator()(D d, int64_t c, uint8_t* claimed) const {
      const Claims<D> claims(d, features + c, maxima + c, claimed);
      claims.store(d, claimed);
      const auto gradient = hn::IfThenElseZero(claims.added, hn::LoadU(d, grads + c));
      stream.write<kStream>(gradient, d, to + c);
    }

    const StreamWriter& stream;
    const float *HWY_RESTRICT features, *HWY_RESTRICT maxima, *HWY_RESTRICT grads;
    float* HWY_RESTRICT to;
  };

  const MatchArgs& args;
  const StreamWriter& stream;
  int64_t voxel_bytes;
  int64_t lookahead;
};

void match(const MatchArgs& args, int64_t begin, int64_t end, Task& task) {
  VisitQueue queue(task.nram, args.tile_points);
  const StreamWriter stream;
  const int64_t voxel_bytes = claimed_bytes(args.channels);
  for (int64_t rank = begin; rank < end; ++rank) {
    const Range voxels = args.partition.keys(args.partition.ranked_buckets[rank]);
    std::memset(args.claimed + voxels.begin * voxel_bytes, 0, static_cast<size_t>(voxels.size() * voxel_bytes));
  }
  const Range chunks = args.points.chunks(), ranks{begin, end};
  if (args.stream) {
    visit_owned(args.points, chunks, ranks, MatchRows<true>(args, stream), queue);
  } else {
    visit_owned(args.points, chunks, ranks, MatchRows<false>(args, stream), queue);
  }
}

// Zeroes the output row of each point, and reports the point for each channel that no point of this task has
// claimed before.
template <bool kStream>
struct ClaimRows {
  ClaimRows(const SharedArgs& shared_args, const StreamWriter& stream_writer, uint8_t* task_claimed)
      : args(shared_args),
        stream(stream_writer),
        claimed_by_task(task_claimed),
        voxel_bytes(claimed_bytes(args.channels)),
        lookahead(row_lookahead(args.row_bytes())) {}

  HWY_INLINE void prefetch(int64_t point, int64_t) const {
    prefetch_row<Use::kReadOnce>(args.feats_row(point), args.row_bytes());
  }

  HWY_INLINE void visit(int64_t point, int64_t voxel) const {
    const int64_t i = args.partition.shared_index(voxel);
    for_each_vector(args.channels, claimed_by_task + i * voxel_bytes,
                    Vector{stream, args.feats_row(point), args.voxel_feats_row(voxel),
                           args.voxels.first_points + i * args.channels, static_cast<int32_t>(point),
                           args.grad_feats_row(point)});
  }

  struct Vector {
    template <class D>
    HWY_INLINE void operator()(D d, int64_t c, uint8_t* claimed) const {
      stream.write<kStream>(hn::Zero(d), d, to + c);
      const Claims<D> claims(d, features + c, maxima + c, claimed);
      if (HWY_LIKELY(hn::AllFalse(d, claims.added))) return;
      claims.store(d, claimed);
      for (uint64_t bits = bits_of(d, claims.added); bits != 0; bits &= bits - 1) {
        atomic_min(first_points + c + std::countr_zero(bits), point);
      }
    }

    const StreamWriter& stream;
    const float *features, *maxima;
    int32_t* first_points;
    int32_t point;
    float* to;
  };

  const SharedArgs& args;
  const StreamWriter& stream;
  uint8_t* claimed_by_task;
  int64_t voxel_bytes;
  int64_t lookahead;
};

void claim_shared(const SharedArgs& args, int64_t begin, int64_t end, Task& task) {
  VisitQueue queue(task.nram, args.tile_points);
  const StreamWriter stream;
  uint8_t* const claimed = args.voxels.claimed_by(task.taskId);
  std::memset(claimed, 0, static_cast<size_t>(args.partition.shared_keys() * claimed_bytes(args.channels)));
  const Range chunks{begin, end}, ranks = args.partition.shared_ranks();
  if (args.stream) {
    visit_owned(args.points, chunks, ranks, ClaimRows<true>(args, stream, claimed), queue);
  } else {
    visit_owned(args.points, chunks, ranks, ClaimRows<false>(args, stream, claimed), queue);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward::native {

MLUOP_EXPORT_KERNEL(check_kernel, check, CheckArgs);
MLUOP_EXPORT_KERNEL(gather_kernel, gather, GatherArgs);
MLUOP_EXPORT_KERNEL(rank_kernel, rank, RankArgs);
MLUOP_EXPORT_KERNEL(match_kernel, match, MatchArgs);
MLUOP_EXPORT_KERNEL(claim_shared_kernel, claim_shared, SharedArgs);

void sample_points(const SampleArgs& args, int64_t begin, int64_t end, Task& task) {
  args.partition.clear_sample(task.taskId);
  for (int64_t run = begin; run < end; ++run) {
    const Range points = args.sample.points(run);
    for (int64_t point = points.begin; point < points.end; ++point) {
      const int32_t voxel = args.point2voxel_map[point];
      if (0 <= voxel && voxel < args.voxel_count) args.partition.count(task.taskId, voxel, run);
    }
  }
}

void write_shared(const SharedArgs& args, int64_t begin, int64_t end, Task&) {
  const KeyPartition& partition = args.partition;
  for (int64_t bucket = begin; bucket < end; ++bucket) {
    const Range voxels = partition.keys(partition.ranked_buckets[partition.shared_ranks().begin + bucket]);
    for (int64_t voxel = voxels.begin; voxel < voxels.end; ++voxel) {
      const int32_t* const first_points = args.voxels.first_points + partition.shared_index(voxel) * args.channels;
      const float* const grads = args.grad_voxel_feats_row(voxel);
      for (int64_t c = 0; c < args.channels; ++c) {
        if (first_points[c] != SharedVoxels::kNoPoint) args.grad_feats_row(first_points[c])[c] = grads[c];
      }
    }
  }
}

void zero_skipped(const Args& args, int64_t begin, int64_t end, Task&) {
  for (int64_t point = begin; point < end; ++point) {
    if (args.point2voxel_map[point] != KeyedPoints::kNoKey) continue;
    std::memset(args.grad_feats_row(point), 0, static_cast<size_t>(args.row_bytes()));
  }
}

}  // namespace mluop::dynamic_scatter_backward::native
#endif
