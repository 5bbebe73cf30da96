#include "primitives/gemm/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/gemm/matmul.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "core/caches.h"
#include "core/checks.h"
#include "core/dtype.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "primitives/gemm/gemm_microkernel-inl.h"
#include "primitives/simd/elements-inl.h"
#include "team/transfer.h"

#ifndef MLUOP_PRIMITIVES_MATMUL_TILE
#define MLUOP_PRIMITIVES_MATMUL_TILE
namespace mluop {

// Rows of a multiplied by a panel at once: a multiple of MR for every microkernel.
inline constexpr int64_t kMatmulRows = 24;

inline constexpr auto kRowNumbers = [] {
  std::array<int32_t, kMatmulRows> numbers{};
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}();

struct MatmulTile {
  MatmulTile(Arena& nram, const MatmulTiling& tiling, int64_t element_bytes)
      : panels(nram.take<float>("panels", {tiling.kc, tiling.columns})),
        b_row(nram.take<std::byte>("row of b", {tiling.columns, element_bytes})),
        a(nram.take<std::byte>("rows of a", {tiling.rows, tiling.kc, element_bytes})),
        converted(nram.take<float>("converted rows", {element_bytes == 2 ? tiling.rows : 0, tiling.kc})),
        c(nram.take<float>("rows of the result", {tiling.rows, tiling.columns})) {}

  float* panels;     // [panels][kc][NR], of b; the last panel is rounded up to whole vectors
  std::byte* b_row;  // [columns]
  std::byte* a;      // [rows, kc]
  float* converted;  // [rows, kc], a converted to fp32 from 16 bits
  float* c;          // [rows, columns]
};

struct MatmulWork {
  const MatmulArgs& call;
  MatmulTiling tiling;
};

}  // namespace mluop
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

// Prefetches the next rows of a while a tile is multiplied, some lines after each block.
struct Prefetcher {
  HWY_INLINE void operator()() {
    const char* const stop = std::min(next + step, end);
    for (; next < stop; next += kCacheLine) __builtin_prefetch(next);
  }
  const char* next;
  const char* end;
  int64_t step;
};

// One step of the product: inner elements [first, first + kc), columns [column, column + filled).
template <class T>
struct MatmulStep {
  static constexpr int64_t kBytes = sizeof(T);

  const MatmulArgs& call;
  const MatmulTile& tile;
  int64_t first, kc, column, filled;
  int64_t width = round_up(filled, kPanelLanes);

  void pack_panels(Task& task) const {
    const T* from = static_cast<const T*>(call.b) + first * call.columns + column;
    const T* row = reinterpret_cast<const T*>(tile.b_row);
    for (int64_t i = 0; i < kc; ++i) {
      load(task, tile.b_row, from + i * call.columns, filled * kBytes);
      for (int64_t j = 0; j < width; j += kNr) {
        const int64_t panel_width = std::min(kNr, width - j);
        const int64_t panel_filled = std::min(kNr, filled - j);
        float* to = tile.panels + j * kc + i * panel_width;
        load_row(row + j, panel_filled, to);
        std::fill(to + panel_filled, to + panel_width, 0.0F);
      }
    }
  }

  // Multiplies rows [row, row + count) and prefetches the following rows before `end`.
  void run(int64_t row, int64_t count, int64_t end, Task& task) const {
    const float* a = load_a(row, count, task);
    float* const result = call.result + row * call.columns + column;
    const int64_t result_stride = call.columns * int64_t{sizeof(float)};
    if (first == 0) {
      std::memset(tile.c, 0, static_cast<size_t>(count * width) * sizeof(float));
    } else {
      load_rows(task, tile.c, width * int64_t{sizeof(float)}, result, result_stride,
                filled * int64_t{sizeof(float)}, count);
    }
    Prefetcher prefetcher = prefetch_after(row + count, std::min(count, end - row - count));
    for (int64_t j = 0; j < width; j += kNr) {
      const int64_t panel_width = std::min(kNr, width - j);
      for (int64_t i = 0; i < count; i += kMatmulRows) {
        const MicrokernelArgs<float> args{tile.panels + j * kc,   kc,    a + i * kc, kc,
                                          tile.c + i * width + j, width, 0};
        gemm_panel(panel_width, args, kRowNumbers.data(), kRowNumbers.data(), std::min(kMatmulRows, count - i),
                   [&] { prefetcher(); });
      }
    }
    if (width == call.columns) {
      store(task, result, tile.c, count * result_stride);
    } else {
      store_rows(task, result, result_stride, tile.c, width * int64_t{sizeof(float)},
                 filled * int64_t{sizeof(float)}, count);
    }
  }

 private:
  const T* a_rows(int64_t row) const { return static_cast<const T*>(call.a) + row * call.inner + first; }

  // Loads rows of a, as fp32.
  const float* load_a(int64_t row, int64_t count, Task& task) const {
    if (kc == call.inner) {
      load(task, tile.a, a_rows(row), count * kc * kBytes);
    } else {
      load_rows(task, tile.a, kc * kBytes, a_rows(row), call.inner * kBytes, kc * kBytes, count);
    }
    if constexpr (sizeof(T) == sizeof(float)) return reinterpret_cast<const float*>(tile.a);
    load_row(reinterpret_cast<const T*>(tile.a), count * kc, tile.converted);
    return tile.converted;
  }

  // Only whole rows, because these are contiguous.
  Prefetcher prefetch_after(int64_t row, int64_t count) const {
    if (kc != call.inner || count <= 0) return {nullptr, nullptr, 0};
    const auto* begin = reinterpret_cast<const char*>(a_rows(row));
    const int64_t bytes = count * kc * kBytes;
    const int64_t blocks = std::max<int64_t>(count / kMr(kNrVectors) * ceil_div(width, kNr), 1);
    return {begin, begin + bytes, round_up(ceil_div(bytes, blocks), kCacheLine)};
  }
};

// Work items: rows of a.
template <class T>
void multiply_matrix(const MatmulWork& work, int64_t begin, int64_t end, Task& task) {
  const MatmulArgs& call = work.call;
  const MatmulTiling& tiling = work.tiling;
  const MatmulTile tile(task.nram, tiling, sizeof(T));
  for (int64_t column = 0; column < call.columns; column += tiling.columns) {
    for (int64_t first = 0; first < call.inner; first += tiling.kc) {
      const MatmulStep<T> step{.call = call,
                               .tile = tile,
                               .first = first,
                               .kc = std::min(tiling.kc, call.inner - first),
                               .column = column,
                               .filled = std::min(tiling.columns, call.columns - column)};
      step.pack_panels(task);
      for (int64_t row = begin; row < end; row += tiling.rows) {
        ++task.statistics->tiles;
        step.run(row, std::min(tiling.rows, end - row), end, task);
      }
    }
  }
}

RangeKernel<MatmulWork> matmul_kernel(mluOpDataType_t dtype) {
  return dispatch_dtype(
      dtype, [](auto element) -> RangeKernel<MatmulWork> { return multiply_matrix<decltype(element)>; });
}

int64_t nr() { return kNr; }

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {

HWY_EXPORT(matmul_kernel);
HWY_EXPORT(nr);

namespace {

// Rows of a and of the result share the caches with the panels.
constexpr int64_t kMaxKc = 512;
constexpr int64_t kMaxRowBytes = 24 << 10;
constexpr int64_t kMaxRows = 10 * kMatmulRows;

// Reduces the tile. Returns false if it is the smallest.
bool shrink(MatmulTiling& tiling) {
  if (tiling.columns > panel_columns()) {
    tiling.columns = round_up(tiling.columns / 2, panel_columns());
  } else if (tiling.rows > kMatmulRows) {
    tiling.rows -= kMatmulRows;
  } else if (tiling.kc > kMaxLanes) {
    tiling.kc = round_up(tiling.kc / 2, kMaxLanes);
  } else if (tiling.columns > kMaxLanes) {
    tiling.columns = round_up(tiling.columns / 2, kMaxLanes);
  } else if (tiling.rows > 1) {
    tiling.rows /= 2;
  } else if (tiling.kc > 1) {
    tiling.kc /= 2;
  } else {
    return false;
  }
  return true;
}

}  // namespace

int64_t panel_columns() { return MLUOP_DISPATCH(nr)(); }

MatmulTiling matmul_tiling(const Context& context, mluOpDataType_t dtype, int64_t inner, int64_t columns) {
  const auto capacity = static_cast<int64_t>(context.nram_capacity);
  MatmulTiling tiling{};
  tiling.kc = std::min(inner, kMaxKc);
  // At most the columns that could fit, so that sizes do not overflow.
  tiling.columns = round_up(std::min(columns, std::max(capacity / int64_t{sizeof(float)}, kMaxLanes)), kMaxLanes);
  const int64_t rows = kMaxRowBytes / ((tiling.kc + tiling.columns) * int64_t{sizeof(float)});
  tiling.rows = std::clamp(rows / kMatmulRows * kMatmulRows, kMatmulRows, kMaxRows);
  const auto bytes = [&] {
    return static_cast<int64_t>(bytes_of<MatmulTile>(tiling, static_cast<int64_t>(size_of(dtype))));
  };
  while (bytes() > capacity) {
    require(shrink(tiling), MLUOP_STATUS_ALLOC_FAILED, "MLUOP_OMP_NRAM_KB is ", capacity / 1024,
            ", expected room for the smallest tile: ", bytes(), " bytes");
  }
  return tiling;
}

void matmul(Context& context, const MatmulArgs& args) {
  const MatmulWork work{args, matmul_tiling(context, args.dtype, args.inner, args.columns)};
  launch(context, "matmul", device_task_dim(), Evenly{args.rows}, MLUOP_DISPATCH(matmul_kernel)(args.dtype), work);
}

}  // namespace mluop
#endif
