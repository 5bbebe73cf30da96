#include "primitives/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/matmul.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <numeric>

#include "core/dtype.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "primitives/gemm_microkernel-inl.h"
#include "primitives/half-inl.h"
#include "team/fit_tile.h"

#ifndef MLUOP_PRIMITIVES_MATMUL_TILE
#define MLUOP_PRIMITIVES_MATMUL_TILE
namespace mluop {

// Rows of a that are multiplied by a panel before the next ones.
inline constexpr int64_t kMatmulRows = 24;

struct MatmulTile {
  MatmulTile(Arena& nram, int64_t kc, int64_t panel_width, bool half)
      : panel(nram.take<float>("panel", {kc, panel_width})),
        row_numbers(nram.take<int32_t>("row numbers", {kMatmulRows})),
        converted(nram.take<float>("converted rows", {half ? kMatmulRows : 0, kc})) {}

  float* panel;          // [kc, panel width], of b
  int32_t* row_numbers;  // [kMatmulRows], 0, 1, 2, ...
  float* converted;      // [kMatmulRows, kc], rows of a as fp32 where these are half
};

// A call, and KC: the inner elements in NRAM at a time.
struct MatmulWork {
  const MatmulArgs& call;
  int64_t kc;
};

}  // namespace mluop
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop {
namespace HWY_NAMESPACE {

HWY_INLINE float as_f32(float value) { return value; }
HWY_INLINE float as_f32(Half value) { return mluop::f16_to_f32(value); }

// One step of the product: inner elements [first, first + kc), columns [column, column + width).
template <class T>
struct MatmulStep {
  const MatmulArgs& call;
  const MatmulTile& tile;
  int64_t first, kc, column, width;

  void pack_panel() const {
    const T* from = static_cast<const T*>(call.b) + first * call.columns + column;
    const int64_t filled = std::min(width, call.columns - column);
    float* to = tile.panel;
    for (int64_t i = 0; i < kc; ++i) {
      for (int64_t j = 0; j < filled; ++j) to[j] = as_f32(from[j]);
      std::fill(to + filled, to + width, 0.0F);
      from += call.columns;
      to += width;
    }
  }

  void run(int64_t begin, int64_t end) const {
    for (int64_t row = begin; row < end; row += kMatmulRows) {
      const int64_t count = std::min(end - row, kMatmulRows);
      float* sums = call.result + row * call.result_stride() + column;
      if (first == 0) {
        for (int64_t i = 0; i < count; ++i) std::fill_n(sums + i * call.result_stride(), width, 0.0F);
      }
      const T* rows = static_cast<const T*>(call.a) + row * call.inner + first;
      gemm_panel(width, args_for(rows, count, sums), tile.row_numbers, tile.row_numbers, count, [] {});
    }
  }

 private:
  MicrokernelArgs args_for(const float* rows, int64_t, float* sums) const {
    return {tile.panel, kc, rows, call.inner, sums, call.result_stride(), 0};
  }
  MicrokernelArgs args_for(const Half* rows, int64_t count, float* sums) const {
    for (int64_t i = 0; i < count; ++i) convert(rows + i * call.inner, tile.converted + i * kc);
    return {tile.panel, kc, tile.converted, kc, sums, call.result_stride(), 0};
  }

  void convert(const Half* row, float* to) const {
    const PanelTag d;
    const int64_t whole = kc / kLanes * kLanes;
    for (int64_t j = 0; j < whole; j += kLanes) hn::StoreU(load_f32(d, row + j), d, to + j);
    for (int64_t j = whole; j < kc; ++j) to[j] = as_f32(row[j]);
  }
};

// Work items: rows of a.
template <class T>
void multiply_matrix(const MatmulWork& work, int64_t begin, int64_t end, Task& task) {
  const MatmulArgs& call = work.call;
  const MatmulTile tile(task.nram, work.kc, kNr, call.dtype == MLUOP_DTYPE_HALF);
  std::iota(tile.row_numbers, tile.row_numbers + kMatmulRows, 0);
  const int64_t columns = round_up(call.columns, kLanes);
  for (int64_t column = 0; column < columns; column += kNr) {
    for (int64_t first = 0; first < call.inner; first += work.kc) {
      const MatmulStep<T> step{
          call, tile, first, std::min(work.kc, call.inner - first), column, std::min(kNr, columns - column)};
      step.pack_panel();
      step.run(begin, end);
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

int64_t fit_kc(const Context& context, mluOpDataType_t dtype, int64_t inner) {
  constexpr int64_t kMaxKc = 512;
  return fit_tile(context, std::min(inner, kMaxKc), [&](int64_t kc) {
    return bytes_of<MatmulTile>(kc, panel_columns(), dtype == MLUOP_DTYPE_HALF);
  });
}

}  // namespace

int64_t panel_columns() { return MLUOP_DISPATCH(nr)(); }

void check_matmul_fits(const Context& context, mluOpDataType_t dtype, int64_t inner) {
  fit_kc(context, dtype, inner);
}

void matmul(Context& context, const MatmulArgs& args) {
  const MatmulWork work{args, fit_kc(context, args.dtype, args.inner)};
  const int64_t bytes = args.rows * (args.inner + 2 * args.columns) * int64_t{sizeof(float)};
  launch(context, "matmul", task_dim_of(context, args.rows, bytes), Evenly{args.rows},
         MLUOP_DISPATCH(matmul_kernel)(args.dtype), work);
}

}  // namespace mluop
#endif
