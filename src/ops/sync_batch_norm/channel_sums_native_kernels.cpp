// Sums per channel. Start with sum() at the end of the file, then sum_rows() and sum_pieces().
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/sync_batch_norm/channel_sums_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "core/simd.h"
#include "core/sizes.h"
#include "ops/sync_batch_norm/sync_batch_norm.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "team/launch.h"

#ifndef MLUOP_CHANNEL_SUMS_ONCE
#define MLUOP_CHANNEL_SUMS_ONCE
namespace mluop::sync_batch_norm {

// Channels of a work item: the sums stay in L1 while rows are read in the order of memory.
constexpr int64_t kBlock = 256;
// Consecutive elements of a channel that are summed together.
constexpr int64_t kPiece = 16384;
// Partial sums of a piece: element i is added to number i % kPartials, whatever the lanes of a vector are.
constexpr int64_t kPartials = 8;
constexpr int64_t kMaxChunks = 64, kMinRows = 64;

}  // namespace mluop::sync_batch_norm
#endif

HWY_BEFORE_NAMESPACE();
namespace mluop::sync_batch_norm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_f32;

constexpr size_t kLanes = hn::MaxLanes(hn::CappedTag<double, kPartials>());

// Adds terms, one for each lane of d, to two sums: b is a if kSquares.
template <bool kSquares, class D, class A, class B, class V>
HWY_INLINE void add_terms(D d, const A* a, const B* b, V shift, V& sum, V& sum_of_products) {
  const hn::Rebind<double, D> wide;
  V left = hn::PromoteTo(wide, load_f32(d, a)), right;
  if constexpr (kSquares) {
    left = right = hn::Sub(left, shift);
  } else {
    right = hn::Sub(hn::PromoteTo(wide, load_f32(d, b)), shift);
  }
  sum = hn::Add(sum, left);
  sum_of_products = hn::Add(sum_of_products, hn::Mul(left, right));
}

// Adds kRows rows of `count` channels.
template <bool kSquares, int64_t kRows, class A, class B>
HWY_INLINE void add_rows(const A* a, const B* b, int64_t stride, int64_t count, const float* shift, double* sums,
                         double* sums_of_products) {
  for_each_vector<kLanes>(count, [&](auto d, int64_t i) HWY_ATTR {
    const hn::Rebind<double, decltype(d)> wide;
    const auto shifts = hn::PromoteTo(wide, hn::LoadU(d, shift + i));
    auto sum = hn::LoadU(wide, sums + i), products = hn::LoadU(wide, sums_of_products + i);
    HWY_UNROLL(4) for (int64_t row = 0; row < kRows; ++row) {
      add_terms<kSquares>(d, a + row * stride + i, b + row * stride + i, shifts, sum, products);
    }
    hn::StoreU(sum, wide, sums + i);
    hn::StoreU(products, wide, sums_of_products + i);
  });
}

// Work items: (chunk of rows, block of channels), blocks fastest.
template <bool kSquares, class A, class B>
HWY_INLINE void sum_rows(const SumArgs& args, int64_t item) {
  constexpr int64_t kRows = 4;
  const int64_t N = args.shape.N, C = args.shape.C;
  const int64_t blocks = ceil_div(C, kBlock), chunk = item / blocks, first = item % blocks * kBlock;
  const int64_t count = std::min(kBlock, C - first), end = std::min((chunk + 1) * args.chunk_size, N);
  double* const sums = args.partials + chunk * 2 * C + first;
  std::fill_n(sums, count, 0.0);
  std::fill_n(sums + C, count, 0.0);
  const auto add = [&]<int64_t kCount>(int64_t row) HWY_ATTR {
    add_rows<kSquares, kCount>(static_cast<const A*>(args.a) + row * C + first,
                               static_cast<const B*>(args.b) + row * C + first, C, count, args.shift + first, sums,
                               sums + C);
  };
  int64_t row = chunk * args.chunk_size;
  for (; row + kRows <= end; row += kRows) add.template operator()<kRows>(row);
  for (; row < end; ++row) add.template operator()<1>(row);
}

// Adds `count` consecutive elements of a channel to the partial sums.
template <bool kSquares, class A, class B>
HWY_INLINE void add_piece(const A* a, const B* b, int64_t count, double shift, double* sums,
                          double* sums_of_products) {
  const hn::CappedTag<double, kPartials> wide;
  const hn::Rebind<float, decltype(wide)> d;
  constexpr auto lanes = static_cast<int64_t>(kLanes);
  constexpr int64_t kVectors = kPartials / lanes;
  hn::Vec<decltype(wide)> sum[kVectors], products[kVectors];
  HWY_UNROLL(8) for (int64_t v = 0; v < kVectors; ++v) {
    sum[v] = hn::Load(wide, sums + v * lanes);
    products[v] = hn::Load(wide, sums_of_products + v * lanes);
  }
  int64_t i = 0;
  for (; i + kPartials <= count; i += kPartials) {
    HWY_UNROLL(8) for (int64_t v = 0; v < kVectors; ++v) {
      add_terms<kSquares>(d, a + i + v * lanes, b + i + v * lanes, hn::Set(wide, shift), sum[v], products[v]);
    }
  }
  HWY_UNROLL(8) for (int64_t v = 0; v < kVectors; ++v) {
    hn::Store(sum[v], wide, sums + v * lanes);
    hn::Store(products[v], wide, sums_of_products + v * lanes);
  }
  for (; i < count; ++i) {
    const double right = double{to_f32(b[i])} - shift, left = kSquares ? right : double{to_f32(a[i])};
    sums[i % kPartials] += left;
    sums_of_products[i % kPartials] += left * right;
  }
}

HWY_INLINE double total_of(const double* partials) {
  const double* const p = partials;
  return ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]));
}

// Work items: (chunk of pieces, channel), channels fastest.
template <bool kSquares, class A, class B>
HWY_INLINE void sum_pieces(const SumArgs& args, int64_t item) {
  const auto [N, C, S] = args.shape;
  const int64_t chunk = item / C, c = item % C, pieces = ceil_div(S, kPiece);
  HWY_ALIGN double sums[2][kPartials] = {};
  const int64_t end = std::min((chunk + 1) * args.chunk_size, N * pieces);
  for (int64_t piece = chunk * args.chunk_size; piece < end; ++piece) {
    const int64_t start = piece % pieces * kPiece, at = (piece / pieces * C + c) * S + start;
    add_piece<kSquares>(static_cast<const A*>(args.a) + at, static_cast<const B*>(args.b) + at,
                        std::min(kPiece, S - start), double{args.shift[c]}, sums[0], sums[1]);
  }
  double* const to = args.partials + chunk * 2 * C + c;
  to[0] = total_of(sums[0]);
  to[C] = total_of(sums[1]);
}

template <bool kSquares, class A, class B>
HWY_INLINE void sum_items(const SumArgs& args, int64_t begin, int64_t end) {
  for (int64_t item = begin; item < end; ++item) {
    if (args.shape.S == 1) {
      sum_rows<kSquares, A, B>(args, item);
    } else {
      sum_pieces<kSquares, A, B>(args, item);
    }
  }
}

template <class T>
void squares(const SumArgs& args, int64_t begin, int64_t end, Task&) {
  sum_items<true, T, T>(args, begin, end);
}
template <class T>
void products(const SumArgs& args, int64_t begin, int64_t end, Task&) {
  sum_items<false, T, T>(args, begin, end);
}
template <class T>
void products_with_float(const SumArgs& args, int64_t begin, int64_t end, Task&) {
  sum_items<false, T, float>(args, begin, end);
}

MLUOP_SELECT_BY_DTYPE(squares, SumArgs);
MLUOP_SELECT_BY_DTYPE(products, SumArgs);
MLUOP_SELECT_BY_DTYPE(products_with_float, SumArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::sync_batch_norm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::sync_batch_norm {
namespace {

MLUOP_EXPORT_KERNEL_OF_DTYPE(squares_kernel, squares, SumArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(products_kernel, products, SumArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(products_with_float_kernel, products_with_float, SumArgs);

// What chunks divide: rows, or pieces.
int64_t units_of(const Shape& shape) { return shape.S == 1 ? shape.N : shape.N * ceil_div(shape.S, kPiece); }

int64_t chunk_size_of(const Shape& shape) {
  return std::max(ceil_div(units_of(shape), kMaxChunks), shape.S == 1 ? kMinRows : 1);
}

int64_t chunks_of(const Shape& shape) { return ceil_div(units_of(shape), chunk_size_of(shape)); }

const double* sum(Call& call, const SumArgs& args, RangeKernel<SumArgs> kernel, int64_t bytes_of_term) {
  const int64_t C = args.shape.C;
  if (args.shape.terms() == 0) {
    std::fill_n(args.partials, 2 * C, 0.0);
    return args.partials;
  }
  const int64_t items = args.chunks * (args.shape.S == 1 ? ceil_div(C, kBlock) : C);
  const int task_dim = choose_task_dim(items, saturated_product({args.shape.terms(), C, bytes_of_term}));
  call.log_detail("native, taskDim ", task_dim);
  launch(call.context(), "sum", task_dim, Evenly{items}, kernel, args);
  for (int64_t chunk = 1; chunk < args.chunks; ++chunk) {
    const double* const from = args.partials + chunk * 2 * C;
    for (int64_t i = 0; i < 2 * C; ++i) args.partials[i] += from[i];
  }
  return args.partials;
}

}  // namespace

Shape rows_of(const TensorDescriptor* desc) {
  const int64_t C = desc == nullptr || desc->dim_count == 0 ? 0 : desc->shape().back();
  return {C == 0 ? 0 : element_count(*desc) / C, C, 1};
}

SumScratch::SumScratch(Arena& arena, const Shape& shape)
    : shift(arena.take<float>("shift", {shape.C})),
      partials(arena.take<double>("partials", {std::max<int64_t>(chunks_of(shape), 1), 2, shape.C})) {}

SumScratch reserve_sums(Context& context, const Shape& shape) {
  Arena arena = context.reserve(bytes_of<SumScratch>(shape));
  SumScratch scratch(arena, shape);
  std::fill_n(scratch.shift, shape.C, 0.0F);
  return scratch;
}

const double* sum_squares(Call& call, const Shape& shape, mluOpDataType_t dtype, const void* a,
                          const SumScratch& scratch) {
  return sum(call, {shape, dtype, a, a, scratch.shift, scratch.partials, chunk_size_of(shape), chunks_of(shape)},
             squares_kernel(dtype), static_cast<int64_t>(size_of(dtype)));
}

const double* sum_products(Call& call, const Shape& shape, mluOpDataType_t dtype, const void* a, const void* b,
                           bool b_is_float, const SumScratch& scratch) {
  const auto kernel = b_is_float ? products_with_float_kernel(dtype) : products_kernel(dtype);
  return sum(call, {shape, dtype, a, b, scratch.shift, scratch.partials, chunk_size_of(shape), chunks_of(shape)},
             kernel, static_cast<int64_t>(2 * size_of(dtype)));
}

void set_shift(const Shape& shape, mluOpDataType_t dtype, const void* a, float* shift) {
  dispatch_dtype(dtype, [&](auto element) {
    const auto* const from = static_cast<const decltype(element)*>(a);
    for (int64_t c = 0; c < shape.C; ++c) {
      const float first = to_f32(from[c * shape.S]);
      shift[c] = std::isfinite(first) ? first : 0;
    }
  });
}

}  // namespace mluop::sync_batch_norm
#endif
