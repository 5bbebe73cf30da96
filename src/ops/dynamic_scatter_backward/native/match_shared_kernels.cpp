#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/native/match_shared_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <bit>
#include <cstring>

#include "core/simd.h"
#include "ops/dynamic_scatter_backward/native/kernels.h"
#include "ops/dynamic_scatter_backward/native/match-inl.h"
#include "primitives/key_partition-inl.h"
#include "primitives/prefetch.h"
#include "primitives/stream-inl.h"
#include "team/atomics.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward::native {
namespace HWY_NAMESPACE {
using mluop::HWY_NAMESPACE::StreamWriter;
using mluop::HWY_NAMESPACE::visit_owned;

// Zeroes the output row of each point, and reports the point for each channel that no point of this task has
// claimed before.
template <bool kStream>
struct ClaimRows {
  ClaimRows(const SharedArgs& shared_args, const StreamWriter& stream_writer, uint8_t* task_claimed)
      : args(shared_args),
        stream(stream_writer),
        claimed_by_task(task_claimed),
        voxel_bytes(claimed_bytes(args.match.call.channels)),
        lookahead(mluop::HWY_NAMESPACE::row_lookahead(args.match.call.row_bytes())) {}

  HWY_INLINE void prefetch(int64_t point, int64_t) const {
    prefetch_row<Use::kReadOnce>(args.match.call.feats_row(point), args.match.call.row_bytes());
  }

  struct Row {
    template <class D>
    HWY_INLINE void visit(D d, int64_t c, uint8_t* claimed) const {
      stream.write<kStream>(hn::Zero(d), d, to + c);
      const Claims<D> claims(d, features + c, maxima + c, claimed);
      if (HWY_LIKELY(hn::AllFalse(d, claims.added))) return;
      claims.store(d, claimed);
      for (uint64_t bits = claims.bits_of(d, claims.added); bits != 0; bits &= bits - 1) {
        atomic_min(first_points + c + std::countr_zero(bits), point);
      }
    }

    const StreamWriter& stream;
    const float *features, *maxima;
    int32_t* first_points;
    int32_t point;
    float* to;
  };
  HWY_INLINE void visit(int64_t point, int64_t voxel) const {
    const Args& call = args.match.call;
    const int64_t i = args.match.partition.shared_index(voxel);
    for_each_vector(call.channels, claimed_by_task + i * voxel_bytes,
                    Row{stream, call.feats_row(point), call.voxel_feats_row(voxel),
                        args.voxels.first_points + i * call.channels, static_cast<int32_t>(point),
                        call.grad_feats_row(point)});
  }

  const SharedArgs& args;
  const StreamWriter& stream;
  uint8_t* claimed_by_task;
  int64_t voxel_bytes;
  int64_t lookahead;
};

void claim_shared(const SharedArgs& args, int64_t begin, int64_t end, Task& task) {
  const MatchArgs& match = args.match;
  VisitQueue queue(task.nram, match.tile_points);
  const StreamWriter stream;
  uint8_t* const claimed = args.voxels.claimed_by(task.taskId);
  std::memset(claimed, 0, static_cast<size_t>(match.partition.shared_keys() * claimed_bytes(match.call.channels)));
  const Range chunks{begin, end}, ranks = match.partition.shared_ranks();
  if (match.stream) {
    visit_owned(match.points, chunks, ranks, ClaimRows<true>(args, stream, claimed), queue);
  } else {
    visit_owned(match.points, chunks, ranks, ClaimRows<false>(args, stream, claimed), queue);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward::native {

MLUOP_EXPORT_KERNEL(claim_shared_kernel, claim_shared, SharedArgs);

void write_shared(const SharedArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.match.call;
  const KeyPartition& partition = args.match.partition;
  for (int64_t bucket = begin; bucket < end; ++bucket) {
    const Range voxels = partition.keys(partition.ranked_buckets[partition.shared_ranks().begin + bucket]);
    for (int64_t voxel = voxels.begin; voxel < voxels.end; ++voxel) {
      const int32_t* const first_points = args.voxels.first_points + partition.shared_index(voxel) * call.channels;
      const float* const grads = call.grad_voxel_feats_row(voxel);
      for (int64_t c = 0; c < call.channels; ++c) {
        if (first_points[c] != SharedVoxels::kNoPoint) call.grad_feats_row(first_points[c])[c] = grads[c];
      }
    }
  }
}

}  // namespace mluop::dynamic_scatter_backward::native
#endif
