#include "ops/ball_query/ball_query_native.h"

#include <algorithm>
#include <limits>

#include "ops/ball_query/ball_query_native_kernels.h"

namespace mluop::ball_query::native {
namespace {

// The bytes that are moved in the time of comparing a center with a point.
constexpr int64_t kCompareBytes = 4;

// Centers whose balls fill early cost less than others.
constexpr int64_t kChunksPerTask = 16;

}  // namespace

void run(Call& call, const Args& args) {
  Context& context = call.context();
  Arena arena = context.reserve(bytes_of<PointPlanes>(args.B, args.N));
  const PointPlanes planes(arena, args.B, args.N);
  separate_coordinates(context, planes, args.dtype, args.xyz);

  const int64_t centers = args.center_count();
  const int task_dim =
      choose_task_dim(centers, checked_product(centers, args.N * kCompareBytes).value_or(INT64_MAX));
  const auto chunks = static_cast<int>(std::min(centers, kChunksPerTask * task_dim));
  call.log_detail("native, taskDim ", task_dim);
  launch_dynamic(context, "query", task_dim, chunks, Evenly{centers}, query_kernel(args), {args, planes});
}

}  // namespace mluop::ball_query::native
