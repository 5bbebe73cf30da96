#include "primitives/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/matmul.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <numeric>

#include "core/sizes.h"
#include "primitives/half-inl.h"
#include "primitives/multiply-inl.h"
#include "team/fit_tile.h"

#ifndef MLUOP_PRIMITIVES_MATMUL_TILE
#define MLUOP_PRIMITIVES_MATMUL_TILE
namespace mluop {

// Rows of a that are multiplied by a panel before the next ones.
inline constexpr int64_t kMatmulRows = 24;

struct MatmulTile {
  MatmulTile(Nram& nram, int64_t inner, int64_t panel_width, bool half)
      : panel(nram.take<float>(static_cast<size_t>(inner * panel_width))),
        numbers(nram.take<int32_t>(kMatmulRows)),
        converted(nram.take<float>(static_cast<size_t>(half ? kMatmulRows * inner : 0))) {
    std::iota(numbers, numbers + kMatmulRows, 0);
  }

  // What the constructor takes.
  static size_t bytes(int64_t inner, int64_t panel_width, bool half) {
    return nram_bytes<float>(static_cast<size_t>(inner * panel_width)) + nram_bytes<int32_t>(kMatmulRows) +
           nram_bytes<float>(static_cast<size_t>(half ? kMatmulRows * inner : 0));
  }

  float* panel;      // [inner, width], of b
  int32_t* numbers;  // [kMatmulRows], 0, 1, 2 and so on: of rows
  float* converted;  // [kMatmulRows, inner], rows of a where these are half
};

// A call, and how many of the inner elements are in NRAM at once.
struct MatmulWork {
  const MatmulArgs& call;
  int64_t inner;
};

}  // namespace mluop
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

HWY_INLINE float widened(float value) { return value; }
HWY_INLINE float widened(Half value) { return mluop::to_float(value); }

// What is in NRAM of a product: inner elements [first, first + inner), columns [column, column + width).
template <class T>
struct MatmulBlock {
  const MatmulArgs& call;
  const MatmulTile& tile;
  int64_t first, inner, column, width;

  void load_panel() const {
    const T* from = static_cast<const T*>(call.b) + first * call.columns + column;
    const int64_t filled = std::min(width, call.columns - column);
    float* to = tile.panel;
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t j = 0; j < filled; ++j) to[j] = widened(from[j]);
      std::fill(to + filled, to + width, 0.0F);
      from += call.columns;
      to += width;
    }
  }

  void multiply(int64_t begin, int64_t end) const {
    for (int64_t row = begin; row < end; row += kMatmulRows) {
      const int64_t count = std::min(end - row, kMatmulRows);
      float* sums = call.result + row * call.result_stride() + column;
      if (first == 0) {
        for (int64_t i = 0; i < count; ++i) std::fill_n(sums + i * call.result_stride(), width, 0.0F);
      }
      const T* rows = static_cast<const T*>(call.a) + row * call.inner + first;
      multiply_panel(width, product(rows, count, sums), tile.numbers, tile.numbers, count, [] {});
    }
  }

 private:
  Product product(const float* rows, int64_t, float* sums) const {
    return {tile.panel, inner, rows, call.inner, sums, call.result_stride(), 0};
  }
  Product product(const Half* rows, int64_t count, float* sums) const {
    for (int64_t i = 0; i < count; ++i) convert(rows + i * call.inner, tile.converted + i * inner);
    return {tile.panel, inner, tile.converted, inner, sums, call.result_stride(), 0};
  }

  void convert(const Half* row, float* to) const {
    const PanelTag d;
    const int64_t whole = inner / kLanes * kLanes;
    for (int64_t j = 0; j < whole; j += kLanes) hn::StoreU(load_float(d, row + j), d, to + j);
    for (int64_t j = whole; j < inner; ++j) to[j] = widened(row[j]);
  }
};

template <class T>
void matmul_rows(const MatmulWork& work, int64_t begin, int64_t end, Task& task) {
  const MatmulArgs& call = work.call;
  const MatmulTile tile(task.nram, work.inner, kPanel, call.dtype == MLUOP_DTYPE_HALF);
  const int64_t columns = round_up(call.columns, kLanes);
  for (int64_t column = 0; column < columns; column += kPanel) {
    for (int64_t first = 0; first < call.inner; first += work.inner) {
      const MatmulBlock<T> block{
          call, tile, first, std::min(work.inner, call.inner - first), column, std::min(kPanel, columns - column)};
      block.load_panel();
      block.multiply(begin, end);
    }
  }
}

void matmul_floats(const MatmulWork& work, int64_t begin, int64_t end, Task& task) {
  matmul_rows<float>(work, begin, end, task);
}

void matmul_halves(const MatmulWork& work, int64_t begin, int64_t end, Task& task) {
  matmul_rows<Half>(work, begin, end, task);
}

int64_t panel() { return kPanel; }

}  // namespace HWY_NAMESPACE
}  // namespace mluop
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop {

HWY_EXPORT(matmul_floats);
HWY_EXPORT(matmul_halves);
HWY_EXPORT(panel);

int64_t panel_columns() { return HWY_DYNAMIC_DISPATCH(panel)(); }

void matmul(Context& context, const MatmulArgs& args) {
  const bool half = args.dtype == MLUOP_DTYPE_HALF;
  const int64_t columns = panel_columns();
  constexpr int64_t kMostInner = 512;
  const MatmulWork work{args, fit_tile(context, std::min(args.inner, kMostInner),
                                       [&](int32_t inner) { return MatmulTile::bytes(inner, columns, half); })};
  const int64_t bytes = args.rows * (args.inner + 2 * args.columns) * int64_t{sizeof(float)};
  launch(context, choose_task_dim(args.rows, bytes), Evenly{args.rows},
         half ? HWY_DYNAMIC_DISPATCH(matmul_halves) : HWY_DYNAMIC_DISPATCH(matmul_floats), work);
}

}  // namespace mluop
#endif
