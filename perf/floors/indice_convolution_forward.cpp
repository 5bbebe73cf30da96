#include "perf/floors/indice_convolution_forward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perf/floors/indice_convolution_forward.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "perf/support/buffer.h"

#ifndef MLUOP_PERF_PRODUCTS_PART
#define MLUOP_PERF_PRODUCTS_PART
namespace mluop::perf {

// Rows that are in the cache: of any block a multiple.
constexpr int64_t kResidentRows = 24;
// Of the widest panel, and of the widest vector.
constexpr int64_t kMostColumns = 64, kMostLanes = 16;

// What a thread computes, of one offset.
struct ProductsPart {
  int64_t Ci, Co;
  int64_t pairs;
  const float* filters;  // [panels][Ci][columns]
  const float* rows;     // [kResidentRows, Ci]
  float* sums;           // [kResidentRows, kMostColumns]
};

}  // namespace mluop::perf
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::perf {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kMostLanes>;

constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// Vectors of a panel, and rows of a block by them: what fills the registers, or is faster with fewer, see
// NOTES.md.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
constexpr int kVectors = 4;
constexpr int kRows[] = {8, 6, 6, 4};
#else
constexpr int kVectors = 2;
constexpr int kRows[] = {12, 6};
#endif

// Adds the products of a block's rows and a panel to its sums.
template <int kBlockVectors>
HWY_NOINLINE void multiply_block(const float* HWY_RESTRICT panel, int64_t Ci, const float* HWY_RESTRICT rows,
                                 float* HWY_RESTRICT sums) {
  constexpr int kBlockRows = kRows[kBlockVectors - 1];
  const D d;
  hn::Vec<D> sum[kBlockRows][kBlockVectors];
  HWY_UNROLL(12) for (int r = 0; r < kBlockRows; ++r) {
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) {
      sum[r][v] = hn::Load(d, sums + r * kMostColumns + v * kLanes);
    }
  }
  for (int64_t i = 0; i < Ci; ++i, panel += kBlockVectors * kLanes) {
    hn::Vec<D> column[kBlockVectors];
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) column[v] = hn::Load(d, panel + v * kLanes);
    HWY_UNROLL(12) for (int r = 0; r < kBlockRows; ++r) {
      const auto element = hn::Set(d, rows[r * Ci + i]);
      HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) {
        sum[r][v] = hn::MulAdd(element, column[v], sum[r][v]);
      }
    }
  }
  HWY_UNROLL(12) for (int r = 0; r < kBlockRows; ++r) {
    HWY_UNROLL(4) for (int v = 0; v < kBlockVectors; ++v) {
      hn::Store(sum[r][v], d, sums + r * kMostColumns + v * kLanes);
    }
  }
}

template <int kBlockVectors>
void multiply_panel(const ProductsPart& part, const float* panel) {
  constexpr int64_t kBlockRows = kRows[kBlockVectors - 1];
  for (int64_t pair = 0, row = 0; pair < part.pairs; pair += kBlockRows) {
    multiply_block<kBlockVectors>(panel, part.Ci, part.rows + row * part.Ci, part.sums + row * kMostColumns);
    row = row + kBlockRows == kResidentRows ? 0 : row + kBlockRows;
  }
}

void multiply(const ProductsPart& part) {
  constexpr int64_t kPanel = kVectors * kLanes;
  int64_t channel = 0;
  for (; channel + kPanel <= part.Co; channel += kPanel) {
    multiply_panel<kVectors>(part, part.filters + channel * part.Ci);
  }
  if constexpr (kVectors == 4) {
    if (channel + 2 * kLanes <= part.Co) {
      multiply_panel<2>(part, part.filters + channel * part.Ci);
      channel += 2 * kLanes;
    }
  }
  for (; channel < part.Co; channel += kLanes) multiply_panel<1>(part, part.filters + channel * part.Ci);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::perf
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::perf {
namespace {

HWY_EXPORT(multiply);

// Chosen before main(), as in support/fma_peak.cpp.
const auto kMultiply = [] {
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return HWY_DYNAMIC_DISPATCH(multiply);
}();

class ProductsFloor {
 public:
  ProductsFloor(int64_t Ci, int64_t Co, std::span<const int64_t> indice_num, int threads)
      : Ci_(Ci),
        Co_((Co + kMostLanes - 1) / kMostLanes * kMostLanes),
        num_(indice_num.begin(), indice_num.end()),
        filters_(static_cast<int64_t>(num_.size()) * Ci_ * Co_) {
    fill_uniform(filters_, 1);
    for (int id = 0; id < threads; ++id) scratch_.emplace_back(kResidentRows * (Ci_ + kMostColumns));
  }

  void run() {
    const auto threads = static_cast<int>(scratch_.size());
    parallel(threads, [&](int id) {
      // Zeroes, which are as fast as other rows: sums stay as they are.
      float* rows = scratch_[static_cast<size_t>(id)].data();
      for (size_t k = 0; k < num_.size(); ++k) {
        kMultiply({Ci_, Co_, share(num_[k], threads, id + 1) - share(num_[k], threads, id),
                   filters_.data() + static_cast<int64_t>(k) * Ci_ * Co_, rows, rows + kResidentRows * Ci_});
      }
    });
  }

 private:
  int64_t Ci_, Co_;
  std::vector<int64_t> num_;
  Buffer<float> filters_;
  std::vector<Buffer<float>> scratch_;  // of each thread
};

}  // namespace

std::function<void()> indice_convolution_forward_floor(int64_t Ci, int64_t Co, std::span<const int64_t> indice_num,
                                                       int threads) {
  const auto floor = std::make_shared<ProductsFloor>(Ci, Co, indice_num, threads);
  return [floor] { floor->run(); };
}

}  // namespace mluop::perf
#endif
