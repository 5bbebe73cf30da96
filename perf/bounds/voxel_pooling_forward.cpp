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
#include <type_traits>
#include <vector>

#include "perf/support/buffer.h"
#include "perf/support/parallel.h"
#include "primitives/half-inl.h"
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
  std::span<const int32_t> cells;  // of the rows, each once
  std::span<const int32_t> empty_cells;
  const void* input_features;
  float* sums;  // output_features, or for half those that are rounded to it
  void* output_features;
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

template <bool kFirst, class T>
HWY_INLINE void add_row(const T* HWY_RESTRICT row, float* HWY_RESTRICT sum, int64_t channels) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) {
    const auto before = kFirst ? hn::Zero(d) : hn::LoadU(d, sum + c);
    hn::StoreU(hn::Add(before, mluop::HWY_NAMESPACE::load_f32(d, row + c)), d, sum + c);
  }
  for (; c < channels; ++c) sum[c] = (kFirst ? 0.0F : sum[c]) + to_f32(row[c]);
}

template <class T>
void pool(const PoolRange& range) {
  stream_memo(range);
  const int64_t channels = range.channels;
  const auto row_bytes = channels * static_cast<int64_t>(sizeof(T));
  const auto sum_bytes = channels * static_cast<int64_t>(sizeof(float));
  const auto* const input = static_cast<const T*>(range.input_features);
  auto* const output = static_cast<T*>(range.output_features);
  const auto lookahead = static_cast<size_t>(std::max<int64_t>(kPrefetchBytes / row_bytes, 1));
  for (size_t i = 0; i < range.rows.size(); ++i) {
    if (i + lookahead < range.rows.size()) {
      const PooledRow& next = range.rows[i + lookahead];
      prefetch_row<Use::kReadOnce>(input + next.point * channels, row_bytes);
      prefetch_row<Use::kWrite>(range.sums + next.cell * channels, sum_bytes);
    }
    const PooledRow& current = range.rows[i];
    const T* row = input + current.point * channels;
    float* sum = range.sums + current.cell * channels;
    current.first ? add_row<true>(row, sum, channels) : add_row<false>(row, sum, channels);
  }
  if constexpr (!std::is_same_v<T, float>) {
    for (const int32_t cell : range.cells) {
      mluop::HWY_NAMESPACE::round_to_half(range.sums + cell * channels, output + cell * channels, channels);
    }
  }
  for (const int32_t cell : range.empty_cells) std::fill_n(output + cell * channels, channels, T{});
}

void pool_float(const PoolRange& range) { pool<float>(range); }
void pool_half(const PoolRange& range) { pool<Half>(range); }

}  // namespace HWY_NAMESPACE
}  // namespace mluop::perf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::perf {
namespace {

HWY_EXPORT(pool_float);
HWY_EXPORT(pool_half);

// The rows of each thread, in the order of memory, its cells, and the cells without points.
struct PoolLists {
  std::vector<std::vector<PooledRow>> rows;
  std::vector<std::vector<int32_t>> cells;
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
  const auto thread_count = static_cast<size_t>(threads);
  PoolLists lists{
      std::vector<std::vector<PooledRow>>(thread_count), std::vector<std::vector<int32_t>>(thread_count), {}};
  for (const PooledRow& row : all) lists.rows[owners[static_cast<size_t>(row.cell)]].push_back(row);
  for (const int32_t cell : cells) lists.cells[owners[static_cast<size_t>(cell)]].push_back(cell);
  for (size_t cell = 0; cell < counts.size(); ++cell) {
    if (counts[cell] == 0) lists.empty_cells.push_back(static_cast<int32_t>(cell));
  }
  return lists;
}

}  // namespace

std::function<void()> voxel_pooling_forward_bound(const reference::VoxelPoolingForwardSizes& sizes, bool is_half,
                                                  const int32_t* geom_xyz, const void* input_features,
                                                  void* output_features, int32_t* pos_memo, int threads) {
  const auto lists = std::make_shared<const PoolLists>(lists_of(sizes, geom_xyz, threads));
  const auto half_sums = std::make_shared<Buffer<float>>(is_half ? sizes.output_count() : 0);
  float* const sums = is_half ? half_sums->data() : static_cast<float*>(output_features);
  return [=, memory = half_sums] {
    constexpr int64_t kLine = 16;
    const int64_t lines = sizes.geom_count() / kLine;
    const auto empty = static_cast<int64_t>(lists->empty_cells.size());
    parallel(threads, [&](int id) {
      const int64_t begin = share(lines, threads, id) * kLine, end = share(lines, threads, id + 1) * kLine;
      const int64_t first_empty = share(empty, threads, id);
      const std::span empty_cells(lists->empty_cells);
      const PoolRange range{lists->rows[static_cast<size_t>(id)],
                            lists->cells[static_cast<size_t>(id)],
                            empty_cells.subspan(static_cast<size_t>(first_empty),
                                                static_cast<size_t>(share(empty, threads, id + 1) - first_empty)),
                            input_features,
                            sums,
                            output_features,
                            sizes.num_channels,
                            geom_xyz + begin,
                            pos_memo + begin,
                            end - begin};
      is_half ? HWY_DYNAMIC_DISPATCH(pool_half)(range) : HWY_DYNAMIC_DISPATCH(pool_float)(range);
    });
  };
}

}  // namespace mluop::perf
#endif
