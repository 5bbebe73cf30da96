// k nearest neighbors: workspace and launches of the native algorithm. The first separates the coordinates of the
// points. Then some centers, the probes, are compared with vectors of all points. Their distances choose the cells
// of a grid, by which the points are sorted. Each other center is compared with the points of the cells around it,
// or with all where these do not tell or a grid does not pay. The k + 1 nearest tell whether the order in which
// mmcv's heap leaves equal distances matters; the heap itself runs where it does, over all points.
#include "ops/knn/knn.h"

#include <algorithm>
#include <optional>

#include "ops/knn/knn_native_kernels.h"
#include "team/fit_tile.h"

namespace mluop::knn::native {
namespace {

// Cost of each step, in bytes of memory traffic: comparing a center with a point; selecting the nearest points.
constexpr int64_t kCompareBytes = 4;
constexpr int64_t kSelectBytes = 4096;

// Many chunks, because centers with equal distances cost more.
constexpr int64_t kChunksPerTask = 16;

// Groups of points whose distances are kept in L1; more do not help.
constexpr int64_t kMaxTileGroups = 32;

// With fewer centers, points or cells of a batch, a grid does not pay off.
constexpr int64_t kMinCenters = 256;
constexpr int64_t kMinPoints = 1024;
constexpr int64_t kMinCells = 27;

// Number of probes of all batches, and the minimum for a batch.
constexpr int64_t kProbes = 32, kMinBatchProbes = 8;

// Half of the probes have k + 1 neighbors within the radius that is searched first; this factor is the margin.
constexpr float kRadiusMargin = 1.1F;

// With fewer candidates for each of the k + 1 nearest, most searches would be repeated.
constexpr int64_t kMinCandidates = 2;

// A search of more candidates than this costs more than comparing all points: a fraction of the points, plus a
// number for each neighbor, because selecting the nearest takes longer among all points.
constexpr int64_t kMaxCandidatePart = 4, kSelectCandidates = 8;

// Points compared at the cost of finding a run. Up to 9 x 9 runs are worth a try.
constexpr int64_t kRunPoints = 128, kMinRuns = 81;

// A grid that serves less than this fraction of the probes is not used.
constexpr int64_t kMinServedPart = 2;

Probes choose_probes(const Args& args) {
  if (args.M < kMinCenters || args.N < kMinPoints || args.N > PointGrid::kMaxPoints) return {};
  const int64_t count = std::max(kProbes / args.B, kMinBatchProbes);
  return {count, args.M / count};
}

// The memory of searches in a grid.
struct GridMemory {
  GridMemory(Arena& arena, const PointPlanes& planes, int task_dim, const Probes& probes)
      : distances(arena.take<float>("distances of probes", {planes.B, probes.count})),
        ordered_distances(arena.take<float>("ordered distances", {planes.B, probes.count})),
        grid(arena, planes, task_dim) {}

  float* distances;          // [B, probes.count]
  float* ordered_distances;  // distances, ordered up to their median
  PointGrid grid;
};

float median_distance(const GridMemory& memory, int64_t probes) {
  float* const all = memory.ordered_distances;
  std::copy_n(memory.distances, probes, all);
  std::nth_element(all, all + probes / 2, all + probes);
  return all[probes / 2];
}

// Whether the grid serves enough of the probes.
bool grid_pays(const SearchArgs& args, const PointGrid& grid) {
  const int64_t probes = args.B * args.probes.count;
  int64_t served = 0;
  for (int64_t probe = 0; probe < probes; ++probe) {
    const int64_t b = probe / args.probes.count;
    float center[3];
    std::copy_n(args.new_xyz + (b * args.M + args.probes.center(probe % args.probes.count)) * 3, 3, center);
    const float squared_radius = std::max(args.probe_distances[probe], args.squared_radius);
    const NearRuns near(grid, b, center, squared_radius, args.max_runs);
    served += near.candidates <= args.max_candidates ? 1 : 0;
  }
  return served >= probes / kMinServedPart;
}

// Chooses the radius of the first search from the probes, and sorts the points into cells with this side. Sets
// args.grid if that pays off.
void choose_grid(Context& context, const GridMemory& memory, SearchArgs& args) {
  const float distance = median_distance(memory, args.B * args.probes.count) * kRadiusMargin;
  if (!(distance <= kMaxDistance)) return;
  args.squared_radius = distance;
  args.min_candidates = kMinCandidates * (args.k + 1);
  args.max_candidates = args.N / kMaxCandidatePart + kSelectCandidates * args.k;
  args.max_runs = std::clamp(args.N / kRunPoints, kMinRuns, NearRuns::kMaxRuns);
  // Sides exceed the radius, so that a search extends over 3 cells.
  const float side = PointGrid::coordinate_radius(distance) * (1 + 0x1p-10F);
  if (choose_cells(context, memory.grid, side) < kMinCells * args.B) return;
  sort_points(context, memory.grid);
  if (grid_pays(args, memory.grid)) args.grid = &memory.grid;
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
  const auto choose_search_task_dim = [&](int64_t centers) {
    return choose_task_dim(centers, saturated_product({centers, args.N * kCompareBytes + kSelectBytes}));
  };
  const int64_t centers = args.B * args.M;
  const int task_dim = choose_search_task_dim(centers);
  const Probes probes = choose_probes(args);
  const bool with_probes = probes.count > 0;
  Arena arena = context.reserve(with_probes ? bytes_of<GridMemory>(planes, task_dim, probes) : 0);

  separate_coordinates(context, planes, MLUOP_DTYPE_FLOAT, args.xyz);
  SearchArgs search_args{args, planes, tile_groups, probes, nullptr, nullptr, 0, 0, 0, 0};
  std::optional<GridMemory> memory;
  // Probes write their rows, so anything that may fail comes before.
  call.log_detail("native, taskDim ", task_dim);
  if (with_probes) {
    memory.emplace(arena, planes, task_dim, probes);
    search_args.probe_distances = memory->distances;
    const int64_t count = args.B * probes.count;
    launch(context, "probe", choose_search_task_dim(count), Evenly{count}, probe_kernel(), search_args);
    choose_grid(context, *memory, search_args);
  }
  const auto chunks = static_cast<int>(std::min(centers, kChunksPerTask * task_dim));
  launch_dynamic(context, "search", task_dim, chunks, Evenly{centers}, search_kernel(), search_args);
}

}  // namespace mluop::knn::native
