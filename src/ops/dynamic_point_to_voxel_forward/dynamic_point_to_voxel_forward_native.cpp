// Dynamic point to voxel forward, native algorithm: its workspace and its launches.
#include "ops/dynamic_point_to_voxel_forward/dynamic_point_to_voxel_forward.h"

#include <algorithm>

#include "core/caches.h"
#include "ops/dynamic_point_to_voxel_forward/dynamic_point_to_voxel_forward_native_kernels.h"
#include "primitives/sort/radix_sort.h"

namespace mluop::dynamic_point_to_voxel_forward::native {
namespace {

using Sort = RadixSortMemory<uint32_t>;

struct Workspace {
  Workspace(Arena& workspace, int64_t points)
      : sort(workspace, points),
        starts(workspace.take<uint32_t>("starts of voxels", {points + 1})),
        first_voxels(workspace.take<int64_t>("first voxels of parts", {Sort::kMaxParts})) {}

  Sort sort;              // of the points
  uint32_t* starts;       // [V + 1], first place of each voxel; at V, the number of points with a voxel
  int64_t* first_voxels;  // [parts]
};

// Divides the voxels into ranges of equal cost.
struct ByCost {
  const uint32_t* starts;
  int64_t voxel_count;
  Range operator()(int task_dim, int task_id) const {
    // Cost: one row read per point, one row written per voxel.
    return split_cost(voxel_count, task_dim, task_id, [&](int64_t voxel) { return starts[voxel] + voxel; });
  }
};

int64_t bytes_moved(const Args& args) {
  constexpr int64_t kSortedBytes = 64;  // traffic of sorting a point
  return args.point_count * (args.row_bytes() + kSortedBytes);
}

// The launches of a call: run() calls the functions in this order.
class Steps {
 public:
  Steps(Context& context, const Args& args, Arena workspace)
      : context_(context),
        args_(args),
        memory_(workspace, args.point_count),
        task_dim_(choose_task_dim(args.point_count, bytes_moved(args))),
        parts_(static_cast<int>(std::min<int64_t>(task_dim_, memory_.sort.max_parts))),
        pieces_(reserve_pieces()) {}

  int task_dim() const { return task_dim_; }

  Bounds find_bounds() const {
    Bounds bounds{{INT32_MAX, INT32_MAX, INT32_MAX}, {1, 1, 1}, 0};
    std::atomic<int64_t> valid_count{0};
    launch(context_, "bounds", task_dim_, Evenly{args_.point_count}, bounds_kernel(),
           {args_, bounds.lowest, bounds.negated_highest, valid_count});
    bounds.valid_count = valid_count;
    return bounds;
  }

  void sort(const Bounds& bounds) {
    const KeyWords words(bounds);
    size_t sorted_in = 0;
    for (size_t i = 0; i < words.count; ++i) {
      const KeyWord& word = words.words[i];
      auto values = SortedValues::kPositions;
      if (i == 0) {
        launch(context_, "keys", task_dim_, Evenly{args_.point_count}, key_kernel(),
               {args_, word, memory_.sort.keys[0]});
      } else {
        memory_.sort.exchange(sorted_in);
        launch(context_, "next_keys", task_dim_, Evenly{args_.point_count}, next_keys,
               {args_, word, memory_.sort.values[0], memory_.sort.keys[0]});
        values = SortedValues::kGiven;
      }
      sorted_in = radix_sort(context_, task_dim_, args_.point_count, word.bits(), values, memory_.sort);
    }
    sorted_ = {memory_.sort.keys[sorted_in], memory_.sort.values[sorted_in], words.count == 1, bounds.valid_count,
               parts_};
  }

  // Returns the number of voxels.
  int64_t count() const {
    launch(context_, "count_voxels", parts_, Evenly{parts_}, count_voxels, {args_, sorted_, memory_.first_voxels});
    int64_t sum = 0;
    for (int part = 0; part < parts_; ++part) {
      const int64_t voxels = memory_.first_voxels[part];
      memory_.first_voxels[part] = sum;
      sum += voxels;
    }
    return sum;
  }

  void number(int64_t voxels) const {
    launch(context_, "number_voxels", parts_, Evenly{parts_}, number_voxels,
           {args_, sorted_, memory_.first_voxels, memory_.starts});
    memory_.starts[voxels] = static_cast<uint32_t>(sorted_.valid_count);
    const int64_t skipped = args_.point_count - sorted_.valid_count;
    if (skipped > 0) {
      launch(context_, "mark_skipped", task_dim_, Evenly{skipped}, mark_skipped,
             {args_, sorted_.points + sorted_.valid_count});
    }
  }

  void reduce(int64_t voxels) const {
    // Non-temporal stores must fill whole cache lines.
    const bool whole_lines =
        reinterpret_cast<uintptr_t>(args_.voxel_feats) % kCacheLine == 0 && args_.row_bytes() % kCacheLine == 0;
    const bool stream = whole_lines && exceeds_caches(voxels * args_.row_bytes());
    SharedVoxels shared(sorted_.valid_count, memory_.starts);
    // Many chunks, because memory delays cores unequally.
    constexpr int kChunksPerTask = 8;
    launch_dynamic(context_, "reduce", task_dim_, task_dim_ == 1 ? 1 : task_dim_ * kChunksPerTask,
                   ByCost{memory_.starts, voxels}, reduce_kernel(),
                   {args_, sorted_.points, memory_.starts, stream, task_dim_ > 1 ? &shared : nullptr});
    if (shared.count() > 0) reduce_shared(shared);
  }

 private:
  Pieces reserve_pieces() const {
    const int64_t points = args_.reduce_type == MLUOP_REDUCE_DMAX ? args_.point_count : 0;
    Arena arena = context_.reserve(bytes_of<Pieces>(points, task_dim_, args_.channels));
    return {arena, points, task_dim_, args_.channels};
  }

  void reduce_shared(const SharedVoxels& shared) const {
    const SharedArgs shared_args{args_, sorted_.points, shared, pieces_};
    if (args_.reduce_type == MLUOP_REDUCE_DMAX) {
      launch(context_, "reduce_pieces", task_dim_, Evenly{shared.point_count()}, reduce_pieces_kernel(),
             shared_args);
      launch(context_, "merge_pieces", 1, Evenly{task_dim_}, merge_pieces, shared_args);
    } else {
      const int64_t lines = ceil_div(args_.row_bytes(), kCacheLine);
      launch(context_, "reduce_lines", task_dim_, Evenly{shared.count() * lines}, reduce_lines_kernel(),
             shared_args);
    }
  }

  Context& context_;
  const Args& args_;
  Workspace memory_;
  int task_dim_;
  int parts_;  // parts of the sorted points
  Pieces pieces_;
  SortedPoints sorted_{};
};

}  // namespace

size_t workspace_bytes(int64_t points) { return workspace_bytes_of<Workspace>(points); }

void run(Call& call, const Args& args, Arena workspace) {
  Steps steps(call.context(), args, workspace);
  steps.sort(steps.find_bounds());
  const int64_t voxels = steps.count();
  require(voxels <= args.max_voxels, MLUOP_STATUS_BAD_PARAM, "voxel_feats dim 0 is ", args.max_voxels,
          ", expected at least the number of voxels, which is ", voxels);
  call.log_detail("voxels ", voxels, ", native, taskDim ", steps.task_dim());
  steps.number(voxels);
  steps.reduce(voxels);
  args.voxel_num[0] = static_cast<int32_t>(voxels);
}

}  // namespace mluop::dynamic_point_to_voxel_forward::native
