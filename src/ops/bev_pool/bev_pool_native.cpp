// BEV pool: the launches of the native algorithm. Two check the points and sort them, forward by cell and backward
// by row of features, so that a task owns each sum; the last compute the sums, each in the order of points.
#include "ops/bev_pool/bev_pool.h"

#include "core/checks.h"
#include "core/dtype.h"
#include "core/sizes.h"
#include "ops/bev_pool/bev_pool_native_kernels.h"
#include "primitives/indices/index_pairs.h"

namespace mluop::bev_pool {

void check_counts(int64_t P, int64_t F, std::string_view output, int64_t M) {
  check_row_count("ranks_depth", P);
  check_row_count("features", F);
  check_row_count(output, M);
}

namespace native {
namespace {

// Cost of sorting a point, in bytes of memory traffic.
constexpr int64_t kPointBytes = 24;
// So many tasks read all points in less time than it takes to sort their products.
constexpr int kMaxReadingTasks = 4;
constexpr int64_t kRangesPerTask = 4;

bool is_below(int32_t number, int64_t limit) { return number >= 0 && number < limit; }

Failure bad_number(const Points& points, int64_t p) {
  const auto failure = [&](const char* name, int32_t number, const char* lowest, int64_t limit) {
    return Failure(MLUOP_STATUS_BAD_PARAM,
                   text(name, "[", p, "] is ", number, ", expected ", lowest, " to ", limit - 1));
  };
  if (!is_below(points.ranks_bev[p], points.M)) return failure("ranks_bev", points.ranks_bev[p], "-1", points.M);
  const bool is_feat = !is_below(points.ranks_feat[p], points.F);
  const char* const name = is_feat ? "ranks_feat" : "ranks_depth";
  const int32_t number = (is_feat ? points.ranks_feat : points.ranks_depth)[p];
  const int64_t limit = is_feat ? points.F : points.D;
  if (limit > 0) return failure(name, number, "0", limit);
  return Failure(
      MLUOP_STATUS_BAD_PARAM,
      text(is_feat ? "features" : "depth", " dim 0 is 0, expected at least 1: ", name, "[", p, "] is ", number));
}

int sort_tasks(const Points& points) { return choose_task_dim(points.P, points.P * kPointBytes); }

void sort(Call& call, const SortArgs& args) {
  Context& context = call.context();
  const int task_dim = args.sorted.task_dim();
  launch(context, "count_points", task_dim, Evenly{args.P}, count_kernel(), args);
  if (args.first_bad.found()) throw bad_number(args, args.first_bad.item());
  args.sorted.ranges.exclusive_scan(context);
  launch(context, "sort_points", task_dim, Evenly{args.P}, sort_kernel(args.dtype), args);
  sort_ranges(context, args.sorted);
}

// How the gradients of depth are summed.
struct DepthPlan {
  explicit DepthPlan(const BackwardArgs& args)
      : task_dim(choose_task_dim(args.D, (args.P + args.D) * int64_t{sizeof(float)})),
        is_sorted(task_dim > kMaxReadingTasks && args.P > 0),
        range(ceil_div(args.D, is_sorted ? kRangesPerTask * task_dim : 1)),
        sort_dim(sort_task_dim(args.P, 1, task_dim)) {}

  SortedProducts make(Arena& arena, const BackwardArgs& args) const {
    return {arena, is_sorted ? args.P : 0, is_sorted ? ceil_div(args.D, range) : 0, sort_dim};
  }

  int task_dim;
  bool is_sorted;
  int64_t range;  // elements of depth
  int sort_dim;
};

void add_products(Context& context, const AddArgs& args, const DepthPlan& plan, SortedProducts& sorted) {
  if (!plan.is_sorted) {
    return launch(context, "add_products", plan.task_dim, Evenly{args.D}, add_products_kernel(args.dtype), args);
  }
  const SortedAddArgs sorted_args{args, sorted, plan.range};
  launch(context, "count_products", plan.sort_dim, Evenly{args.P}, count_products_kernel(), sorted_args);
  sorted.sort.exclusive_scan(context);
  launch(context, "sort_products", plan.sort_dim, Evenly{args.P}, sort_products_kernel(), sorted_args);
  launch_dynamic(context, "add_products", plan.task_dim, sorted.sort.bucket_count,
                 Evenly{sorted.sort.bucket_count}, add_sorted_products_kernel(args.dtype), sorted_args);
}

}  // namespace

void run_forward(Call& call, const ForwardArgs& args) {
  Context& context = call.context();
  const int sort_dim = sort_tasks(args);
  const auto rows = static_cast<int32_t>(args.M);
  call.log_detail("taskDim ", sort_dim);
  Arena arena = context.reserve(bytes_of<SortedPoints>(args.P, rows, sort_dim));
  SortedPoints sorted(arena, args.P, rows, sort_dim);
  FirstBadItem first_bad;
  sort(call, {args, args.ranks_bev, args.ranks_feat, sorted, first_bad});
  sum_buckets<WeightedRow>(context, {sorted, args.dtype, args.C, args.features, args.output});
}

void run_backward(Call& call, const BackwardArgs& args) {
  Context& context = call.context();
  const int sort_dim = sort_tasks(args);
  const int task_dim = choose_task_dim(
      args.F, saturated_product({args.P + args.F, args.C, static_cast<int64_t>(size_of(args.dtype))}));
  call.log_detail("taskDim ", task_dim);
  const bool keeps_sums = args.dtype != MLUOP_DTYPE_FLOAT;
  const DepthPlan depth_plan(args);
  struct Memory {
    Memory(Arena& arena, const BackwardArgs& of, int tasks, int64_t sums, const DepthPlan& plan)
        : points(arena, of.P, static_cast<int32_t>(of.F), tasks),
          products(arena, of.P, sums),
          by_depth(plan.make(arena, of)) {}

    SortedPoints points;
    Products products;
    SortedProducts by_depth;
  };
  const int64_t sums = keeps_sums ? args.D : 0;
  Arena arena = context.reserve(bytes_of<Memory>(args, sort_dim, sums, depth_plan));
  Memory memory(arena, args, sort_dim, sums, depth_plan);
  FirstBadItem first_bad;
  sort(call, {args, args.ranks_feat, args.ranks_bev, memory.points, first_bad});
  launch(context, "differentiate", task_dim, ByElements{memory.points.starts, args.F, kWriteCost, 1},
         differentiate_kernel(args.dtype), DifferentiateArgs{args, memory.points, memory.products});
  add_products(context, {args, memory.products}, depth_plan, memory.by_depth);
}

}  // namespace native
}  // namespace mluop::bev_pool
