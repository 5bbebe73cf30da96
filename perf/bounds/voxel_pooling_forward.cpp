#include "perf/bounds/voxel_pooling_forward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perf/bounds/voxel_pooling_forward.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "perf/support/parallel.h"
#include "primitives/prefetch.h"

#ifndef MLUOP_PERF_POOL_RANGE
#define MLUOP_PERF_POOL_RANGE
namespace mluop::perf {

// A row to be added to its cell. The first row of a cell is written instead.
struct PooledRow {
  int32_t point;
  int32_t cell;
  bool first;
};

// What one thread reads and writes.
struct PoolRange {
  std::span<const PooledRow> rows;
  std::span<const int32_t> empty_cells;
  const float* input_features;
  float* output_features;
  int64_t channels;
  const int32_t* geometry;  // aligned to a cache line
  int32_t* memo;            // aligned to a cache line
  int64_t coordinates;
};

}  // namespace mluop::perf
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::perf {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Lookahead of the prefetches. Measured on AMD EPYC with AVX-512: 10 KiB is equal; without prefetches a call takes
// 1.6 times as long.
constexpr int64_t kPrefetchBytes = 5 << 10;

HWY_INLINE void stream_memo(const PoolRange& range) {
  const hn::CappedTag<int32_t, 16> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= range.coordinates; i += lanes)
    hn::Stream(hn::Load(d, range.geometry + i), d, range.memo + i);
  std::copy(range.geometry + i, range.geometry + range.coordinates, range.memo + i);
  hwy::FlushStream();
}

template <bool kFirst>
HWY_INLINE void add_row(const float* HWY_RESTRICT row, float* HWY_RESTRICT sum, int64_t channels) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) {
    const auto before = kFirst ? hn::Zero(d) : hn::LoadU(d, sum + c);
    hn::StoreU(hn::Add(before, hn::LoadU(d, row + c)), d, sum + c);
  }
  for (; c < channels; ++c) sum[c] = (kFirst ? 0.0F : sum[c]) + row[c];
}

void pool(const PoolRange& range) {
  stream_memo(range);
  const int64_t channels = range.channels;
  const auto row_bytes = channels * static_cast<int64_t>(sizeof(float));
  const auto lookahead = static_cast<size_t>(std::max<int64_t>(kPrefetchBytes / row_bytes, 1));
  for (size_t i = 0; i < range.rows.size(); ++i) {
    if (i + lookahead < range.rows.size()) {
      const PooledRow& next = range.rows[i + lookahead];
      prefetch_row<Use::kReadOnce>(range.input_features + next.point * channels, row_bytes);
      prefetch_row<Use::kWrite>(range.output_features + next.cell * channels, row_bytes);
    }
    const PooledRow& current = range.rows[i];
    const float* row = range.input_features + current.point * channels;
    float* sum = range.output_features + current.cell * channels;
    current.first ? add_row<true>(row, sum, channels) : add_row<false>(row, sum, channels);
  }
  for (const int32_t cell : range.empty_cells)
    std::fill_n(range.output_features + cell * channels, channels, 0.0F);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::perf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::perf {
namespace {

HWY_EXPORT(pool);

// The rows of each thread, in the order of memory, and the cells without points.
struct PoolLists {
  std::vector<std::vector<PooledRow>> rows;
  std::vector<int32_t> empty_cells;
};

PoolLists lists_of(const reference::VoxelPoolingForwardSizes& sizes, const int32_t* geometry, int threads) {
  const auto inside = [](int32_t coordinate, int32_t bound) { return 0 <= coordinate && coordinate < bound; };
  std::vector<PooledRow> all;
  std::vector<int32_t> cells;  // with points, in the order of their first points
  std::vector<int64_t> counts(static_cast<size_t>(sizes.cells()));
  for (int64_t point = 0; point < sizes.points(); ++point) {
    const int32_t *xyz = geometry + point * 3, batch = static_cast<int32_t>(point / sizes.num_points);
    if (!inside(xyz[0], sizes.num_voxel_x) || !inside(xyz[1], sizes.num_voxel_y) ||
        !inside(xyz[2], sizes.num_voxel_z)) {
      continue;
    }
    const int32_t cell = (batch * sizes.num_voxel_y + xyz[1]) * sizes.num_voxel_x + xyz[0];
    int64_t& count = counts[static_cast<size_t>(cell)];
    if (count == 0) cells.push_back(cell);
    all.push_back({static_cast<int32_t>(point), cell, count == 0});
    ++count;
  }
  std::vector<size_t> owners(counts.size());
  int64_t before = 0;
  for (const int32_t cell : cells) {
    owners[static_cast<size_t>(cell)] = static_cast<size_t>(before * threads / static_cast<int64_t>(all.size()));
    before += counts[static_cast<size_t>(cell)];
  }
  PoolLists lists{std::vector<std::vector<PooledRow>>(static_cast<size_t>(threads)), {}};
  for (const PooledRow& row : all) lists.rows[owners[static_cast<size_t>(row.cell)]].push_back(row);
  for (size_t cell = 0; cell < counts.size(); ++cell) {
    if (counts[cell] == 0) lists.empty_cells.push_back(static_cast<int32_t>(cell));
  }
  return lists;
}

}  // namespace

std::function<void()> voxel_pooling_forward_bound(const reference::VoxelPoolingForwardSizes& sizes,
                                                  const int32_t* geom_xyz, const float* input_features,
                                                  float* output_features, int32_t* pos_memo, int threads) {
  const auto lists = std::make_shared<const PoolLists>(lists_of(sizes, geom_xyz, threads));
  return [=] {
    constexpr int64_t kLine = 16;
    const int64_t lines = sizes.geom_count() / kLine;
    const auto empty = static_cast<int64_t>(lists->empty_cells.size());
    parallel(threads, [&](int id) {
      const int64_t begin = share(lines, threads, id) * kLine, end = share(lines, threads, id + 1) * kLine;
      const int64_t first_empty = share(empty, threads, id);
      const std::span empty_cells(lists->empty_cells);
      HWY_DYNAMIC_DISPATCH(pool)
      ({lists->rows[static_cast<size_t>(id)],
        empty_cells.subspan(static_cast<size_t>(first_empty),
                            static_cast<size_t>(share(empty, threads, id + 1) - first_empty)),
        input_features, output_features, sizes.num_channels, geom_xyz + begin, pos_memo + begin, end - begin});
    });
  };
}

}  // namespace mluop::perf
#endif
