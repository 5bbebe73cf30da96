#include "ops/dynamic_scatter_backward/plan.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "core/boundary.h"
#include "core/text.h"
#include "primitives/fill.h"

namespace mluop::dynamic_scatter_backward {
namespace {

// Outputs from here on bypass the caches: half of a server core's share of the last level.
constexpr int64_t kStreamBytes = 8 << 20;

// What is written past the caches has to fill whole lines.
constexpr int64_t kLineBytes = 64;

// The workspace holds one of these, by the mode, from its first kScratchAlignment boundary on.
struct SourceLayout {
  SourceLayout(WorkspaceLayout& workspace, int64_t voxels, int64_t channels)
      : source(workspace.add<int32_t>(voxels * channels)), locks(workspace.add<int32_t>(voxels)) {}
  size_t source, locks;  // offsets of [V, C] and [V]
};
struct MatchLayout {
  MatchLayout(WorkspaceLayout& workspace, int64_t points, int64_t voxels, int64_t channels)
      : blocks(workspace.add<KeyedItems::Block>(KeyedItems::block_count(points))),
        taken(workspace.add<uint8_t>(voxels * most_taken_bytes(channels))) {}
  size_t blocks, taken;  // offsets of [block_count] and [V, most_taken_bytes()]
};

// Without the bytes that alignment may take. No more voxels than points take part.
size_t aligned_workspace_bytes(int32_t points, int64_t channels) {
  WorkspaceLayout source, match;
  SourceLayout(source, points, channels);
  MatchLayout(match, points, points, channels);
  return std::max(source.bytes(), match.bytes());
}

int64_t bytes_moved(const Args& args) {
  return args.point_count * (2 * args.row_bytes() + int64_t{sizeof(int32_t)}) +
         args.voxel_count * (2 * args.row_bytes());
}

struct SampleArgs {
  const Args& call;
  const KeySample& sample;
  const KeyOrder& order;
};

// Items: stretches of the sample. Counts their points; what the map has wrong is left to rank_kernel().
void sample_points(const SampleArgs& args, int64_t begin, int64_t end, Task& task) {
  args.order.clear(task.taskId);
  for (int64_t stretch = begin; stretch < end; ++stretch) {
    const Range points = args.sample.items(stretch);
    for (int64_t point = points.begin; point < points.end; ++point) {
      const int32_t voxel = args.call.point2voxel_map[point];
      if (0 <= voxel && voxel < args.call.voxel_count) args.order.count(task.taskId, voxel, stretch);
    }
  }
}

// Items: points. Zeroes the rows of the points without voxel.
void zero_skipped(const Args& args, int64_t begin, int64_t end, Task&) {
  for (int64_t point = begin; point < end; ++point) {
    if (args.point2voxel_map[point] != KeyedItems::kNoKey) continue;
    std::memset(args.grad_feats + point * args.channels, 0, static_cast<size_t>(args.row_bytes()));
  }
}

void zero_all(Context& context, const Args& args) {
  fill_zero(context, args.grad_feats, args.point_count * args.row_bytes());
}

void require_good_map(const Args& args, int32_t first_bad) {
  if (first_bad == args.point_count) return;
  throw Failure(MLUOP_STATUS_BAD_PARAM,
                text("point2voxel_map[", first_bad, "] is ", args.point2voxel_map[first_bad],
                     ", expected -1 or a voxel below voxel_num[0], which is ", args.voxel_count));
}

void run_atomics(Context& context, const Plan& plan, const Args& args, std::byte* workspace) {
  WorkspaceLayout workspace_layout;
  const SourceLayout layout(workspace_layout, args.voxel_count, args.channels);
  auto* source = at<int32_t>(workspace, layout.source);
  auto* locks = at<int32_t>(workspace, layout.locks);
  int32_t first_bad = args.point_count;
  fill_zero(context, locks, args.voxel_count * int64_t{sizeof(int32_t)});
  launch(context, plan.task_dim, Evenly{args.point_count}, trace_kernel(), {args, source, locks, &first_bad});
  require_good_map(args, first_bad);
  zero_all(context, args);
  launch(context, plan.task_dim, Evenly{args.voxel_count}, scatter_kernel(), {args, source, locks});
}

void run_deterministic(Context& context, const Plan& plan, const Args& args, std::byte* workspace) {
  WorkspaceLayout workspace_layout;
  const MatchLayout layout(workspace_layout, args.point_count, args.voxel_count, args.channels);
  const KeyedItems points{args.point_count, args.point2voxel_map, at<KeyedItems::Block>(workspace, layout.blocks)};
  // What grows with the tasks is not the caller's concern.
  WorkspaceLayout pool_layout;
  const KeySample sample(args.point_count, plan.task_dim);
  const KeyOrderLayout order_layout(pool_layout, args.voxel_count, sample);
  const KeyOrder order(order_layout, context.reserve_pool(pool_layout.bytes()));
  int32_t first_skipped = args.point_count;
  int32_t first_bad = args.point_count;
  launch<SampleArgs>(context, sample.task_dim, Evenly{sample.stretches}, sample_points, {args, sample, order});
  order.decide(context, sample);
  launch(context, plan.task_dim, Evenly{KeyedItems::block_count(points.item_count)}, rank_kernel(),
         {args, order, points, &first_skipped, &first_bad});
  require_good_map(args, first_bad);
  launch(context, plan.task_dim, ByCost{order}, match_kernel(),
         {args, order, points, at<uint8_t>(workspace, layout.taken), plan.tile_points, plan.stream});
  if (first_skipped < args.point_count) {
    launch(context, plan.task_dim, Evenly{args.point_count}, zero_skipped, args);
  }
}

}  // namespace

size_t workspace_bytes(int32_t points, int64_t channels) {
  if (points == 0 || channels == 0) return 0;
  return aligned_workspace_bytes(points, channels) + kWorkspaceSlack;
}

Plan make_plan(const Context& context, const Args& args) {
  Plan plan{};
  plan.atomics = context.atomics_mode == MLUOP_ATOMICS_ALLOWED;
  plan.task_dim = choose_task_dim(args.point_count, bytes_moved(args));
  const bool whole_lines =
      reinterpret_cast<uintptr_t>(args.grad_feats) % kLineBytes == 0 && args.row_bytes() % kLineBytes == 0;
  plan.stream = whole_lines && bytes_moved(args) >= kStreamBytes;
  if (!plan.atomics) plan.tile_points = fit_blocks(context, OwnedList::bytes);
  return plan;
}

void run(Context& context, const Plan& plan, const Args& args, std::byte* workspace) {
  context.reserve_nram(plan.task_dim);
  if (args.voxel_count == 0) {
    zero_all(context, args);
  } else if (plan.atomics) {
    run_atomics(context, plan, args, align_workspace(workspace));
  } else {
    run_deterministic(context, plan, args, align_workspace(workspace));
  }
}

}  // namespace mluop::dynamic_scatter_backward
