#include "perf/bounds/indice_convolution_forward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perf/bounds/indice_convolution_forward.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <type_traits>
#include <vector>

#include "perf/bounds/pair_tiles.h"
#include "perf/support/buffer.h"
#include "primitives/gemm_microkernel-inl.h"
#include "primitives/half-inl.h"
#include "primitives/prefetch.h"

#ifndef MLUOP_PERF_GEMM_TILE
#define MLUOP_PERF_GEMM_TILE
namespace mluop::perf {

// One tile of the output, which one thread computes.
struct GemmTile {
  const PairTiles& pairs;
  size_t tile;
  int64_t Ci, Co;
  const float* filters;  // packed: [K][panels][Ci][NR]
  const void* features;  // [N, Ci]
  float* converted;      // [pairs of a chunk, Ci], rows of half converted to fp32
  float* sums;           // [rows of a tile + 1, Co]
  void* output;          // [rows of the tile, Co]
};

struct GemmKernels {
  int64_t (*block_rows)(int64_t Co);
  void (*gemm_f32)(const GemmTile&);
  void (*gemm_f16)(const GemmTile&);
};

}  // namespace mluop::perf
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::perf {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kLanes;
using mluop::HWY_NAMESPACE::kMr;
using mluop::HWY_NAMESPACE::kNrVectors;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::store_f32;
using D = mluop::HWY_NAMESPACE::PanelTag;

// Vectors of a panel, such that the panels divide Co evenly.
int vectors_of(int64_t Co) {
  int vectors = kNrVectors;
  while (Co / kLanes % vectors != 0) vectors /= 2;
  return vectors;
}

int64_t block_rows(int64_t Co) { return kMr(vectors_of(Co)); }

// Adds the products of MR rows and a panel to the sums of the rows.
template <int kBlockVectors>
HWY_NOINLINE void microkernel(const float* HWY_RESTRICT panel, int64_t Ci, const float* const* rows,
                              const uint32_t* output_offsets, float* sums) {
  constexpr auto kMR = static_cast<int>(kMr(kBlockVectors));
  const D d;
  const float* elements[kMR];
  float* to[kMR];
  hn::Vec<D> sum[kMR][kBlockVectors];
  HWY_UNROLL(12) for (int r = 0; r < kMR; ++r) {
    elements[r] = rows[r];
    to[r] = sums + output_offsets[r];
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) sum[r][v] = hn::Load(d, to[r] + v * kLanes);
  }
  for (int64_t i = 0; i < Ci; ++i, panel += kBlockVectors * kLanes) {
    hn::Vec<D> column[kBlockVectors];
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) column[v] = hn::Load(d, panel + v * kLanes);
    HWY_UNROLL(12) for (int r = 0; r < kMR; ++r) {
      const auto element = hn::Set(d, elements[r][i]);
      HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) {
        sum[r][v] = hn::MulAdd(element, column[v], sum[r][v]);
      }
    }
  }
  HWY_UNROLL(12) for (int r = 0; r < kMR; ++r) {
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) hn::Store(sum[r][v], d, to[r] + v * kLanes);
  }
}

// Sets rows[i] to the fp32 row of the i-th pair of a chunk. Converts rows of half.
HWY_INLINE void load_rows(const GemmTile& tile, const PairChunk& chunk, const float*, const float** rows) {
  const auto* features = static_cast<const float*>(tile.features);
  for (size_t i = 0; i < chunk.count; ++i) rows[i] = features + tile.pairs.input_offsets[chunk.begin + i];
}
HWY_INLINE void load_rows(const GemmTile& tile, const PairChunk& chunk, const Half*, const float** rows) {
  const D d;
  float* to = tile.converted;
  for (size_t i = 0; i < chunk.count; ++i, to += tile.Ci) {
    const Half* from = static_cast<const Half*>(tile.features) + tile.pairs.input_offsets[chunk.begin + i];
    for (int64_t c = 0; c < tile.Ci; c += kLanes) hn::Store(load_f32(d, from + c), d, to + c);
    rows[i] = to;
  }
}

template <class T>
HWY_INLINE void write_tile(const GemmTile& tile, size_t rows) {
  const D d;
  const int64_t count = static_cast<int64_t>(rows) * tile.Co;
  auto* to = static_cast<T*>(tile.output);
  for (int64_t i = 0; i < count; i += kLanes) {
    const auto sum = hn::Load(d, tile.sums + i);
    if constexpr (std::is_same_v<T, float>) {
      hn::Stream(sum, d, to + i);
    } else {
      store_f32(sum, d, to + i);
    }
  }
}

template <class T, int kBlockVectors>
void gemm_panels(const GemmTile& tile) {
  constexpr int64_t kNR = kBlockVectors * kLanes;
  constexpr auto kMR = static_cast<size_t>(kMr(kBlockVectors));
  const auto [first_chunk, last_chunk] = tile.pairs.chunks_of(tile.tile);
  const auto* features = static_cast<const T*>(tile.features);
  const size_t tile_rows = tile.pairs.rows_of(tile.tile);
  std::fill_n(tile.sums, static_cast<int64_t>(tile_rows) * tile.Co, 0.0F);
  for (const PairChunk* chunk = first_chunk; chunk < last_chunk; ++chunk) {
    const float* rows[PairTiles::kMaxPairs];
    load_rows(tile, *chunk, static_cast<const T*>(nullptr), rows);
    // Prefetches of the next chunk's rows are spread over the blocks of this one.
    const PairChunk& next = chunk + 1 < last_chunk ? chunk[1] : *chunk;
    const size_t blocks = chunk->count / kMR * static_cast<size_t>(tile.Co / kNR);
    const size_t step = (next.count + blocks - 1) / blocks;
    size_t prefetched = next.begin;
    const float* panel = tile.filters + chunk->k * tile.Ci * tile.Co;
    for (int64_t channel = 0; channel < tile.Co; channel += kNR, panel += tile.Ci * kNR) {
      for (size_t i = 0; i < chunk->count; i += kMR) {
        microkernel<kBlockVectors>(panel, tile.Ci, rows + i, tile.pairs.output_offsets.data() + chunk->begin + i,
                                   tile.sums + channel);
        for (const size_t end = std::min(prefetched + step, next.begin + next.count); prefetched < end;
             ++prefetched) {
          prefetch_row<Use::kRead>(features + tile.pairs.input_offsets[prefetched],
                                   tile.Ci * static_cast<int64_t>(sizeof(T)));
        }
      }
    }
  }
  write_tile<T>(tile, tile_rows);
  hwy::FlushStream();
}

template <class T>
void gemm_tile(const GemmTile& tile) {
  switch (vectors_of(tile.Co)) {
    case 1: return gemm_panels<T, 1>(tile);
    case 2: return gemm_panels<T, 2>(tile);
    default: return gemm_panels<T, kNrVectors>(tile);
  }
}

GemmKernels gemm_kernels() { return {block_rows, gemm_tile<float>, gemm_tile<Half>}; }

}  // namespace HWY_NAMESPACE
}  // namespace mluop::perf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::perf {
namespace {

HWY_EXPORT(gemm_kernels);

const GemmKernels& selected_kernels() {
  static const GemmKernels kernels = HWY_DYNAMIC_DISPATCH(gemm_kernels)();
  return kernels;
}

using Sizes = reference::IndiceConvolutionForwardSizes;

template <class T>
class GemmBound {
 public:
  GemmBound(const Sizes& sizes, const T* features, const int32_t* indice_pairs, const int64_t* indice_num,
            int threads)
      : sizes_(sizes),
        features_(features),
        pairs_(sizes, indice_pairs, indice_num, selected_kernels().block_rows(sizes.Co), threads),
        filters_(sizes.filters_count()),
        output_(sizes.features_out_count()) {
    fill_uniform(filters_, 1);
    for (int id = 0; id < threads; ++id) {
      sums_.emplace_back((pairs_.tile_rows + 1) * sizes.Co);
      converted_.emplace_back(static_cast<int64_t>(PairTiles::kMaxPairs) * sizes.Ci);
    }
  }

  void run() {
    constexpr auto gemm = std::is_same_v<T, float> ? &GemmKernels::gemm_f32 : &GemmKernels::gemm_f16;
    std::atomic<size_t> next_tile = 0;
    parallel(static_cast<int>(sums_.size()), [&](int id) {
      const auto thread = static_cast<size_t>(id);
      for (size_t tile; (tile = next_tile++) < pairs_.tile_count();) {
        (selected_kernels().*gemm)({pairs_, tile, sizes_.Ci, sizes_.Co, filters_.data(), features_,
                                    converted_[thread].data(), sums_[thread].data(),
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
  std::vector<Buffer<float>> sums_, converted_;  // scratch, one buffer per thread
};

template <class T>
std::function<void()> make_bound(const Sizes& sizes, const T* features, const int32_t* indice_pairs,
                                 const int64_t* indice_num, int threads) {
  const auto bound = std::make_shared<GemmBound<T>>(sizes, features, indice_pairs, indice_num, threads);
  return [bound] { bound->run(); };
}

}  // namespace

std::function<void()> indice_convolution_forward_bound(const Sizes& sizes, const float* features,
                                                       const int32_t* indice_pairs, const int64_t* indice_num,
                                                       int threads) {
  return make_bound(sizes, features, indice_pairs, indice_num, threads);
}

std::function<void()> indice_convolution_forward_bound(const Sizes& sizes, const test::Half* features,
                                                       const int32_t* indice_pairs, const int64_t* indice_num,
                                                       int threads) {
  return make_bound(sizes, features, indice_pairs, indice_num, threads);
}

}  // namespace mluop::perf
#endif
