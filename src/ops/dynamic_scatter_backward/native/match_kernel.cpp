#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_scatter_backward/native/match_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <cstring>

#include "core/simd.h"
#include "ops/dynamic_scatter_backward/native/kernels.h"
#include "ops/dynamic_scatter_backward/native/match-inl.h"
#include "primitives/key_partition-inl.h"
#include "primitives/prefetch.h"
#include "primitives/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_scatter_backward::native {
namespace HWY_NAMESPACE {
using mluop::HWY_NAMESPACE::StreamWriter;
using mluop::HWY_NAMESPACE::visit_owned;

// Writes the output row of each point, and claims channels of its voxel.
template <bool kStream>
struct MatchRows {
  MatchRows(const MatchArgs& match_args, const StreamWriter& stream_writer)
      : args(match_args),
        stream(stream_writer),
        voxel_bytes(claimed_bytes(args.call.channels)),
        lookahead(mluop::HWY_NAMESPACE::row_lookahead(args.call.row_bytes())) {}

  HWY_INLINE void prefetch(int64_t point, int64_t voxel) const {
    const Args& call = args.call;
    prefetch_row<Use::kReadOnce>(call.feats_row(point), call.row_bytes());
    prefetch_row<Use::kRead>(call.voxel_feats_row(voxel), call.row_bytes());
    prefetch_row<Use::kRead>(call.grad_voxel_feats_row(voxel), call.row_bytes());
  }

  struct Row {
    template <class D>
    HWY_INLINE void visit(D d, int64_t c, uint8_t* claimed) const {
      const Claims<D> claims(d, features + c, maxima + c, claimed);
      claims.store(d, claimed);
      const auto gradient = hn::IfThenElseZero(claims.added, hn::LoadU(d, grads + c));
      stream.write<kStream>(gradient, d, to + c);
    }

    const StreamWriter& stream;
    const float *HWY_RESTRICT features, *HWY_RESTRICT maxima, *HWY_RESTRICT grads;
    float* HWY_RESTRICT to;
  };
  HWY_INLINE void visit(int64_t point, int64_t voxel) const {
    const Args& call = args.call;
    for_each_vector(call.channels, args.claimed + voxel * voxel_bytes,
                    Row{stream, call.feats_row(point), call.voxel_feats_row(voxel),
                        call.grad_voxel_feats_row(voxel), call.grad_feats_row(point)});
  }

  const MatchArgs& args;
  const StreamWriter& stream;
  int64_t voxel_bytes;
  int64_t lookahead;
};

void match(const MatchArgs& args, int64_t begin, int64_t end, Task& task) {
  VisitQueue queue(task.nram, args.tile_points);
  const StreamWriter stream;
  const int64_t voxel_bytes = claimed_bytes(args.call.channels);
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

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_scatter_backward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_scatter_backward::native {

MLUOP_EXPORT_KERNEL(match_kernel, match, MatchArgs);

}  // namespace mluop::dynamic_scatter_backward::native
#endif
