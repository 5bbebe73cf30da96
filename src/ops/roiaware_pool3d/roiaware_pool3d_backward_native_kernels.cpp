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
#include "primitives/find_bad_index-inl.h"
#include "primitives/for_each_vector-inl.h"
#include "primitives/half-inl.h"
#include "primitives/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roiaware_pool3d::backward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::find_bad_index;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::round_row;

// Voxels ahead of the one in work whose counts are prefetched.
constexpr int64_t kPrefetchVoxels = 32;
// Words ahead of the one in work whose voxels are prefetched.
constexpr int64_t kPrefetchWords = 8;

// Extremes of points + 1, as unsigned numbers: 0 if there is no point, more than N if one is out of range.
struct Successors {
  uint32_t least, greatest;
};

HWY_INLINE Successors successors_of(const int32_t* points, int64_t count) {
  const hn::CappedTag<uint32_t, 16> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const auto* values = reinterpret_cast<const uint32_t*>(points);
  auto greatest = hn::Zero(d), least = hn::Set(d, UINT32_MAX);
  Successors of_rest{UINT32_MAX, 0};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto successors = hn::Add(hn::LoadU(d, values + i), hn::Set(d, 1));
    greatest = hn::Max(greatest, successors);
    least = hn::Min(least, successors);
  }
  for (; i < count; ++i) {
    const uint32_t successor = values[i] + 1;
    of_rest = {std::min(of_rest.least, successor), std::max(of_rest.greatest, successor)};
  }
  // Most voxels have no points.
  if (of_rest.greatest == 0 && hn::AllTrue(d, hn::Eq(greatest, hn::Zero(d)))) return {0, 0};
  return {std::min(of_rest.least, hn::GetLane(hn::MinOfLanes(d, least))),
          std::max(of_rest.greatest, hn::GetLane(hn::MaxOfLanes(d, greatest)))};
}

// Sets the bit of a voxel in the word of each group that has one of points[0, count).
HWY_INLINE void mark_groups(const FindArgs& args, const int32_t* points, int64_t count, uint64_t bit,
                            uint64_t* words) {
  const auto size = static_cast<uint32_t>(args.groups.size);
  int32_t last = -1;
  for (int64_t i = 0; i < count; ++i) {
    if (points[i] == last || points[i] < 0) continue;
    last = points[i];
    words[static_cast<uint32_t>(last) / size] |= bit;
  }
}

// Marks the points of a voxel, or reports the first that is out of range.
HWY_INLINE void find_maxima(const FindArgs& args, int64_t voxel, uint64_t bit, uint64_t* words) {
  const int32_t* const row = args.argmax + voxel * args.C;
  const auto N = static_cast<uint32_t>(args.N);
  const auto [least, greatest] = successors_of(row, args.C);
  if (greatest > N) {
    const auto* bad = std::find_if(row, row + args.C, [=](int32_t n) { return static_cast<uint32_t>(n) + 1 > N; });
    args.first_bad.report(bad - args.argmax);
  } else if (greatest > 0) {
    mark_groups(args, row, least == greatest ? 1 : args.C, bit, words);
  }
}

// The same by the count and the points of the voxel.
HWY_INLINE void find_listed(const FindArgs& args, int64_t voxel, uint64_t bit, uint64_t* words) {
  const int64_t at = voxel * args.P;
  const int32_t count = args.pts_idx_of_voxels[at];
  if (count == 0) return;
  if (count < 0 || count >= args.P) return args.first_bad.report(at);
  const int64_t first = at + 1, last = first + count;
  const int64_t bad = find_bad_index(args.pts_idx_of_voxels, first, last, args.N);
  if (bad < last) return args.first_bad.report(bad);
  mark_groups(args, args.pts_idx_of_voxels + first, count, bit, words);
}

void find(const FindArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t word = begin; word < end; ++word) {
    const int64_t first = word * kWordVoxels, last = std::min(first + kWordVoxels, args.voxels());
    uint64_t* const words = args.has_points + word * args.groups.count;
    std::fill_n(words, args.groups.count, 0);
    for (int64_t voxel = first; voxel < last; ++voxel) {
      const uint64_t bit = uint64_t{1} << (voxel - first);
      if (args.method == PoolMethod::kMax) {
        find_maxima(args, voxel, bit, words);
      } else {
        const int64_t ahead = std::min(voxel + kPrefetchVoxels, args.voxels() - 1);
        prefetch_row<Use::kRead>(args.pts_idx_of_voxels + ahead * args.P, sizeof(int32_t));
        find_listed(args, voxel, bit, words);
      }
    }
  }
}

// Adds the gradient of each channel of a voxel to its point, if this is one of [begin, end). The channels of most
// vectors have one point: many voxels have no other. T, here and below: float or Half.
template <class T>
HWY_INLINE void add_to_maxima(const AddArgs& args, int64_t voxel, int64_t begin, int64_t end) {
  const hn::CappedTag<float, 16> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const int32_t* const points = args.argmax + voxel * args.C;
  const T* const grad = static_cast<const T*>(args.grad_out) + voxel * args.C;
  const auto is_own = [&](int64_t c) { return begin <= points[c] && points[c] < end; };
  const auto sum_of = [&](int64_t c) { return args.sums + points[c] * args.C + c; };
  const auto add = [&](int64_t c) {
    if (is_own(c)) *sum_of(c) += to_f32(grad[c]);
  };
  int64_t c = 0;
  for (; c + kLanes <= args.C; c += kLanes) {
    if (hn::AllTrue(di, hn::Eq(hn::LoadU(di, points + c), hn::Set(di, points[c])))) {
      if (is_own(c)) hn::StoreU(hn::Add(hn::LoadU(d, sum_of(c)), load_f32(d, grad + c)), d, sum_of(c));
    } else {
      for (int64_t i = c; i < c + kLanes; ++i) add(i);
    }
  }
  for (; c < args.C; ++c) add(c);
}

// sums[0, channels) += grad[0, channels) * scale, rounded before it is added.
template <class T>
HWY_INLINE void add_scaled(const T* grad, float scale, int64_t channels, float* sums) {
  for_each_vector(channels, [&](auto d, int64_t c) HWY_ATTR {
    const auto scaled = hn::Mul(load_f32(d, grad + c), hn::Set(d, scale));
    hn::StoreU(hn::Add(hn::LoadU(d, sums + c), scaled), d, sums + c);
  });
}

// Adds its share of the gradient of a voxel to each of its points that is one of [begin, end).
template <class T>
HWY_INLINE void add_to_listed(const AddArgs& args, int64_t voxel, int64_t begin, int64_t end) {
  const int32_t* const row = args.pts_idx_of_voxels + voxel * args.P;
  const T* const grad = static_cast<const T*>(args.grad_out) + voxel * args.C;
  const float scale = 1 / static_cast<float>(row[0]);
  for (int32_t i = 1; i <= row[0]; ++i) {
    if (begin <= row[i] && row[i] < end) add_scaled(grad, scale, args.C, args.sums + row[i] * args.C);
  }
}

// Prefetches what add() reads of the voxels of a word.
template <class T>
HWY_INLINE void prefetch_voxels(const AddArgs& args, int64_t word, int64_t group) {
  const bool is_max = args.method == PoolMethod::kMax;
  const int32_t* const points = is_max ? args.argmax : args.pts_idx_of_voxels;
  const int64_t row = is_max ? args.C : args.P;
  for (uint64_t bits = args.has_points[word * args.groups.count + group]; bits != 0; bits &= bits - 1) {
    const int64_t voxel = word * kWordVoxels + std::countr_zero(bits);
    prefetch_row<Use::kRead>(points + voxel * row, (is_max ? row : 1) * int64_t{sizeof(int32_t)});
    prefetch_row<Use::kRead>(static_cast<const T*>(args.grad_out) + voxel * args.C, args.C * int64_t{sizeof(T)});
  }
}

// Adds the gradients of the points [begin, end) of a group.
template <class T>
void add_group(const AddArgs& args, int64_t group, int64_t begin, int64_t end) {
  const int64_t words = ceil_div(args.voxels(), kWordVoxels);
  std::fill(args.sums + begin * args.C, args.sums + end * args.C, 0.0F);
  for (int64_t word = 0; word < words; ++word) {
    if (word + kPrefetchWords < words) prefetch_voxels<T>(args, word + kPrefetchWords, group);
    for (uint64_t bits = args.has_points[word * args.groups.count + group]; bits != 0; bits &= bits - 1) {
      const int64_t voxel = word * kWordVoxels + std::countr_zero(bits);
      if (args.method == PoolMethod::kMax) {
        add_to_maxima<T>(args, voxel, begin, end);
      } else {
        add_to_listed<T>(args, voxel, begin, end);
      }
    }
  }
}

template <class T>
void add(const AddArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t group = begin; group < end; ++group) {
    const int64_t first = group * args.groups.size, last = std::min(first + args.groups.size, args.N);
    add_group<T>(args, group, first, last);
    if constexpr (std::is_same_v<T, Half>) {
      round_row(args.sums + first * args.C, (last - first) * args.C,
                static_cast<Half*>(args.grad_in) + first * args.C);
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
