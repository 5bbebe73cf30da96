#include "ops/roiaware_pool3d/roiaware_pool3d_backward_native_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/roiaware_pool3d/roiaware_pool3d_backward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <type_traits>

#include "core/dtype.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "primitives/indices/find_bad_index-inl.h"
#include "primitives/memory/prefetch.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_distinct-inl.h"
#include "primitives/simd/for_each_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roiaware_pool3d::backward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::find_bad_index;
using mluop::HWY_NAMESPACE::for_each_distinct;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::round_row;

// Distance, in voxels, at which voxels are prefetched.
constexpr int64_t kPrefetchVoxels = 32;
// Words whose voxels are listed at a time, and voxels that are written at a time.
constexpr int64_t kDecodedWords = 32;
constexpr int kDecoded = 4;

// Whether no channel of a voxel has a point, as in most voxels.
HWY_INLINE bool is_empty(const int32_t* points, int64_t channels) {
  bool empty = true;
  for_each_vector(channels, [&](auto d, int64_t c) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    empty &= hn::AllTrue(di, hn::Eq(hn::LoadU(di, points + c), hn::Set(di, -1)));
  });
  return empty;
}

// Sets the bit of a voxel in the word of each group with a point of the voxel, or reports the first point that is
// out of range.
HWY_INLINE void find_maxima(const FindArgs& args, int64_t voxel, uint64_t bit, uint64_t* words) {
  const int32_t* const points = args.argmax + voxel * args.C;
  bool is_bad = false;
  for_each_vector(args.C, [&](auto d, int64_t c) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const auto v = hn::LoadU(di, points + c), none = hn::Set(di, -1);
    const auto last = hn::Set(di, static_cast<int32_t>(args.N - 1));
    is_bad |= !hn::AllFalse(di, hn::Or(hn::Lt(v, none), hn::Gt(v, last)));
    if (is_bad) return;
    for_each_distinct(di, points + c, hn::Gt(v, none),
                      [&](int32_t point, auto) { words[point >> args.groups.log2_size] |= bit; });
  });
  if (!is_bad) return;
  const auto* const bad =
      std::find_if(points, points + args.C, [N = args.N](int32_t n) { return n < -1 || n >= N; });
  args.first_bad.report(bad - args.argmax);
}

// The same from the count and the points of the voxel.
HWY_INLINE void find_listed(const FindArgs& args, int64_t voxel, uint64_t bit, uint64_t* words) {
  const int64_t at = voxel * args.P;
  const int32_t count = args.pts_idx_of_voxels[at];
  if (count < 0 || count >= args.P) return args.first_bad.report(at);
  const int64_t first = at + 1, last = first + count;
  const int64_t bad = find_bad_index(args.pts_idx_of_voxels, first, last, args.N);
  if (bad < last) return args.first_bad.report(bad);
  for (int64_t i = first; i < last; ++i) words[args.pts_idx_of_voxels[i] >> args.groups.log2_size] |= bit;
}

// The bits of the voxels [first, last) that have points. Branch-free.
HWY_INLINE uint64_t voxels_with_points(const FindArgs& args, int64_t first, int64_t last) {
  uint64_t bits = 0;
  for (int64_t voxel = first; voxel < last; ++voxel) {
    bool has_points;
    if (args.method == PoolMethod::kMax) {
      has_points = !is_empty(args.argmax + voxel * args.C, args.C);
    } else {
      const int64_t ahead = std::min(voxel + kPrefetchVoxels, args.voxels() - 1);
      prefetch_row<Use::kRead>(args.pts_idx_of_voxels + ahead * args.P, sizeof(int32_t));
      has_points = args.pts_idx_of_voxels[voxel * args.P] != 0;
    }
    bits |= uint64_t{has_points} << (voxel - first);
  }
  return bits;
}

void find(const FindArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t word = begin; word < end; ++word) {
    const int64_t first = word * kWordVoxels, last = std::min(first + kWordVoxels, args.voxels());
    uint64_t* const words = args.has_points + word * args.groups.count;
    std::fill_n(words, args.groups.count, 0);
    for (uint64_t bits = voxels_with_points(args, first, last); bits != 0; bits &= bits - 1) {
      const int64_t voxel = first + std::countr_zero(bits);
      const uint64_t bit = bits & -bits;
      if (args.method == PoolMethod::kMax) {
        find_maxima(args, voxel, bit, words);
      } else {
        find_listed(args, voxel, bit, words);
      }
    }
  }
}

// Adds the gradient of each channel of a voxel to its point if the point is in [begin, end). T, here and below: an
// element type.
template <class T>
HWY_INLINE void add_to_maxima(const AddArgs& args, int64_t voxel, int64_t begin, int64_t end) {
  const int32_t* const points = args.argmax + voxel * args.C;
  const T* const grad = static_cast<const T*>(args.grad_out) + voxel * args.C;
  for_each_vector(args.C, [&](auto d, int64_t c) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const auto v = hn::LoadU(di, points + c);
    const auto before = hn::Set(di, static_cast<int32_t>(begin - 1)),
               after = hn::Set(di, static_cast<int32_t>(end));
    const auto g = load_f32(d, grad + c);
    for_each_distinct(di, points + c, hn::And(hn::Gt(v, before), hn::Lt(v, after)),
                      [&](int32_t point, auto lanes) HWY_ATTR {
                        float* const to = args.sums + point * args.C + c;
                        const auto sum = hn::LoadU(d, to);
                        hn::StoreU(hn::IfThenElse(hn::RebindMask(d, lanes), hn::Add(sum, g), sum), d, to);
                      });
  });
}

// sums[0, channels) += grad[0, channels) * scale, rounded before it is added.
template <class T>
HWY_INLINE void add_scaled(const T* grad, float scale, int64_t channels, float* sums) {
  for_each_vector(channels, [&](auto d, int64_t c) HWY_ATTR {
    const auto scaled = hn::Mul(load_f32(d, grad + c), hn::Set(d, scale));
    hn::StoreU(hn::Add(hn::LoadU(d, sums + c), scaled), d, sums + c);
  });
}

// Adds the share of the gradient of a voxel to each of its points in [begin, end).
template <class T>
HWY_INLINE void add_to_listed(const AddArgs& args, int64_t voxel, int64_t begin, int64_t end) {
  const int32_t* const row = args.pts_idx_of_voxels + voxel * args.P;
  const T* const grad = static_cast<const T*>(args.grad_out) + voxel * args.C;
  const float scale = 1 / static_cast<float>(row[0]);
  for (int32_t i = 1; i <= row[0]; ++i) {
    if (begin <= row[i] && row[i] < end) add_scaled(grad, scale, args.C, args.sums + row[i] * args.C);
  }
}

// Writes the voxels whose bits are set in a word, and up to kDecoded more places, so that few branches depend on
// the bits. Returns the place after the last.
HWY_INLINE int64_t* decode(uint64_t bits, int64_t first, int64_t* to) {
  int64_t* const end = to + std::popcount(bits);
  do {
    HWY_UNROLL(kDecoded) for (int i = 0; i < kDecoded; ++i) {
      to[i] = first + std::countr_zero(bits);
      bits &= bits - 1;
    }
    to += kDecoded;
  } while (bits != 0);
  return end;
}

// Prefetches the data that add() reads for a voxel.
template <class T>
HWY_INLINE void prefetch_voxel(const AddArgs& args, int64_t voxel) {
  const bool is_max = args.method == PoolMethod::kMax;
  const int32_t* const points = is_max ? args.argmax : args.pts_idx_of_voxels;
  const int64_t row = is_max ? args.C : args.P;
  prefetch_row<Use::kRead>(points + voxel * row, (is_max ? row : 1) * int64_t{sizeof(int32_t)});
  prefetch_row<Use::kRead>(static_cast<const T*>(args.grad_out) + voxel * args.C, args.C * int64_t{sizeof(T)});
}

// Adds the gradients of the points [begin, end) of a group.
template <class T>
void add_group(const AddArgs& args, int64_t group, int64_t begin, int64_t end) {
  const int64_t words = ceil_div(args.voxels(), kWordVoxels);
  std::fill(args.sums + begin * args.C, args.sums + end * args.C, 0.0F);
  int64_t voxels[kDecodedWords * kWordVoxels + kDecoded];
  for (int64_t first = 0; first < words; first += kDecodedWords) {
    int64_t* end_of_voxels = voxels;
    for (int64_t word = first; word < std::min(first + kDecodedWords, words); ++word) {
      end_of_voxels = decode(args.has_points[word * args.groups.count + group], word * kWordVoxels, end_of_voxels);
    }
    const int64_t count = end_of_voxels - voxels;
    for (int64_t i = 0; i < std::min(kPrefetchVoxels, count); ++i) prefetch_voxel<T>(args, voxels[i]);
    for (int64_t i = 0; i < count; ++i) {
      if (i + kPrefetchVoxels < count) prefetch_voxel<T>(args, voxels[i + kPrefetchVoxels]);
      if (args.method == PoolMethod::kMax) {
        add_to_maxima<T>(args, voxels[i], begin, end);
      } else {
        add_to_listed<T>(args, voxels[i], begin, end);
      }
    }
  }
}

template <class T>
void add(const AddArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t group = begin; group < end; ++group) {
    const int64_t first = group << args.groups.log2_size;
    const int64_t last = std::min(first + (int64_t{1} << args.groups.log2_size), args.N);
    add_group<T>(args, group, first, last);
    if constexpr (Element16<T>) {
      round_row(args.sums + first * args.C, (last - first) * args.C,
                static_cast<T*>(args.grad_in) + first * args.C);
    }
  }
}

MLUOP_SELECT_BY_DTYPE(add, AddArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::roiaware_pool3d::backward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::roiaware_pool3d::backward::native {

MLUOP_EXPORT_KERNEL(find_kernel, find, FindArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(add_kernel, add, AddArgs);

}  // namespace mluop::roiaware_pool3d::backward::native
#endif
