#include "ops/knn/knn_native.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "ops/knn/knn_native_kernels.h"
#include "team/fit_tile.h"

namespace mluop::knn::native {
namespace {

// The bytes that are moved in the time of a step: a center with a point, and the choice of the nearest.
constexpr int64_t kCompareBytes = 4;
constexpr int64_t kSelectBytes = 4096;

// Equal distances cost more.
constexpr int64_t kChunksPerTask = 16;

// Groups of points whose distances are kept in L1; more gain nothing.
constexpr int64_t kMaxTileGroups = 32;

const auto ev = [](const char* n, double d) { const char* s = getenv(n); return s ? atof(s) : d; };
// Probes of all batches, if there are few; and of a batch.
const int64_t kProbes = static_cast<int64_t>(ev("KP", 32)), kMinProbes = static_cast<int64_t>(ev("KPM", 8));
// With fewer centers or points of a batch, a grid does not pay.
const int64_t kMinCenters = static_cast<int64_t>(ev("KMC", 128));
const int64_t kMinPoints = static_cast<int64_t>(ev("KMP", 1024));

// The part of the probes whose neighbors are within the radius that is searched first.
const double kQuantile = ev("KQ", 0.5);
// Sides of cells, in units of this radius.
const double kSide = ev("KSIDE", 1);
const double kRadius = ev("KR", 1.1);

const double kMinCandidates = ev("KMIN", 2);
// Comparisons with more points around a center than this part of all do not pay.
const double kMaxCandidateShare = ev("KSHARE", 0.3);

bool may_use_grid(const Args& args) {
  return args.M >= kMinCenters && args.N >= kMinPoints && args.N <= PointGrid::kMaxPoints;
}

// The memory of searches in a grid.
struct GridMemory {
  GridMemory(Arena& arena, const PointPlanes& planes, int task_dim, int64_t probes)
      : probe_distances(arena.take<float>("distances of probes", {planes.B, probes})), grid(arena, planes, task_dim) {}

  float* probe_distances;
  PointGrid grid;
};

// The squared radius within which kQuantile of the probes have k + 1 neighbors; infinity if fewer have.
float typical_distance(float* distances, int64_t probes) {
  float* const at = distances + static_cast<int64_t>(static_cast<double>(probes) * kQuantile);
  std::nth_element(distances, at, distances + probes);
  return *at;
}

}  // namespace

size_t workspace_bytes(const Sizes& sizes) {
  return sizes.is_empty() || sizes.N == 0 ? 0 : workspace_bytes_of<PointPlanes>(sizes.B, sizes.N);
}

void run(Call& call, const Args& args, Arena workspace) {
  Context& context = call.context();
  const PointPlanes planes(workspace, args.B, args.N);
  const int64_t tile_groups = fit_tile(context, std::clamp<int64_t>(planes.groups, 1, kMaxTileGroups),
                                       [](int64_t groups) { return bytes_of<SearchTile>(groups); });
  const auto task_dim_of_centers = [&](int64_t centers) {
    return choose_task_dim(centers,
                           checked_product(centers, args.N * kCompareBytes + kSelectBytes).value_or(INT64_MAX));
  };
  const int64_t centers = args.B * args.M;
  const int task_dim = task_dim_of_centers(centers);

  Probes probes{};
  if (may_use_grid(args)) {
    probes.count = std::max(kProbes / args.B, kMinProbes);
    probes.step = args.M / probes.count;
  }
  const int64_t probe_count = args.B * probes.count;
  Arena pool = context.reserve(probe_count == 0 ? 0 : bytes_of<GridMemory>(planes, task_dim, probes.count));
  SearchArgs search_args{args, planes, tile_groups, probes, nullptr, nullptr, 0, 0, 0};

  separate_coordinates(context, planes, MLUOP_DTYPE_FLOAT, args.xyz);
  std::optional<GridMemory> memory;
  if (probe_count > 0) {
    memory.emplace(pool, planes, task_dim, probes.count);
    search_args.probe_distances = memory->probe_distances;
    launch(context, "probe", task_dim_of_centers(probe_count), Evenly{probe_count}, probe_kernel(), search_args);
    const float distance = typical_distance(memory->probe_distances, probe_count);
    if (distance <= kMaxDistance) {
      search_args.squared_radius = distance * static_cast<float>(kRadius);
      search_args.min_candidates = static_cast<int64_t>(kMinCandidates * static_cast<double>(args.k + 1));
      search_args.max_candidates = static_cast<int64_t>(kMaxCandidateShare * static_cast<double>(args.N));
      choose_cells(context, memory->grid,
                   PointGrid::coordinate_radius(search_args.squared_radius) * static_cast<float>(kSide));
      sort_points(context, memory->grid);
      search_args.grid = &memory->grid;
    }
  }
  const auto chunks = static_cast<int>(std::min(centers, kChunksPerTask * task_dim));
  call.log_detail("native, taskDim ", task_dim, search_args.grid == nullptr ? "" : ", grid");
  launch_dynamic(context, "search", task_dim, chunks, Evenly{centers}, search_kernel(), search_args);
}

}  // namespace mluop::knn::native
