#include "perf/bounds/voxel_pooling_forward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perf/bounds/voxel_pooling_forward.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

#include "core/dtype.h"
#include "perf/support/buffer.h"
#include "perf/support/parallel.h"
#include "primitives/elements-inl.h"
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

// What one thread owns.
struct PoolWork {
  std::vector<PooledRow> rows;       // in the order of memory
  std::vector<int32_t> cells;        // of the rows, each once
  std::vector<int32_t> empty_cells;  // without points
};

// What one thread reads and writes.
struct PoolRange {
  const PoolTensors& tensors;
  const PoolWork& work;
  float* sums;         // output_features, or for 16 bits those that are rounded to it
  int64_t begin, end;  // coordinates, from one cache line to another
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
  const int32_t* geometry = range.tensors.geom_xyz;
  int32_t* memo = range.tensors.pos_memo;
  int64_t i = range.begin;
  for (; i + lanes <= range.end; i += lanes) hn::Stream(hn::Load(d, geometry + i), d, memo + i);
  std::copy(geometry + i, geometry + range.end, memo + i);
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
  const int64_t channels = range.tensors.sizes.num_channels;
  const auto row_bytes = channels * static_cast<int64_t>(sizeof(T));
  const auto sum_bytes = channels * static_cast<int64_t>(sizeof(float));
  const auto* const input = static_cast<const T*>(range.tensors.input_features);
  auto* const output = static_cast<T*>(range.tensors.output_features);
  const auto lookahead = static_cast<size_t>(std::max<int64_t>(kPrefetchBytes / row_bytes, 1));
  for (size_t i = 0; i < range.work.rows.size(); ++i) {
    if (i + lookahead < range.work.rows.size()) {
      const PooledRow& next = range.work.rows[i + lookahead];
      prefetch_row<Use::kReadOnce>(input + next.point * channels, row_bytes);
      prefetch_row<Use::kWrite>(range.sums + next.cell * channels, sum_bytes);
    }
    const PooledRow& current = range.work.rows[i];
    const T* row = input + current.point * channels;
    float* sum = range.sums + current.cell * channels;
    current.first ? add_row<true>(row, sum, channels) : add_row<false>(row, sum, channels);
  }
  if constexpr (!std::is_same_v<T, float>) {
    for (const int32_t cell : range.work.cells) {
      mluop::HWY_NAMESPACE::round_row(range.sums + cell * channels, channels, output + cell * channels);
    }
  }
  for (const int32_t cell : range.work.empty_cells) std::fill_n(output + cell * channels, channels, T{});
}

void pool_range(const PoolRange& range) {
  dispatch_dtype(range.tensors.dtype, [&](auto element) { pool<decltype(element)>(range); });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::perf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::perf {
namespace {

HWY_EXPORT(pool_range);

// The work of each thread.
std::vector<PoolWork> works_of(const PoolTensors& tensors, int threads) {
  const reference::VoxelPoolingForwardSizes& sizes = tensors.sizes;
  const auto inside = [](int32_t coordinate, int32_t bound) { return 0 <= coordinate && coordinate < bound; };
  std::vector<PooledRow> all;
  std::vector<int32_t> cells;  // with points, in the order of their first points
  std::vector<int64_t> counts(static_cast<size_t>(sizes.cells()));
  for (int64_t point = 0; point < sizes.points(); ++point) {
    const int32_t *xyz = tensors.geom_xyz + point * 3, batch = static_cast<int32_t>(point / sizes.num_points);
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
  std::vector<PoolWork> works(static_cast<size_t>(threads));
  std::vector<PoolWork*> owners(counts.size());
  int64_t before = 0;
  for (const int32_t cell : cells) {
    PoolWork& work = works[static_cast<size_t>(before * threads / static_cast<int64_t>(all.size()))];
    work.cells.push_back(cell);
    owners[static_cast<size_t>(cell)] = &work;
    before += counts[static_cast<size_t>(cell)];
  }
  for (const PooledRow& row : all) owners[static_cast<size_t>(row.cell)]->rows.push_back(row);
  const size_t empty_cells = counts.size() - cells.size();
  for (size_t cell = 0, empty = 0; cell < counts.size(); ++cell) {
    if (counts[cell] != 0) continue;
    works[empty++ * works.size() / empty_cells].empty_cells.push_back(static_cast<int32_t>(cell));
  }
  return works;
}

}  // namespace

std::function<void()> voxel_pooling_forward_bound(const PoolTensors& tensors, int threads) {
  const auto works = std::make_shared<const std::vector<PoolWork>>(works_of(tensors, threads));
  const bool has_sums = is_16_bit(tensors.dtype);
  const auto own_sums = std::make_shared<Buffer<float>>(has_sums ? tensors.sizes.output_count() : 0);
  return [=] {
    float* sums = has_sums ? own_sums->data() : static_cast<float*>(tensors.output_features);
    constexpr int64_t kLine = 16;
    const int64_t lines = tensors.sizes.geom_count() / kLine;
    parallel(threads, [&](int id) {
      const PoolRange range{tensors, (*works)[static_cast<size_t>(id)], sums, share(lines, threads, id) * kLine,
                            share(lines, threads, id + 1) * kLine};
      HWY_DYNAMIC_DISPATCH(pool_range)(range);
    });
  };
}

}  // namespace mluop::perf
#endif
