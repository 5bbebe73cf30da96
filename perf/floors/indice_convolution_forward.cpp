#include "perf/floors/indice_convolution_forward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perf/floors/indice_convolution_forward.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <type_traits>
#include <vector>

#include "perf/floors/pair_tiles.h"
#include "perf/support/buffer.h"
#include "perf/support/of_machine.h"
#include "primitives/half-inl.h"
#include "primitives/multiply-inl.h"
#include "primitives/prefetch.h"

#ifndef MLUOP_PERF_PRODUCTS_TILE
#define MLUOP_PERF_PRODUCTS_TILE
namespace mluop::perf {

// What a thread computes: one tile.
struct ProductsTile {
  const PairTiles& pairs;
  size_t tile;
  int64_t Ci, Co;
  const float* filters;  // [K][panels][Ci][columns]
  const void* features;  // [N, Ci]
  float* widened;        // [pairs of a chunk, Ci], of half
  float* sums;           // [rows of a tile and one more, Co]
  void* output;          // [rows of the tile, Co]
};

struct ProductsKernels {
  int64_t (*block_rows)(int64_t Co);
  void (*multiply_float)(const ProductsTile&);
  void (*multiply_half)(const ProductsTile&);
};

}  // namespace mluop::perf
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::perf {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kLanes;
using mluop::HWY_NAMESPACE::kRows;
using mluop::HWY_NAMESPACE::kVectors;
using mluop::HWY_NAMESPACE::load_float;
using mluop::HWY_NAMESPACE::store_float;
using D = mluop::HWY_NAMESPACE::PanelTag;

// All panels are alike.
int vectors_of(int64_t Co) {
  int vectors = kVectors;
  while (Co / kLanes % vectors != 0) vectors /= 2;
  return vectors;
}

int64_t block_rows(int64_t Co) { return kRows[vectors_of(Co) - 1]; }

// Adds the products of a block's rows and a panel to its sums.
template <int kBlockVectors>
HWY_NOINLINE void multiply_block(const float* HWY_RESTRICT panel, int64_t Ci, const float* const* rows,
                                 const uint32_t* places, float* sums) {
  constexpr int kBlockRows = kRows[kBlockVectors - 1];
  const D d;
  const float* elements[kBlockRows];
  float* to[kBlockRows];
  hn::Vec<D> sum[kBlockRows][kBlockVectors];
  HWY_UNROLL(12) for (int r = 0; r < kBlockRows; ++r) {
    elements[r] = rows[r];
    to[r] = sums + places[r];
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) sum[r][v] = hn::Load(d, to[r] + v * kLanes);
  }
  for (int64_t i = 0; i < Ci; ++i, panel += kBlockVectors * kLanes) {
    hn::Vec<D> column[kBlockVectors];
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) column[v] = hn::Load(d, panel + v * kLanes);
    HWY_UNROLL(12) for (int r = 0; r < kBlockRows; ++r) {
      const auto element = hn::Set(d, elements[r][i]);
      HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) {
        sum[r][v] = hn::MulAdd(element, column[v], sum[r][v]);
      }
    }
  }
  HWY_UNROLL(12) for (int r = 0; r < kBlockRows; ++r) {
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) hn::Store(sum[r][v], d, to[r] + v * kLanes);
  }
}

// The rows of a chunk as float: where they are, or made so.
HWY_INLINE void find_rows(const ProductsTile& tile, const PairChunk& chunk, const float*, const float** rows) {
  const auto* features = static_cast<const float*>(tile.features);
  for (size_t i = 0; i < chunk.count; ++i) rows[i] = features + tile.pairs.inputs[chunk.begin + i];
}
HWY_INLINE void find_rows(const ProductsTile& tile, const PairChunk& chunk, const Half*, const float** rows) {
  const D d;
  float* to = tile.widened;
  for (size_t i = 0; i < chunk.count; ++i, to += tile.Ci) {
    const Half* from = static_cast<const Half*>(tile.features) + tile.pairs.inputs[chunk.begin + i];
    for (int64_t c = 0; c < tile.Ci; c += kLanes) hn::Store(load_float(d, from + c), d, to + c);
    rows[i] = to;
  }
}

template <class T>
HWY_INLINE void write_tile(const ProductsTile& tile, size_t rows) {
  const D d;
  const int64_t count = static_cast<int64_t>(rows) * tile.Co;
  auto* to = static_cast<T*>(tile.output);
  for (int64_t i = 0; i < count; i += kLanes) {
    const auto sum = hn::Load(d, tile.sums + i);
    if constexpr (std::is_same_v<T, float>) {
      hn::Stream(sum, d, to + i);
    } else {
      store_float(sum, d, to + i);
    }
  }
}

template <class T, int kBlockVectors>
void multiply_tile(const ProductsTile& tile) {
  constexpr int64_t kColumns = kBlockVectors * kLanes;
  constexpr size_t kBlockRows = kRows[kBlockVectors - 1];
  const auto [first_chunk, last_chunk] = tile.pairs.chunks_of(tile.tile);
  const auto* features = static_cast<const T*>(tile.features);
  const size_t tile_rows = tile.pairs.rows_of(tile.tile);
  std::fill_n(tile.sums, static_cast<int64_t>(tile_rows) * tile.Co, 0.0F);
  for (const PairChunk* chunk = first_chunk; chunk < last_chunk; ++chunk) {
    const float* rows[PairTiles::kMostPairs];
    find_rows(tile, *chunk, static_cast<const T*>(nullptr), rows);
    // The rows of the next chunk, a few after each block.
    const PairChunk& next = chunk + 1 < last_chunk ? chunk[1] : *chunk;
    const size_t blocks = chunk->count / kBlockRows * static_cast<size_t>(tile.Co / kColumns);
    const size_t step = (next.count + blocks - 1) / blocks;
    size_t fetched = next.begin;
    const float* panel = tile.filters + chunk->k * tile.Ci * tile.Co;
    for (int64_t channel = 0; channel < tile.Co; channel += kColumns, panel += tile.Ci * kColumns) {
      for (size_t i = 0; i < chunk->count; i += kBlockRows) {
        multiply_block<kBlockVectors>(panel, tile.Ci, rows + i, tile.pairs.places.data() + chunk->begin + i,
                                      tile.sums + channel);
        for (const size_t end = std::min(fetched + step, next.begin + next.count); fetched < end; ++fetched) {
          prefetch_row<Use::kRead>(features + tile.pairs.inputs[fetched],
                                   tile.Ci * static_cast<int64_t>(sizeof(T)));
        }
      }
    }
  }
  write_tile<T>(tile, tile_rows);
  hwy::FlushStream();
}

template <class T>
void multiply(const ProductsTile& tile) {
  switch (vectors_of(tile.Co)) {
    case 1: return multiply_tile<T, 1>(tile);
    case 2: return multiply_tile<T, 2>(tile);
    default: return multiply_tile<T, kVectors>(tile);
  }
}

ProductsKernels products_kernels() { return {block_rows, multiply<float>, multiply<Half>}; }

}  // namespace HWY_NAMESPACE
}  // namespace mluop::perf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::perf {
namespace {

HWY_EXPORT(products_kernels);

const auto kKernels = of_machine([] { return HWY_DYNAMIC_DISPATCH(products_kernels)(); });

using Sizes = reference::IndiceConvolutionForwardSizes;

template <class T>
class ProductsFloor {
 public:
  ProductsFloor(const Sizes& sizes, const T* features, const int32_t* indice_pairs, const int64_t* indice_num,
                int threads)
      : sizes_(sizes),
        features_(features),
        pairs_(sizes, indice_pairs, indice_num, kKernels.block_rows(sizes.Co), threads),
        filters_(sizes.filters_count()),
        output_(sizes.features_out_count()) {
    fill_uniform(filters_, 1);
    for (int id = 0; id < threads; ++id) {
      sums_.emplace_back((pairs_.tile_rows + 1) * sizes.Co);
      widened_.emplace_back(static_cast<int64_t>(PairTiles::kMostPairs) * sizes.Ci);
    }
  }

  void run() {
    constexpr auto multiply =
        std::is_same_v<T, float> ? &ProductsKernels::multiply_float : &ProductsKernels::multiply_half;
    std::atomic<size_t> next_tile = 0;
    parallel(static_cast<int>(sums_.size()), [&](int id) {
      const auto thread = static_cast<size_t>(id);
      for (size_t tile; (tile = next_tile++) < pairs_.tile_count();) {
        (kKernels.*multiply)({pairs_, tile, sizes_.Ci, sizes_.Co, filters_.data(), features_,
                              widened_[thread].data(), sums_[thread].data(),
                              output_.data() + static_cast<int64_t>(tile) * pairs_.tile_rows * sizes_.Co});
      }
    });
  }

 private:
  Sizes sizes_;
  const T* features_;
  PairTiles pairs_;
  Buffer<float> filters_;
  Buffer<T> output_;
  std::vector<Buffer<float>> sums_, widened_;  // of each thread
};

template <class T>
std::function<void()> floor_of(const Sizes& sizes, const T* features, const int32_t* indice_pairs,
                               const int64_t* indice_num, int threads) {
  const auto floor = std::make_shared<ProductsFloor<T>>(sizes, features, indice_pairs, indice_num, threads);
  return [floor] { floor->run(); };
}

}  // namespace

std::function<void()> indice_convolution_forward_floor(const Sizes& sizes, const float* features,
                                                       const int32_t* indice_pairs, const int64_t* indice_num,
                                                       int threads) {
  return floor_of(sizes, features, indice_pairs, indice_num, threads);
}

std::function<void()> indice_convolution_forward_floor(const Sizes& sizes, const test::Half* features,
                                                       const int32_t* indice_pairs, const int64_t* indice_num,
                                                       int threads) {
  return floor_of(sizes, features, indice_pairs, indice_num, threads);
}

}  // namespace mluop::perf
#endif
