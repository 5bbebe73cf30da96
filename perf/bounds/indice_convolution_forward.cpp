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
#include <numeric>
#include <type_traits>
#include <vector>

#include "core/dtype.h"
#include "perf/support/measures.h"
#include "primitives/gemm/gemm_microkernel-inl.h"
#include "primitives/memory/prefetch.h"
#include "primitives/simd/elements-inl.h"

#ifndef MLUOP_PERF_GEMM_TILE
#define MLUOP_PERF_GEMM_TILE
namespace mluop::perf {

// Maximum number of pairs of a batch, so that its input rows fit in L1.
constexpr size_t kMaxPairs = 96;

// Consecutive pairs of one filter offset.
struct PairBatch {
  int64_t k;
  size_t begin, count;
};

// The index pairs of a tile of the output, sorted by filter offset.
struct TilePairs {
  std::vector<PairBatch> batches;
  std::vector<int32_t> inputs, outputs;  // row of features and row of the tile
};

struct GemmPlan {
  ConvolutionTensors tensors;
  int64_t tile_rows;
  std::vector<TilePairs> tiles;
  Buffer<float> filters;  // packed: [K][panels][Ci][NR]
};

}  // namespace mluop::perf
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::perf {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::kNr;
using mluop::HWY_NAMESPACE::kPanelLanes;
using D = mluop::HWY_NAMESPACE::PanelTag;

// A tile of the output. Scratch of the thread: converted [kMaxPairs, Ci], for rows converted to fp32, and
// sums [tile_rows, Co].
template <class T>
void gemm(const GemmPlan& plan, size_t tile, float* converted, float* sums) {
  constexpr bool kConverts = !std::is_same_v<T, float>;
  const D d;
  const int64_t Ci = plan.tensors.sizes.Ci, Co = plan.tensors.sizes.Co;
  const TilePairs& tile_pairs = plan.tiles[tile];
  const int64_t first_row = static_cast<int64_t>(tile) * plan.tile_rows;
  const int64_t count = std::min(plan.tile_rows, plan.tensors.sizes.num_act_out - first_row) * Co;
  const auto row_bytes = Ci * static_cast<int64_t>(sizeof(T));
  const auto* features = static_cast<const T*>(plan.tensors.features);
  int32_t converted_rows[kMaxPairs];
  std::iota(converted_rows, converted_rows + kMaxPairs, 0);
  std::fill_n(sums, count, 0.0F);
  for (const PairBatch& batch : tile_pairs.batches) {
    const int32_t* inputs = tile_pairs.inputs.data() + batch.begin;
    const int32_t* outputs = tile_pairs.outputs.data() + batch.begin;
    const auto pairs = static_cast<int64_t>(batch.count);
    if constexpr (kConverts) {
      float* to = converted;
      for (int64_t i = 0; i < pairs; ++i) {
        const T* from = features + inputs[i] * Ci;
        for (const T* end = from + Ci; from < end; from += kPanelLanes, to += kPanelLanes) {
          hn::Store(mluop::HWY_NAMESPACE::load_f32(d, from), d, to);
        }
      }
    }
    // Prefetches of the next batch's rows are spread over the blocks of this one.
    const PairBatch& next = &batch == &tile_pairs.batches.back() ? batch : *(&batch + 1);
    const int64_t block_rows = mluop::HWY_NAMESPACE::kMr(std::min(Co, kNr) / kPanelLanes);
    const int64_t blocks = (pairs + block_rows - 1) / block_rows * ((Co + kNr - 1) / kNr);
    const size_t step = next.count / static_cast<size_t>(blocks) + 1;
    size_t prefetched = next.begin;
    const auto prefetch = [&] {
      for (const size_t end = std::min(prefetched + step, next.begin + next.count); prefetched < end;
           ++prefetched) {
        prefetch_row<Use::kRead>(features + tile_pairs.inputs[prefetched] * Ci, row_bytes);
      }
    };
    const float* panel = plan.filters.data() + batch.k * Ci * Co;
    for (int64_t channel = 0; channel < Co; channel += kNr) {
      const int64_t width = std::min(kNr, Co - channel);
      const float* rows = kConverts ? converted : static_cast<const float*>(plan.tensors.features);
      mluop::HWY_NAMESPACE::gemm_panel(
          width, mluop::HWY_NAMESPACE::MicrokernelArgs<float>{panel, Ci, rows, Ci, sums + channel, Co, 0},
          kConverts ? converted_rows : inputs, outputs, pairs, prefetch);
      panel += Ci * width;
    }
  }
  T* to = static_cast<T*>(plan.tensors.features_out) + first_row * Co;
  for (int64_t i = 0; i < count; i += kPanelLanes) {
    const auto sum = hn::Load(d, sums + i);
    if constexpr (kConverts) {
      mluop::HWY_NAMESPACE::store_f32(sum, d, to + i);
    } else {
      hn::Stream(sum, d, to + i);
    }
  }
  hwy::FlushStream();
}

int64_t panel_columns() { return kNr; }
void gemm_tile(const GemmPlan& plan, size_t tile, float* converted, float* sums) {
  dispatch_dtype(plan.tensors.dtype, [&](auto element) { gemm<decltype(element)>(plan, tile, converted, sums); });
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::perf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::perf {
namespace {

HWY_EXPORT(panel_columns);
HWY_EXPORT(gemm_tile);

using Sizes = reference::IndiceConvolutionForwardSizes;

constexpr int64_t kTileBytes = 256 << 10;
constexpr size_t kBatchBytes = 24 << 10;
// Per thread: limits the time that threads wait for the last tile.
constexpr int64_t kMinTiles = 32;
// A multiple of the rows of most register blocks.
constexpr size_t kBlocks = 12;

int64_t rows_per_tile(const Sizes& sizes, int threads) {
  int64_t rows = kTileBytes / (sizes.Co * static_cast<int64_t>(sizeof(float)));
  while (rows > 1 && sizes.num_act_out / rows < kMinTiles * threads) rows /= 2;
  return rows;
}

// Linear in the number of pairs.
std::vector<TilePairs> tiles_of(const ConvolutionTensors& tensors, int64_t tile_rows) {
  const Sizes& sizes = tensors.sizes;
  const auto row_bytes = static_cast<size_t>(sizes.Ci) * sizeof(float);
  const size_t max_pairs = std::clamp(kBatchBytes / row_bytes / kBlocks * kBlocks, kBlocks, kMaxPairs);
  std::vector<TilePairs> tiles(static_cast<size_t>((sizes.num_act_out + tile_rows - 1) / tile_rows));
  for (int64_t k = 0; k < sizes.K(); ++k) {
    const int32_t* rows_in = tensors.indice_pairs + 2 * k * sizes.num_act_in;
    const int32_t* rows_out = rows_in + sizes.num_act_in;
    for (int64_t l = 0; l < tensors.indice_num[k]; ++l) {
      auto& [batches, inputs, outputs] = tiles[static_cast<size_t>(rows_out[l] / tile_rows)];
      if (batches.empty() || batches.back().k != k || batches.back().count == max_pairs) {
        batches.push_back({k, inputs.size(), 0});
      }
      ++batches.back().count;
      inputs.push_back(rows_in[l]);
      outputs.push_back(static_cast<int32_t>(rows_out[l] % tile_rows));
    }
  }
  return tiles;
}

// [K, Ci, Co] to [K][panels][Ci][NR]
template <class T>
Buffer<float> packed(const Sizes& sizes, const T* filters) {
  Buffer<float> result(sizes.filters_count());
  float* to = result.data();
  const int64_t panel = HWY_DYNAMIC_DISPATCH(panel_columns)();
  for (int64_t k = 0; k < sizes.K(); ++k, filters += sizes.Ci * sizes.Co) {
    for (int64_t first = 0; first < sizes.Co; first += panel) {
      for (int64_t row = 0; row < sizes.Ci; ++row) {
        const T* from = filters + row * sizes.Co;
        to = std::transform(from + first, from + std::min(first + panel, sizes.Co), to,
                            [](T element) { return to_f32(element); });
      }
    }
  }
  return result;
}

}  // namespace

std::function<void()> indice_convolution_forward_bound(const ConvolutionTensors& tensors, int threads) {
  const Sizes& sizes = tensors.sizes;
  const int64_t tile_rows = rows_per_tile(sizes, threads);
  const auto plan = std::make_shared<GemmPlan>(
      GemmPlan{tensors, tile_rows, tiles_of(tensors, tile_rows), dispatch_dtype(tensors.dtype, [&](auto element) {
                 return packed(sizes, static_cast<const decltype(element)*>(tensors.filters));
               })});
  const auto converted = std::make_shared<std::vector<Buffer<float>>>(),
             sums = std::make_shared<std::vector<Buffer<float>>>();
  for (int id = 0; id < threads; ++id) {
    converted->emplace_back(static_cast<int64_t>(kMaxPairs) * sizes.Ci);
    sums->emplace_back(tile_rows * sizes.Co);
  }
  return [=] {
    std::atomic<size_t> next_tile = 0;
    parallel(threads, [&](int id) {
      const auto thread = static_cast<size_t>(id);
      for (size_t tile; (tile = next_tile++) < plan->tiles.size();) {
        HWY_DYNAMIC_DISPATCH(gemm_tile)(*plan, tile, (*converted)[thread].data(), (*sums)[thread].data());
      }
    });
  };
}

}  // namespace mluop::perf
#endif
