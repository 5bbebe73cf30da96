#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/knn/knn_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "core/simd.h"
#include "ops/knn/knn_native_kernels.h"
#include "ops/knn/neighbor_heap.h"
#include "primitives/geometry/distance-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::knn::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using Di = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

constexpr int64_t kGroupPoints = PointPlanes::kGroupPoints;
constexpr int64_t kVectors = kGroupPoints / kLanes;
// The k + 1 least of at least as many minima bound the k + 1 nearest points.
static_assert(kMaxK < kGroupPoints);
static_assert(kLanes <= PointGrid::kPadding);

// With fewer candidates past the (k + 1)-th, dropping them takes longer than sorting them.
constexpr int64_t kMaxSurplus = 24;

// Maximum number of searches of a center in the grid. Where neighbors are missing, the squared radius grows with
// the number of candidates wanted, this many for each of the k + 1: where points fill the space, 4.2 of the 27
// cells are in the ball.
constexpr int64_t kMaxSearches = 6;
constexpr float kWantedCandidates = 6, kMinGrowth = 2, kMaxGrowth = 8;

// Not a number of candidates: the result is unknown.
constexpr int64_t kUnknown = -2;

class Center {
 public:
  HWY_INLINE Center(const SearchArgs& args, int64_t center) : b_(center / args.M) {
    std::copy_n(args.new_xyz + center * 3, 3, at_);
    cx_ = hn::Set(D(), at_[0]);
    cy_ = hn::Set(D(), at_[1]);
    cz_ = hn::Set(D(), at_[2]);
    x_ = args.planes.plane(b_, 0);
    y_ = args.planes.plane(b_, 1);
    z_ = args.planes.plane(b_, 2);
  }

  HWY_INLINE int64_t b() const { return b_; }
  HWY_INLINE const float (&at() const)[3] { return at_; }

  // The squared distances of the points from n on.
  HWY_INLINE V distances(int64_t n) const {
    const D d;
    return distances(hn::Load(d, x_ + n), hn::Load(d, y_ + n), hn::Load(d, z_ + n));
  }

  // The squared distances of the points with these coordinates.
  HWY_INLINE V distances(V x, V y, V z) const {
    return mluop::HWY_NAMESPACE::squared_length<float>(D(), hn::Sub(cx_, x), hn::Sub(cy_, y), hn::Sub(cz_, z));
  }

 private:
  int64_t b_;
  float at_[3];
  V cx_, cy_, cz_;
  const float *x_, *y_, *z_;
};

// Returns a bound that k + 1 of the distances, and few more, do not exceed; at most `limit`. count: whole vectors.
HWY_INLINE float bound_least(const float* distances, int64_t count, int64_t k, float limit) {
  const D d;
  const auto count_within = [&](uint32_t bits) {
    const V most = hn::Set(d, std::bit_cast<float>(bits));
    size_t within = 0;
    for (int64_t i = 0; i < count; i += kLanes)
      within += hn::CountTrue(d, hn::Le(hn::Load(d, distances + i), most));
    return static_cast<int64_t>(within);
  };
  // Bisects: non-negative numbers have the order of their bits.
  uint32_t low = 0, high = std::bit_cast<uint32_t>(limit);
  if (count_within(high) <= k) return limit;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    const int64_t within = count_within(middle);
    (within <= k ? low : high) = middle;
    if (within > k && within <= k + 1 + k / 4) break;
  }
  return std::bit_cast<float>(high);
}

// to[0, count) = the distances of whole groups of points from n on. Returns a bound that at least k + 1 of them do
// not exceed: a bound of the least distances of each kGroupPoints-th point, at most `limit`.
HWY_INLINE float measure(const Center& center, int64_t n, int64_t count, int64_t k, float limit, float* to) {
  const D d;
  V minima[kVectors];
  HWY_UNROLL(32) for (int64_t v = 0; v < kVectors; ++v) {
    minima[v] = hn::Set(d, std::numeric_limits<float>::infinity());
  }
  for (int64_t first = 0; first < count; first += kGroupPoints) {
    HWY_UNROLL(32) for (int64_t v = 0; v < kVectors; ++v) {
      const int64_t at = first + v * kLanes;
      const V distances = center.distances(n + at);
      hn::Store(distances, d, to + at);
      // Comparisons with NaN are false.
      minima[v] = hn::IfThenElse(hn::Lt(distances, minima[v]), distances, minima[v]);
    }
  }
  alignas(64) float least[kGroupPoints];
  HWY_UNROLL(32) for (int64_t v = 0; v < kVectors; ++v) hn::Store(minima[v], d, least + v * kLanes);
  return bound_least(least, kGroupPoints, k, limit);
}

// Appends the points of the tile whose distances are at most `limit` to the `before` candidates; the tile starts
// with point `first`. Returns the number of candidates; if it exceeds kMaxTileCandidates, some are missing.
HWY_INLINE int64_t collect(const SearchTile& tile, int64_t first, int64_t count, float limit, int64_t before) {
  const D d;
  const Di di;
  const V most = hn::Set(d, limit);
  int64_t found = 0;
  for (int64_t group = 0; group < count && found <= kMaxTileCandidates; group += kGroupPoints) {
    for (int64_t i = group; i < group + kGroupPoints; i += kLanes) {
      const V distances = hn::Load(d, tile.distances + i);
      const auto is_near = hn::Le(distances, most);
      if (hn::AllFalse(d, is_near)) continue;
      const int64_t at = before + found;
      // Not CompressStore, which is slow on AMD.
      hn::StoreU(hn::Compress(distances, is_near), d, tile.candidates.distances + at);
      const auto indices = hn::Iota(di, static_cast<int32_t>(first + i));
      hn::StoreU(hn::Compress(indices, hn::RebindMask(di, is_near)), di, tile.candidates.indices + at);
      found += static_cast<int64_t>(hn::CountTrue(d, is_near));
    }
  }
  return found;
}

// Sorts the `count` candidates by distance and keeps the first `most`. Returns their number, or -1 if some have
// equal distances.
HWY_INLINE int64_t sort_candidates(const SearchTile& tile, int64_t count, int64_t most) {
  const D d;
  const auto& [distances, indices] = tile.candidates;
  const int64_t padded = round_up(count, kLanes), kept = std::min(count, most);
  std::fill(distances + count, distances + padded, std::numeric_limits<float>::infinity());
  std::fill_n(tile.sorted.distances, kept, -1.0F);
  for (int64_t i = 0; i < count; ++i) {
    const V distance = hn::Set(d, distances[i]);
    size_t rank = 0;
    for (int64_t j = 0; j < padded; j += kLanes) {
      rank += hn::CountTrue(d, hn::Lt(hn::Load(d, distances + j), distance));
    }
    tile.sorted.distances[rank] = distances[i];
    tile.sorted.indices[rank] = indices[i];
  }
  // Equal distances get the rank of the first one, which leaves the ranks of the others unset.
  if (std::find(tile.sorted.distances, tile.sorted.distances + kept, -1.0F) != tile.sorted.distances + kept) {
    return -1;
  }
  std::copy_n(tile.sorted.distances, kept, distances);
  std::copy_n(tile.sorted.indices, kept, indices);
  return kept;
}

// tile.candidates = the k + 1 nearest points, ascending. Returns their number: k + 1, or the number of all points
// that may be neighbors; -1 if some have equal distances.
HWY_INLINE int64_t find_nearest(const SearchArgs& args, const Center& center, const SearchTile& tile) {
  const int64_t most = args.k + 1;
  int64_t nearest = 0;
  float limit = kMaxDistance;
  for (int64_t first = 0; first < args.planes.size(); first += tile.points) {
    const int64_t count = std::min(tile.points, args.planes.size() - first);
    limit = measure(center, first, count, args.k, limit, tile.distances);
    int64_t found = collect(tile, first, count, limit, nearest);
    if (found > kMaxTileCandidates) {
      // Near points have the same places in their groups.
      limit = bound_least(tile.distances, count, args.k, limit);
      found = collect(tile, first, count, limit, nearest);
    }
    if (found > kMaxTileCandidates) return -1;
    nearest = sort_candidates(tile, nearest + found, most);
    if (nearest < 0) return -1;
    if (nearest == most) limit = tile.candidates.distances[args.k];
  }
  return nearest;
}

// Keeps the candidates, among `count`, whose distances are at most `limit`. Returns their number.
HWY_INLINE int64_t keep_within(const Candidates& candidates, int64_t count, float limit) {
  const D d;
  const Di di;
  const auto& [distances, indices] = candidates;
  int64_t kept = 0;
  for (int64_t i = 0; i < count; i += kLanes) {
    const V vector = hn::Load(d, distances + i);
    const auto is_near = hn::And(hn::Le(vector, hn::Set(d, limit)), hn::FirstN(d, static_cast<size_t>(count - i)));
    const auto points = hn::Load(di, indices + i);
    hn::StoreU(hn::Compress(vector, is_near), d, distances + kept);
    hn::StoreU(hn::Compress(points, hn::RebindMask(di, is_near)), di, indices + kept);
    kept += static_cast<int64_t>(hn::CountTrue(d, is_near));
  }
  return kept;
}

// Drops candidates that are not among the k + 1 nearest of `count` until few more are left. Lowers `limit` below
// the distances of dropped candidates. Returns the number left.
HWY_INLINE int64_t drop_far(const Candidates& candidates, int64_t count, int64_t k, float& limit) {
  const int64_t padded = round_up(count, kLanes);
  std::fill(candidates.distances + count, candidates.distances + padded, std::numeric_limits<float>::infinity());
  limit = bound_least(candidates.distances, padded, k, limit);
  return keep_within(candidates, count, limit);
}

// tile.candidates = the points of the runs whose distances are at most `limit`, except some that are not among the
// k + 1 nearest. Returns their number, or -1 if there are too many because most have equal distances.
HWY_INLINE int64_t collect_near(const PointGrid& grid, const Center& center, const NearRuns& near, float limit,
                                int64_t k, const SearchTile& tile) {
  const D d;
  const Di di;
  const int64_t b = center.b();
  const float *const x = grid.plane(b, 0), *const y = grid.plane(b, 1), *const z = grid.plane(b, 2);
  const int32_t* const indices = grid.sorted_indices(b);
  int64_t found = 0;
  for (int64_t i = 0; i < near.count; ++i) {
    const Range run = near.runs[i];
    for (int64_t at = run.begin; at < run.end; at += kLanes) {
      const V distances = center.distances(hn::LoadU(d, x + at), hn::LoadU(d, y + at), hn::LoadU(d, z + at));
      const auto in_run = hn::FirstN(d, static_cast<size_t>(run.end - at));
      const auto is_near = hn::And(in_run, hn::Le(distances, hn::Set(d, limit)));
      hn::StoreU(hn::Compress(distances, is_near), d, tile.candidates.distances + found);
      hn::StoreU(hn::Compress(hn::LoadU(di, indices + at), hn::RebindMask(di, is_near)), di,
                 tile.candidates.indices + found);
      found += static_cast<int64_t>(hn::CountTrue(d, is_near));
      if (found > kMaxTileCandidates) {
        found = drop_far(tile.candidates, found, k, limit);
        if (found > kMaxTileCandidates) return -1;
      }
    }
  }
  if (found > k + 1 + kMaxSurplus) found = drop_far(tile.candidates, found, k, limit);
  return found;
}

// Like find_nearest(), from the points of the cells around the center; kUnknown if these do not suffice or are too
// many. Not inlined, so that the other loops keep their registers.
HWY_NOINLINE int64_t find_near(const SearchArgs& args, const Center& center, const SearchTile& tile) {
  const auto wanted = kWantedCandidates * static_cast<float>(args.k + 1);
  float squared_radius = args.squared_radius;
  int64_t rest = args.max_candidates;
  for (int64_t i = 0; i < kMaxSearches; ++i) {
    squared_radius = std::min(squared_radius, kMaxDistance);
    const NearRuns near(*args.grid, center.b(), center.at(), squared_radius, args.max_runs);
    if (near.candidates > rest) return kUnknown;
    if (near.candidates >= args.min_candidates) {
      rest -= near.candidates;
      const int64_t found = collect_near(*args.grid, center, near, squared_radius, args.k, tile);
      if (found < 0) return -1;
      // All other points are farther than squared_radius, or than k + 1 of the candidates.
      if (found > args.k) return sort_candidates(tile, found, args.k + 1);
    }
    squared_radius *= std::clamp(wanted / static_cast<float>(near.candidates + 1), kMinGrowth, kMaxGrowth);
  }
  return kUnknown;
}

// Distinct distances have a unique order.
HWY_INLINE void write_nearest(const Candidates& nearest, int64_t found, int64_t k, int32_t* idx, float* dist2) {
  const int64_t count = std::min(found, k);
  std::copy_n(nearest.indices, count, idx);
  std::fill(idx + count, idx + k, 0);
  std::copy_n(nearest.distances, count, dist2);
  std::fill(dist2 + count, dist2 + k, kNoNeighbor);
}

// Passes all points that may enter the heap to it, in ascending order.
HWY_INLINE void run_heap(const SearchArgs& args, const Center& center, int32_t* idx, float* dist2) {
  const D d;
  NeighborHeap heap(args.k);
  for (int64_t n = 0; n < args.planes.size(); n += kLanes) {
    const V distances = center.distances(n);
    const auto may_enter = hn::Lt(distances, hn::Set(d, heap.largest()));
    if (hn::AllFalse(d, may_enter)) continue;
    alignas(64) float of_lanes[kLanes];
    hn::Store(distances, d, of_lanes);
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      if (of_lanes[lane] < heap.largest()) {
        heap.replace_largest(of_lanes[lane], static_cast<int32_t>(n + lane));
      }
    }
  }
  heap.write_sorted(idx, dist2);
}

// Writes the row of a center whose nearest points are the `found` candidates.
HWY_INLINE void write_row(const SearchArgs& args, int64_t item, const Center& center, const SearchTile& tile,
                          int64_t found) {
  int32_t* const idx = args.idx + item * args.k;
  float* const dist2 = args.dist2 + item * args.k;
  if (found >= 0) {
    write_nearest(tile.candidates, found, args.k, idx, dist2);
  } else {
    run_heap(args, center, idx, dist2);
  }
}

void probe(const SearchArgs& args, int64_t begin, int64_t end, Task& task) {
  const SearchTile tile(task.nram, args.tile_groups);
  for (int64_t probe = begin; probe < end; ++probe) {
    const int64_t item = probe / args.probes.count * args.M + args.probes.center(probe % args.probes.count);
    const Center center(args, item);
    const int64_t found = find_nearest(args, center, tile);
    args.probe_distances[probe] =
        found > args.k ? tile.candidates.distances[args.k] : std::numeric_limits<float>::infinity();
    write_row(args, item, center, tile, found);
  }
}

void search(const SearchArgs& args, int64_t begin, int64_t end, Task& task) {
  const SearchTile tile(task.nram, args.tile_groups);
  for (int64_t item = begin; item < end; ++item) {
    if (args.probes.contain(item % args.M)) continue;
    const Center center(args, item);
    int64_t found = args.grid == nullptr ? kUnknown : find_near(args, center, tile);
    if (found == kUnknown) found = find_nearest(args, center, tile);
    write_row(args, item, center, tile, found);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::knn::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::knn::native {

MLUOP_EXPORT_KERNEL(probe_kernel, probe, SearchArgs);
MLUOP_EXPORT_KERNEL(search_kernel, search, SearchArgs);

}  // namespace mluop::knn::native
#endif
