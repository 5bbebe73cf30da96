// RoI-aware pooling, backward, native algorithm: its launches. The first checks the points of all voxels and finds
// the voxels with points, which are few; in the second each point has one owner, which adds its gradients in
// the order of the voxels.
#include "ops/roiaware_pool3d/roiaware_pool3d.h"

#include <algorithm>
#include <bit>

#include "core/checks.h"
#include "core/dtype.h"
#include "ops/roiaware_pool3d/roiaware_pool3d_backward_native_kernels.h"

namespace mluop::roiaware_pool3d::backward::native {
namespace {

// Several groups for each task, because points in many voxels cost more. Each group has a bit for each voxel.
constexpr int64_t kGroupsPerTask = 4, kMaxGroups = 64;

Groups groups_of(const BackwardArgs& args, int task_dim) {
  const int64_t wanted = task_dim == 1 ? 1 : std::min(kGroupsPerTask * task_dim, kMaxGroups);
  const auto log2_size = static_cast<int>(std::bit_width(static_cast<uint64_t>(ceil_div(args.N, wanted) - 1)));
  return {ceil_div(args.N, int64_t{1} << log2_size), log2_size};
}

// The memory that the handle keeps.
struct Scratch {
  Scratch(Arena& arena, const BackwardArgs& args, const Groups& groups)
      : word_count(ceil_div(args.voxels(), kWordVoxels)),
        has_points(arena.take<uint64_t>("voxels with points", {word_count, groups.count})),
        sums(arena.take<float>("sums", {is_16_bit(args.dtype) ? args.N : 0, args.C})) {}

  int64_t word_count;
  uint64_t* has_points;  // [word_count, groups.count]
  float* sums;           // [N, C]; empty if grad_in holds the sums
};

// Throws Failure (BAD_PARAM) that names the first count or point out of range by its indices.
void check_points(const BackwardArgs& args, const FirstBadItem& first_bad) {
  if (!first_bad.found()) return;
  const bool is_max = args.method == PoolMethod::kMax;
  const int64_t row = is_max ? args.C : args.P;
  const int64_t voxel = first_bad.item() / row, column = first_bad.item() % row;
  const int64_t x_row = voxel / args.Z / args.Y;
  const int32_t found = (is_max ? args.argmax : args.pts_idx_of_voxels)[first_bad.item()];
  const auto element = text(is_max ? "argmax[" : "pts_idx_of_voxels[", x_row / args.X, ", ", x_row % args.X, ", ",
                            voxel / args.Z % args.Y, ", ", voxel % args.Z, ", ", column, "] is ", found);
  const bool is_count = !is_max && column == 0;
  throw Failure(MLUOP_STATUS_BAD_PARAM, text(element, ", expected ", is_max ? -1 : 0, " to ",
                                             is_count ? args.P - 1 : args.N - 1, is_count ? ", a count" : ""));
}

}  // namespace

void run(Call& call, const BackwardArgs& args) {
  Context& context = call.context();
  const bool is_max = args.method == PoolMethod::kMax;
  const int64_t index_bytes = args.voxels() * (is_max ? args.C : 1) * int64_t{sizeof(int32_t)};
  const int64_t grad_bytes = args.N * args.C * static_cast<int64_t>(size_of(args.dtype));
  const int task_dim = choose_task_dim(args.N, std::max(index_bytes, grad_bytes));
  const Groups groups = groups_of(args, task_dim);
  Arena arena = context.reserve(bytes_of<Scratch>(args, groups));
  const Scratch scratch(arena, args, groups);

  FirstBadItem first_bad;
  launch(context, "find", choose_task_dim(scratch.word_count, index_bytes), Evenly{scratch.word_count},
         find_kernel(), {args, groups, scratch.has_points, first_bad});
  check_points(args, first_bad);
  call.log_detail("native, taskDim ", task_dim);
  float* const sums = is_16_bit(args.dtype) ? scratch.sums : static_cast<float*>(args.grad_in);
  launch_dynamic(context, "add", task_dim, static_cast<int>(groups.count), Evenly{groups.count},
                 add_kernel(args.dtype), {args, groups, scratch.has_points, sums});
}

}  // namespace mluop::roiaware_pool3d::backward::native
