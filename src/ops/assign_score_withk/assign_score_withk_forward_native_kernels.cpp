#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/assign_score_withk/assign_score_withk_forward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "ops/assign_score_withk/assign_score_withk_native_kernels.h"
#include "primitives/memory/prefetch.h"
#include "primitives/simd/channel_strip-inl.h"
#include "primitives/simd/for_each_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::assign_score_withk::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::StreamWriter;
using mluop::HWY_NAMESPACE::write_strip;

// Distance, in neighbors, at which the matrices of points are prefetched.
constexpr int64_t kAhead = 2;

// The operands of a row. T, here and below: an element type.
template <class T>
struct Row {
  const T* scores;  // [M]
  const T* point;   // [M, O]
  const T* center;  // [M, O]
};

// sums[o, o + kVectors * lanes) = the sums over ascending m of scores[m] * (point[m, o] - center[m, o]), each
// operation rounded.
template <int kVectors, class D, class T>
HWY_INLINE void add_products(D d, const Row<T>& row, int64_t o, int64_t M, int64_t O, float* sums) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  hn::Vec<D> sum[kVectors];
  HWY_UNROLL(4) for (int i = 0; i < kVectors; ++i) sum[i] = hn::Zero(d);
  const T *point = row.point + o, *center = row.center + o;
  for (int64_t m = 0; m < M; ++m) {
    const auto score = hn::Set(d, to_f32(row.scores[m]));
    HWY_UNROLL(4) for (int i = 0; i < kVectors; ++i) {
      const auto difference = hn::Sub(load_f32(d, point + i * kLanes), load_f32(d, center + i * kLanes));
      sum[i] = hn::Add(sum[i], hn::Mul(score, difference));
    }
    point += O;
    center += O;
  }
  HWY_UNROLL(4) for (int i = 0; i < kVectors; ++i) hn::StoreU(sum[i], d, sums + o + i * kLanes);
}

template <class T>
HWY_INLINE void assemble_row(const Row<T>& row, int64_t M, int64_t O, float* sums) {
  constexpr int kVectors = 4;
  const hn::CappedTag<float, kStripChannels> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  int64_t o = 0;
  for (; o + kVectors * kLanes <= O; o += kVectors * kLanes) add_products<kVectors>(d, row, o, M, O, sums);
  for_each_vector<kStripChannels>(
      O, [&](auto tag, int64_t i) HWY_ATTR { add_products<1>(tag, row, i, M, O, sums); }, o);
}

template <class T>
void assemble(const AssembleArgs& args, int64_t begin, int64_t end, Task& task) {
  const AssembleTile<T> tile(task.nram, args.tile_rows, args.O);
  const StreamWriter stream;
  const int64_t rows = args.rows();
  // Transposed squares extend past the rows and channels of a tile.
  std::fill_n(tile.sums, args.tile_rows * tile.stride, 0.0F);
  for (int64_t item = begin; item < end; ++item) {
    const int64_t b = item / args.tile_count(), first = item % args.tile_count() * args.tile_rows;
    const int64_t count = std::min(args.tile_rows, rows - first);
    const int32_t* const indices = args.indices_of(b);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t r = first + i;
      if (i + kAhead < count) {
        prefetch_row<Use::kReadOnce>(args.template points_of<T>(b, indices[r + kAhead]),
                                     args.matrix() * int64_t{sizeof(T)});
      }
      const Row<T> row{args.template scores_of<T>(b, r), args.template points_of<T>(b, indices[r]),
                       args.template centers_of<T>(b, indices[r / args.K * args.K])};
      assemble_row(row, args.M, args.O, tile.sums + i * tile.stride);
    }
    for (int64_t o = 0; o < args.O; o += kStripChannels) {
      write_strip<false>(tile.sums + o, tile.stride, count, std::min(kStripChannels, args.O - o),
                         static_cast<T*>(args.output) + (b * args.O + o) * rows + first, rows,
                         args.stream ? &stream : nullptr, tile.lines);
    }
  }
}

MLUOP_SELECT_BY_DTYPE(assemble, AssembleArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::assign_score_withk::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::assign_score_withk::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(assemble_kernel, assemble, AssembleArgs);

}  // namespace mluop::assign_score_withk::native
#endif
