#include "ops/three_interpolate_backward/plan.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/boundary.h"
#include "core/dtype.h"
#include "core/half.h"
#include "core/sizes.h"
#include "core/text.h"
#include "core/workspace_layout.h"
#include "ops/three_interpolate_backward/tile.h"

namespace mluop::three_interpolate_backward {
namespace {

constexpr int64_t kStrip = Tiling::kStrip;

// Outputs from here on bypass the caches: half of a server core's share of the last level.
constexpr int64_t kStreamBytes = 8 << 20;
// Calls from here on fetch points ahead: where they are in a cache, that takes longer than waiting for them.
// Measured with 32 MiB in the last level: 21 MB were slower with, 42 MB without.
constexpr int64_t kFetchBytes = 32 << 20;

// With fewer channels, grouping costs about as much as it saves.
constexpr int64_t kMinGroupedChannels = 3 * kStrip;
// Grouping saves additions from waiting for those before: with more features, the same one seldom comes again
// soon. Measured on 64 to 4096 points with AVX-512.
constexpr int64_t kMaxGroupedFeatures = 96;
// With fewer pairs than that of a feature, there is little to group.
constexpr int64_t kMinPairs = 2;

// Strips that share the decoding of a pair, as long as there are so many items for each task.
constexpr int64_t kMaxStrips = 4;
constexpr int64_t kItemsPerTask = 8;
// Transposed points stay in the first level of the cache.
constexpr int64_t kPointBytes = 32 << 10;

// In bytes that could be moved meanwhile: what grouping a pair takes.
constexpr int64_t kGroupBytes = 32;
// Checking indices is so many times as fast as moving their bytes.
constexpr int64_t kCheckSpeed = 4;

int64_t bytes_moved(const Args& args) {
  const auto element = static_cast<int64_t>(size_of(args.dtype));
  return args.index_count() * (element + int64_t{sizeof(int32_t)}) + args.B * args.C * (args.N + args.M) * element;
}

// The most rows, a multiple of `unit`, whose tile fits in `bytes`; bytes_of(rows) is linear. 0 if none does.
template <class Bytes>
int64_t most_rows(size_t bytes, int64_t unit, const Bytes& bytes_of) {
  const size_t least = bytes_of(static_cast<size_t>(unit));
  if (bytes < least) return 0;
  const size_t step = bytes_of(static_cast<size_t>(2 * unit)) - least;
  return unit + static_cast<int64_t>((bytes - least) / step) * unit;
}

// Each chunk of features reads all points of its batch: more than NRAM asks for only where tasks would be idle.
int64_t chunk_features(const Args& args, int64_t columns, int64_t most, int task_dim) {
  const int64_t pieces = ceil_div(args.M, kStrip);
  const int64_t chunks = std::max(ceil_div(args.M, most), std::min(ceil_div(int64_t{task_dim}, columns), pieces));
  return ceil_div(pieces, chunks) * kStrip;
}

// Nothing if grouping does not pay, or its tile does not fit NRAM.
template <class T>
std::optional<Tiling> tile_grouped(const Context& context, const Args& args, int task_dim) {
  if (args.C < kMinGroupedChannels || args.M > kMaxGroupedFeatures || args.N * 3 < args.M * kMinPairs ||
      bytes_moved(args) >= kStreamBytes) {
    return std::nullopt;
  }
  int64_t strips = kMaxStrips;
  while (strips > 1 && args.B * ceil_div(args.C, strips * kStrip) < kItemsPerTask * task_dim) --strips;
  Tiling tiling{};
  tiling.channels = strips * kStrip;
  tiling.features = chunk_features(args, args.B * ceil_div(args.C, tiling.channels), args.M, task_dim);
  const int64_t most = most_rows(context.nram_capacity, kTilePoints<T>, [&](size_t points) {
    return SumTile<T>::bytes(static_cast<size_t>(tiling.channels), points, static_cast<size_t>(tiling.features));
  });
  if (most == 0) return std::nullopt;
  const int64_t cached = kPointBytes / (tiling.channels * int64_t{sizeof(float)});
  tiling.points = std::min({round_up(args.N, kTilePoints<T>), most, cached / kTilePoints<T> * kTilePoints<T>});
  return tiling;
}

template <class T>
Tiling tile_direct(const Context& context, const Args& args, int task_dim) {
  const int64_t most = most_rows(context.nram_capacity, kStrip, DirectTile<T>::bytes);
  if (most == 0) {
    throw Failure(MLUOP_STATUS_ALLOC_FAILED,
                  text("MLUOP_OMP_NRAM_KB is ", context.nram_capacity / 1024, ", expected room for a tile of ",
                       kStrip, " features: ", DirectTile<T>::bytes(kStrip), " bytes"));
  }
  Tiling tiling{};
  tiling.channels = kStrip;
  tiling.points = args.N;
  tiling.features = chunk_features(args, args.B * ceil_div(args.C, kStrip), most, task_dim);
  return tiling;
}

template <class T>
Plan make_plan_of(const Context& context, const Args& args) {
  Plan plan{};
  const int64_t items = args.B * ceil_div(args.C, kStrip) * ceil_div(args.M, kStrip);
  plan.task_dim = choose_task_dim(items, bytes_moved(args));
  if (const auto tiling = tile_grouped<T>(context, args, plan.task_dim)) {
    plan.grouped = true;
    plan.tiling = *tiling;
    plan.index_task_dim = choose_task_dim(args.B * plan.tiling.tiles(args), args.index_count() * kGroupBytes);
  } else {
    plan.tiling = tile_direct<T>(context, args, plan.task_dim);
    plan.index_task_dim =
        choose_task_dim(args.index_count(), args.index_count() * int64_t{sizeof(int32_t)} / kCheckSpeed);
  }
  plan.tiling.stream = bytes_moved(args) >= kStreamBytes;
  plan.tiling.fetch_ahead = bytes_moved(args) >= kFetchBytes;
  return plan;
}

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

// Throws Failure if a task has noted a bad index.
void refuse_bad_index(const Plan& plan, const Args& args, const int64_t* first_bad) {
  const int64_t bad = *std::min_element(first_bad, first_bad + plan.index_task_dim);
  if (bad == kNone) return;
  throw Failure(MLUOP_STATUS_BAD_PARAM, text("indices[", bad / 3 / args.N, ", ", bad / 3 % args.N, ", ", bad % 3,
                                             "] is ", args.indices[bad], ", expected 0 to ", args.M - 1));
}

}  // namespace

Plan make_plan(const Context& context, const Args& args) {
  return args.dtype == MLUOP_DTYPE_HALF ? make_plan_of<Half>(context, args) : make_plan_of<float>(context, args);
}

void run(Context& context, const Plan& plan, const Args& args) {
  context.reserve_nram(std::max(plan.task_dim, plan.index_task_dim));
  const Tiling& tiling = plan.tiling;
  const int64_t tiles = args.B * tiling.tiles(args);
  WorkspaceLayout layout;
  const size_t bad_offset = layout.add<int64_t>(plan.index_task_dim);
  const size_t starts = plan.grouped ? layout.add<uint32_t>(tiles * (args.M + 1)) : 0;
  const size_t pairs = plan.grouped ? layout.add<Groups::Pair>(args.index_count()) : 0;
  std::byte* pool = context.reserve_pool(layout.bytes());
  auto* first_bad = at<int64_t>(pool, bad_offset);
  std::fill_n(first_bad, plan.index_task_dim, kNone);
  if (plan.grouped) {
    const Groups groups{at<uint32_t>(pool, starts), at<Groups::Pair>(pool, pairs)};
    launch(context, plan.index_task_dim, Evenly{tiles}, group_kernel(args.dtype),
           {args, tiling, groups, first_bad});
    refuse_bad_index(plan, args, first_bad);
    launch(context, plan.task_dim, Evenly{tiling.items(args)}, sum_kernel(args.dtype), {args, tiling, groups});
  } else {
    launch(context, plan.index_task_dim, Evenly{args.index_count()}, check_kernel(),
           {args.indices, args.M, first_bad});
    refuse_bad_index(plan, args, first_bad);
    launch(context, plan.task_dim, Evenly{tiling.items(args)}, direct_kernel(args.dtype), {args, tiling});
  }
}

}  // namespace mluop::three_interpolate_backward
