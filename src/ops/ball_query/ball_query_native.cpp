// Ball query and stacked ball query: the launches of the native algorithm. The first separates the coordinates of
// the points. Then some centers, the probes, are compared with vectors of points, in ascending order, until their
// balls are full. If they show that the others would take many comparisons, the points are sorted by the cells of
// a grid. Each other center is compared with the points of the cells around it, or as the probes where that is
// likely to cost less.
// Stacked clouds are queried one after the other.
#include "ops/ball_query/ball_query.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "core/dtype.h"
#include "ops/ball_query/ball_query_native_kernels.h"
#include "ops/ball_query/member_set.h"

namespace mluop::ball_query::native {
namespace {

// Cost of comparing a center with a point, in bytes of memory traffic.
constexpr int64_t kCompareBytes = 4;

// Many chunks, because centers whose balls fill early cost less than others.
constexpr int64_t kChunksPerTask = 16;

// Costs relative to comparing a center with a point, measured on an AMD EPYC. Comparisons are vectorized;
// mispredicted branches and steps of single points are not.
struct Costs {
  double vector_size = static_cast<double>(vector_points());
  double member = 7.5 * vector_size;         // found by comparisons in ascending order
  double search = 800;                       // search in a grid
  double candidate = 2 + 40 / vector_size;   // candidate of a search
  double sorted_point = 60, launches = 1e5;  // building a grid
};

// Share of the points in the cells around a center that are in its ball: a ball whose radius is one side, in 3 x 3
// x 3 cells.
constexpr double kMemberShare = 0.155;

// If a ball has fewer members than expected, searching this share of the points costs little more than comparing
// all points.
constexpr double kMaxCandidateShare = 0.5;

constexpr int64_t kProbes = 16;
// With fewer centers, points or cells of a batch, a grid does not pay off.
constexpr int64_t kMinCenters = 128;
constexpr int64_t kMinPoints = 512;
constexpr int64_t kMinCells = 64;

bool may_use_grid(const Context& context, const Args& args) {
  return args.M >= kMinCenters && args.N >= kMinPoints && args.N <= PointGrid::kMaxPoints &&
         bytes_of<MemberSet>(args.N) <= context.nram_capacity;
}

struct Memory {
  Memory(Arena& arena, const Args& args, int task_dim, bool with_grid) : planes(arena, args.B, args.N) {
    if (!with_grid) return;
    probes.count = kProbes;
    probes.step = args.M / kProbes;
    probe_results = arena.take<ProbeResult>("results of probes", {args.B, kProbes});
    grid.emplace(arena, planes, task_dim);
  }

  PointPlanes planes;  // of xyz
  Probes probes{};
  ProbeResult* probe_results = nullptr;
  std::optional<PointGrid> grid;
};

// Squared distances in half differ from fp32 by three relative errors for each square and two for the sum, or by
// 2^-25 for each number below the normal numbers. These bounds include a margin.
float candidate_squared_radius(const Args& args) {
  if (args.dtype != MLUOP_DTYPE_HALF) return args.max_squared_radius;
  constexpr float kRelativeError = 0x1p-7F, kAbsoluteError = 0x1p-20F;
  return args.max_squared_radius * (1 + kRelativeError) + kAbsoluteError;
}

// The number of candidates up to which a search costs less than comparisons until the ball is full: the solution c
// of search + candidate * c = nsample * N / (kMemberShare * c) + member * nsample.
int64_t max_candidates(const Args& args, const Costs& costs) {
  const auto N = static_cast<double>(args.N), nsample = static_cast<double>(args.nsample);
  const double middle = (costs.member * nsample - costs.search) / (2 * costs.candidate);
  const double until_full = nsample * N / (kMemberShare * costs.candidate);
  return static_cast<int64_t>(std::min(middle + std::sqrt(middle * middle + until_full), kMaxCandidateShare * N));
}

// Whether searches in a grid save more than building it costs, judged by the comparisons of the probes.
bool grid_pays(const Args& args, const Costs& costs, int64_t probe_count, const ProbeResult* results) {
  const auto N = static_cast<double>(args.N);
  double saved = 0;
  for (int64_t i = 0; i < probe_count; ++i) {
    const auto compared = static_cast<double>(results[i].compared);
    const auto found = static_cast<double>(results[i].found);
    const double candidates = found * N / (compared * kMemberShare);
    saved += std::max(0.0, compared + costs.member * found - costs.search - costs.candidate * candidates);
  }
  const auto centers = static_cast<double>(args.center_count());
  const double grid_cost = costs.sorted_point * N * static_cast<double>(args.B) + costs.launches;
  return saved / static_cast<double>(probe_count) * centers > grid_cost;
}

int compare_task_dim(const Args& args, int64_t centers) {
  return choose_task_dim(centers, saturated_product({centers, args.N * kCompareBytes}));
}

size_t memory_bytes(const Context& context, const Args& args) {
  return bytes_of<Memory>(args, compare_task_dim(args, args.center_count()), may_use_grid(context, args));
}

void query_cloud(Context& context, const Args& args, Arena& arena) {
  const int64_t centers = args.center_count();
  const int task_dim = compare_task_dim(args, centers);
  const bool with_grid = may_use_grid(context, args);
  const Memory memory(arena, args, task_dim, with_grid);
  separate_coordinates(context, memory.planes, args.dtype, args.xyz);

  const Costs costs;
  const float squared_radius = candidate_squared_radius(args);
  KernelArgs kernel_args{args,
                         memory.planes,
                         memory.probes,
                         memory.probe_results,
                         squared_radius,
                         nullptr,
                         max_candidates(args, costs),
                         PointGrid::coordinate_radius(squared_radius)};
  if (with_grid) {
    const int64_t probes = args.B * memory.probes.count;
    launch(context, "probe", compare_task_dim(args, probes), Evenly{probes}, probe_kernel(args), kernel_args);
    // Sides exceed the radius, so that a ball extends over 3 cells.
    const float side = kernel_args.grid_radius * (1 + 0x1p-10F);
    if (grid_pays(args, costs, probes, memory.probe_results) &&
        choose_cells(context, *memory.grid, side) >= kMinCells * args.B) {
      sort_points(context, *memory.grid);
      kernel_args.grid = &*memory.grid;
    }
  }
  const auto chunks = static_cast<int>(std::min(centers, kChunksPerTask * task_dim));
  launch_dynamic(context, "query", task_dim, chunks, Evenly{centers}, query_kernel(args), kernel_args);
}

const void* skip_points(const void* points, int64_t count, mluOpDataType_t dtype) {
  return static_cast<const std::byte*>(points) + count * 3 * static_cast<int64_t>(size_of(dtype));
}

// Calls visit(args) for the query of each cloud that has centers.
template <class Visit>
void for_each_cloud(const StackArgs& stack, const Visit& visit) {
  Args cloud = stack.first;
  for (int64_t b = 0; b < stack.clouds; ++b) {
    cloud.M = stack.center_counts[b];
    cloud.N = stack.point_counts[b];
    if (cloud.M > 0) visit(cloud);
    cloud.new_xyz = skip_points(cloud.new_xyz, cloud.M, cloud.dtype);
    cloud.xyz = skip_points(cloud.xyz, cloud.N, cloud.dtype);
    cloud.idx += cloud.M * cloud.nsample;
  }
}

}  // namespace

void run(Call& call, const Args& args) {
  Context& context = call.context();
  Arena arena = context.reserve(memory_bytes(context, args));
  call.log_detail("native, taskDim ", compare_task_dim(args, args.center_count()));
  query_cloud(context, args, arena);
}

void run_stacked(Call& call, const StackArgs& stack) {
  Context& context = call.context();
  size_t bytes = 0;
  for_each_cloud(stack, [&](const Args& cloud) { bytes = std::max(bytes, memory_bytes(context, cloud)); });
  const Arena arena = context.reserve(bytes);
  call.log_detail("native, clouds ", stack.clouds);
  for_each_cloud(stack, [&](const Args& cloud) {
    Arena memory = arena;
    query_cloud(context, cloud, memory);
    memory.release();
  });
}

}  // namespace mluop::ball_query::native
