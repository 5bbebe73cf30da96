#include "ops/bev_pool/bev_pool_native.h"

#include <algorithm>

#include "core/checks.h"
#include "core/dtype.h"
#include "core/element.h"
#include "core/sizes.h"
#include "ops/bev_pool/bev_pool_native_kernels.h"
#include "primitives/index_pairs.h"

namespace mluop::bev_pool {

void check_counts(int64_t P, int64_t F, std::string_view output, int64_t M) {
  check_row_count("ranks_depth", P);
  check_row_count("features", F);
  check_row_count(output, M);
}

namespace native {
namespace {

// The bytes that are moved in the time of sorting a point.
constexpr int64_t kPointBytes = 24;
// The cost of writing a row, relative to reading one of a point.
constexpr int64_t kWriteCost = 2;

bool is_below(int32_t number, int64_t limit) { return number >= 0 && number < limit; }

bool is_valid(const Points& points, int64_t p) {
  return is_below(points.ranks_bev[p], points.M) && is_below(points.ranks_feat[p], points.F) &&
         is_below(points.ranks_depth[p], points.D);
}

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

int sort_tasks(const Points& points, int64_t rows) {
  return sort_task_dim(points.P, static_cast<int32_t>(rows), choose_task_dim(points.P, points.P * kPointBytes));
}

void sort(Call& call, const SortArgs& args) {
  Context& context = call.context();
  const int task_dim = args.sorted.sort.task_dim;
  launch<SortArgs>(context, "count_points", task_dim, Evenly{args.P}, count_points, args);
  if (args.first_bad.found()) throw bad_number(args, args.first_bad.item());
  args.sorted.sort.exclusive_scan(context);
  launch<SortArgs>(context, "sort_points", task_dim, Evenly{args.P}, sort_points, args);
}

// For the sums of `rows` rows.
int sum_tasks(const Points& points, int64_t rows) {
  return choose_task_dim(
      rows, saturated_product({points.P + rows, points.C, static_cast<int64_t>(size_of(points.dtype))}));
}

}  // namespace

void count_points(const SortArgs& args, int64_t begin, int64_t end, Task& task) {
  args.sorted.sort.clear_counts(task.taskId);
  int32_t* const counts = args.sorted.sort.counts_of(task.taskId);
  for (int64_t p = begin; p < end; ++p) {
    if (args.ranks_bev[p] == kSkipped) continue;
    if (!is_valid(args, p)) return args.first_bad.report(p);
    ++counts[args.keys[p]];
  }
}

void sort_points(const SortArgs& args, int64_t begin, int64_t end, Task& task) {
  int32_t* const positions = args.sorted.sort.positions_of(task.taskId);
  const SortedPoints& sorted = args.sorted;
  dispatch_dtype(args.dtype, [&](auto element) {
    const auto* const depth = static_cast<const decltype(element)*>(args.depth);
    for (int64_t p = begin; p < end; ++p) {
      if (args.ranks_bev[p] == kSkipped) continue;
      const int32_t i = positions[args.keys[p]]++;
      sorted.weights[i] = to_f32(depth[args.ranks_depth[p]]);
      sorted.rows[i] = args.values[p];
      if (args.products != nullptr) args.products->points[i] = static_cast<int32_t>(p);
    }
  });
}

void run_forward(Call& call, const ForwardArgs& args) {
  Context& context = call.context();
  const int task_dim = sum_tasks(args, args.M), sort_dim = sort_tasks(args, args.M);
  call.log_detail("taskDim ", task_dim);
  Arena arena = context.reserve(bytes_of<SortedPoints>(args.P, args.M, sort_dim));
  SortedPoints sorted(arena, args.P, args.M, sort_dim);
  FirstBadItem first_bad;
  sort(call, {args, args.ranks_bev, args.ranks_feat, sorted, nullptr, first_bad});
  launch(context, "pool", task_dim, ByElements{sorted.sort, kWriteCost, 1}, pool_kernel(args.dtype),
         PoolArgs{args, sorted});
}

void run_backward(Call& call, const BackwardArgs& args) {
  Context& context = call.context();
  const int task_dim = sum_tasks(args, args.F), sort_dim = sort_tasks(args, args.F);
  call.log_detail("taskDim ", task_dim);
  const bool keeps_sums = args.dtype != MLUOP_DTYPE_FLOAT;
  Arena arena = context.reserve(bytes_of<SortedPoints>(args.P, args.F, sort_dim) +
                                bytes_of<Products>(args.P, keeps_sums ? args.D : 0));
  SortedPoints sorted(arena, args.P, args.F, sort_dim);
  Products products(arena, args.P, keeps_sums ? args.D : 0);
  FirstBadItem first_bad;
  sort(call, {args, args.ranks_feat, args.ranks_bev, sorted, &products, first_bad});
  launch(context, "differentiate", task_dim, ByElements{sorted.sort, kWriteCost, 1},
         differentiate_kernel(args.dtype), DifferentiateArgs{args, sorted, products});
  // Each task reads all points.
  launch(context, "add_products", choose_task_dim(args.D, args.P * int64_t{sizeof(float)}), Evenly{args.D},
         add_products_kernel(args.dtype), AddArgs{args, products});
}

}  // namespace native
}  // namespace mluop::bev_pool
