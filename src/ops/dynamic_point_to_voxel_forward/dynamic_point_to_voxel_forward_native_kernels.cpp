#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dynamic_point_to_voxel_forward/dynamic_point_to_voxel_forward_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "core/simd.h"
#include "core/sizes.h"
#include "ops/dynamic_point_to_voxel_forward/dynamic_point_to_voxel_forward_native_kernels.h"
#include "primitives/memory/channel_lines.h"
#include "primitives/memory/prefetch.h"
#include "primitives/memory/stream-inl.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "team/atomics.h"

// The keys of the points.

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_point_to_voxel_forward::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The end of the points, from `begin` on, that fill whole vectors.
template <class D>
int64_t end_of_vectors(D d, int64_t begin, int64_t end) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  return end - (end - begin) % lanes;
}

// The lowest and highest coordinates along one axis.
template <class D>
struct AxisBounds {
  using V = hn::Vec<D>;

  AxisBounds() : lowest(hn::Set(D(), INT32_MAX)), negated_highest(hn::Set(D(), 1)) {}

  // Points with a negative coordinate have no voxel.
  HWY_INLINE void extend(hn::Mask<D> has_voxel, V coordinates) {
    const D d;
    lowest = hn::Min(lowest, hn::IfThenElse(has_voxel, coordinates, hn::Set(d, INT32_MAX)));
    negated_highest = hn::Min(negated_highest, hn::IfThenElse(has_voxel, hn::Neg(coordinates), hn::Set(d, 1)));
  }
  void write(int axis, const BoundsArgs& args) const {
    const D d;
    atomic_min(&args.lowest[axis], hn::GetLane(hn::MinOfLanes(d, lowest)));
    atomic_min(&args.negated_highest[axis], hn::GetLane(hn::MinOfLanes(d, negated_highest)));
  }

  V lowest, negated_highest;
};

// Uses vectors of `d`; the points fill them.
template <class D>
void find_bounds_by(D d, const BoundsArgs& args, int64_t begin, int64_t end) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  AxisBounds<D> bounds0, bounds1, bounds2;
  int64_t valid_count = 0;
  for (int64_t point = begin; point < end; point += lanes) {
    hn::Vec<D> c0, c1, c2;
    hn::LoadInterleaved3(d, args.coor(point), c0, c1, c2);
    const auto has_voxel = hn::Gt(hn::Or(hn::Or(c0, c1), c2), hn::Set(d, kNoVoxel));
    bounds0.extend(has_voxel, c0);
    bounds1.extend(has_voxel, c1);
    bounds2.extend(has_voxel, c2);
    valid_count += static_cast<int64_t>(hn::CountTrue(d, has_voxel));
  }
  if (valid_count == 0) return;
  bounds0.write(0, args);
  bounds1.write(1, args);
  bounds2.write(2, args);
  args.valid_count.fetch_add(valid_count, std::memory_order_relaxed);
}

void find_bounds(const BoundsArgs& args, int64_t begin, int64_t end, Task&) {
  const hn::ScalableTag<int32_t> d;
  const int64_t middle = end_of_vectors(d, begin, end);
  find_bounds_by(d, args, begin, middle);
  find_bounds_by(hn::CappedTag<int32_t, 1>(), args, middle, end);
}

// Uses vectors of `d`; the points fill them.
template <class D>
void write_keys_by(D d, const KeyArgs& args, int64_t begin, int64_t end) {
  const hn::RebindToUnsigned<D> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const KeyWord& word = args.word;
  for (int64_t point = begin; point < end; point += lanes) {
    hn::Vec<D> c0, c1, c2;
    hn::LoadInterleaved3(d, args.coor(point), c0, c1, c2);
    const auto has_voxel = hn::Gt(hn::Or(hn::Or(c0, c1), c2), hn::Set(d, kNoVoxel));
    const auto term = [&](hn::Vec<D> c, int axis) HWY_ATTR {
      return hn::Mul(hn::Sub(hn::BitCast(du, c), hn::Set(du, word.lowest[axis])), hn::Set(du, word.factor[axis]));
    };
    const auto key = hn::Add(hn::Add(term(c0, 0), term(c1, 1)), term(c2, 2));
    hn::StoreU(hn::IfThenElse(hn::RebindMask(du, has_voxel), key, hn::Set(du, word.no_voxel)), du,
               args.keys + point);
  }
}

void write_keys(const KeyArgs& args, int64_t begin, int64_t end, Task&) {
  const hn::ScalableTag<int32_t> d;
  const int64_t middle = end_of_vectors(d, begin, end);
  write_keys_by(d, args, begin, middle);
  write_keys_by(hn::CappedTag<int32_t, 1>(), args, middle, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_point_to_voxel_forward::native
HWY_AFTER_NAMESPACE();

// The voxels of the sorted points.

#if HWY_ONCE
namespace mluop::dynamic_point_to_voxel_forward::native {

MLUOP_EXPORT_KERNEL(bounds_kernel, find_bounds, BoundsArgs);
MLUOP_EXPORT_KERNEL(key_kernel, write_keys, KeyArgs);

void next_keys(const NextKeyArgs& args, int64_t begin, int64_t end, Task&) {
  const auto& [lowest, factor, no_voxel] = args.word;
  for (int64_t i = begin; i < end; ++i) {
    const int32_t* const coor = args.coor(args.points[i]);
    uint32_t key = 0;
    for (int axis = 0; axis < kAxes; ++axis) {
      key += (static_cast<uint32_t>(coor[axis]) - lowest[axis]) * factor[axis];
    }
    args.keys[i] = (coor[0] | coor[1] | coor[2]) < 0 ? no_voxel : key;
  }
}

namespace {

// Calls visit(place, begins) for the places of a part; `begins`: whether a voxel begins there.
template <bool kKeysAreWhole, class Visit>
void for_each_place(const Args& args, const SortedPoints& sorted, int64_t part, const Visit& visit) {
  const Range places = sorted.places(part);
  for (int64_t i = places.begin; i < places.end; ++i) {
    if (i == 0) {
      visit(i, true);
    } else if (kKeysAreWhole) {
      visit(i, sorted.keys[i] != sorted.keys[i - 1]);
    } else {
      const int32_t* const coor = args.coor(sorted.points[i]);
      visit(i, !std::equal(coor, coor + kAxes, args.coor(sorted.points[i - 1])));
    }
  }
}

template <class Visit>
void for_each_place(const Args& args, const SortedPoints& sorted, int64_t part, const Visit& visit) {
  sorted.keys_are_whole ? for_each_place<true>(args, sorted, part, visit)
                        : for_each_place<false>(args, sorted, part, visit);
}

}  // namespace

void count_voxels(const CountArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    int64_t count = 0;
    for_each_place(args, args.sorted, part, [&](int64_t, bool begins) { count += begins ? 1 : 0; });
    args.voxel_counts[part] = count;
  }
}

void number_voxels(const NumberArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    // The voxel of the place before.
    int64_t voxel = args.first_voxels[part] - 1;
    uint32_t unused = 0;
    for_each_place(args, args.sorted, part, [&](int64_t place, bool begins) {
      // Branch-free: voxels of one point would cause mispredictions.
      voxel += begins ? 1 : 0;
      *(begins ? args.starts + voxel : &unused) = static_cast<uint32_t>(place);
      args.point2voxel_map[args.sorted.points[place]] = static_cast<int32_t>(voxel);
    });
  }
}

void mark_skipped(const SkippedArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t point = args.points[i];
    args.point2voxel_map[point] = kNoVoxel;
    std::fill_n(args.coor(point), kAxes, kNoVoxel);
  }
}

}  // namespace mluop::dynamic_point_to_voxel_forward::native
#endif

// The features of the voxels.

HWY_BEFORE_NAMESPACE();
namespace mluop::dynamic_point_to_voxel_forward::native {
namespace HWY_NAMESPACE {
using mluop::HWY_NAMESPACE::StreamWriter;

// Reduces rows of feats, one voxel at a time. The first of equal maxima, including zeros of either sign, wins.
template <mluOpReduceMode_t kMode, bool kStream>
class Reducer {
 public:
  // `points` are sorted by voxel.
  Reducer(const Args& args, const uint32_t* points) : args_(args), points_(points) {}

  // Reduces these channels over the rows of the points at `places` and writes them to the row `out`.
  HWY_INLINE void reduce(Range places, Range channels, float* out) const {
    const Rows rows{args_.feats, points_ + places.begin, points_ + places.end, args_.channels};
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t c = channels.begin;
    for (; c + 4 * lanes <= channels.end; c += 4 * lanes) reduce_four_vectors(d, rows, c, out + c);
    mluop::HWY_NAMESPACE::for_each_vector(
        channels.end,
        [&](auto tag, int64_t channel) HWY_ATTR { reduce_vector(tag, rows, channel, out + channel); }, c);
  }

 private:
  struct Rows {
    const float* feats;
    const uint32_t *begin, *end;  // range of points
    int64_t channels;
    HWY_INLINE const float* row(const uint32_t* point) const { return feats + *point * channels; }
    int64_t count() const { return end - begin; }
  };

  template <class D>
  static HWY_INLINE hn::Vec<D> start(D d) {
    return hn::Set(d, kMode == MLUOP_REDUCE_DMAX ? -std::numeric_limits<float>::infinity() : 0.0F);
  }
  // Never selects NaN: no comparison with NaN is true.
  template <class V>
  static HWY_INLINE V add(V sum, V value) {
    if constexpr (kMode == MLUOP_REDUCE_DMAX) return hn::IfThenElse(hn::Gt(value, sum), value, sum);
    return hn::Add(sum, value);
  }
  template <class D>
  HWY_INLINE void write(D d, hn::Vec<D> sum, const Rows& rows, float* out) const {
    if constexpr (kMode == MLUOP_REDUCE_DMEAN) sum = hn::Div(sum, hn::Set(d, static_cast<float>(rows.count())));
    stream_.write<kStream>(sum, d, out);
  }

  template <class D>
  HWY_INLINE void reduce_four_vectors(D d, const Rows& rows, int64_t channel, float* out) const {
    const size_t lanes = hn::Lanes(d);
    auto sum0 = start(d), sum1 = start(d), sum2 = start(d), sum3 = start(d);
    for (const uint32_t* point = rows.begin; point < rows.end; ++point) {
      const float* const row = rows.row(point) + channel;
      sum0 = add(sum0, hn::LoadU(d, row));
      sum1 = add(sum1, hn::LoadU(d, row + lanes));
      sum2 = add(sum2, hn::LoadU(d, row + 2 * lanes));
      sum3 = add(sum3, hn::LoadU(d, row + 3 * lanes));
    }
    write(d, sum0, rows, out);
    write(d, sum1, rows, out + lanes);
    write(d, sum2, rows, out + 2 * lanes);
    write(d, sum3, rows, out + 3 * lanes);
  }

  template <class D>
  HWY_INLINE void reduce_vector(D d, const Rows& rows, int64_t channel, float* out) const {
    auto sum = start(d);
    for (const uint32_t* point = rows.begin; point < rows.end; ++point) {
      sum = add(sum, hn::LoadU(d, rows.row(point) + channel));
    }
    write(d, sum, rows, out);
  }

  const Args& args_;
  const uint32_t* points_;
  const StreamWriter stream_;
};

// Prefetches the rows of sorted points, each once, as the places advance.
class RowPrefetcher {
 public:
  RowPrefetcher(const ReduceArgs& args, Range places) : args_(args), next_(places.begin), end_(places.end) {
    advance(places.begin);
  }

  // Prefetches the rows of the places up to the lookahead from `place` on.
  HWY_INLINE void advance(int64_t place) {
    const int64_t bytes = args_.row_bytes();
    const int64_t lookahead = kLookaheadBytes / std::max<int64_t>(bytes, 1);
    const int64_t limit = std::min(place + std::max<int64_t>(lookahead, 1), end_);
    for (; next_ < limit; ++next_) prefetch_row<Use::kReadOnce>(args_.feats_row(args_.points[next_]), bytes);
  }

 private:
  static constexpr int64_t kLookaheadBytes = 5 << 10;

  const ReduceArgs& args_;
  int64_t next_, end_;
};

template <mluOpReduceMode_t kMode, bool kStream>
void reduce_voxels(const ReduceArgs& args, int64_t begin, int64_t end) {
  const Reducer<kMode, kStream> reducer(args, args.points);
  RowPrefetcher prefetcher(args, {args.starts[begin], args.starts[end]});
  for (int64_t voxel = begin; voxel < end; ++voxel) {
    const Range places{args.starts[voxel], args.starts[voxel + 1]};
    args.voxel_points_count[voxel] = static_cast<int32_t>(places.size());
    std::copy_n(args.coor(args.points[places.begin]), kAxes, args.voxel_coors + voxel * kAxes);
    if (args.shared != nullptr && args.shared->shares(places.size())) {
      args.shared->add(voxel);
      continue;
    }
    prefetcher.advance(places.end);
    reducer.reduce(places, {0, args.channels}, args.voxel_row(voxel));
  }
}

void reduce(const ReduceArgs& args, int64_t begin, int64_t end, Task&) {
  switch (args.reduce_type) {
    case MLUOP_REDUCE_DSUM:
      return args.stream ? reduce_voxels<MLUOP_REDUCE_DSUM, true>(args, begin, end)
                         : reduce_voxels<MLUOP_REDUCE_DSUM, false>(args, begin, end);
    case MLUOP_REDUCE_DMEAN:
      return args.stream ? reduce_voxels<MLUOP_REDUCE_DMEAN, true>(args, begin, end)
                         : reduce_voxels<MLUOP_REDUCE_DMEAN, false>(args, begin, end);
    case MLUOP_REDUCE_DMAX:
      return args.stream ? reduce_voxels<MLUOP_REDUCE_DMAX, true>(args, begin, end)
                         : reduce_voxels<MLUOP_REDUCE_DMAX, false>(args, begin, end);
  }
}

void reduce_pieces(const SharedArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t channels = args.channels;
  const Reducer<MLUOP_REDUCE_DMAX, false> reducer(args, args.points);
  args.voxels.for_each_piece({begin, end}, [&](int64_t i, Range places) HWY_ATTR {
    reducer.reduce(places, {0, channels}, args.pieces.row(task.taskId, i));
  });
}

template <mluOpReduceMode_t kMode>
void reduce_lines_as(const SharedArgs& args, int64_t begin, int64_t end) {
  const int64_t lines = ceil_div(args.channels, kLineChannels<float>);
  const Reducer<kMode, false> reducer(args, args.points);
  for (int64_t item = begin; item < end;) {
    const int64_t line = item % lines;
    const int64_t i = item / lines;
    const int64_t line_end = std::min(lines, line + end - item);
    reducer.reduce(args.voxels.places(i), channels_of_lines<float>(line, line_end, args.channels),
                   args.voxel_row(args.voxels[i]));
    item += line_end - line;
  }
}

void reduce_lines(const SharedArgs& args, int64_t begin, int64_t end, Task&) {
  if (args.reduce_type == MLUOP_REDUCE_DSUM) {
    reduce_lines_as<MLUOP_REDUCE_DSUM>(args, begin, end);
  } else {
    reduce_lines_as<MLUOP_REDUCE_DMEAN>(args, begin, end);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::dynamic_point_to_voxel_forward::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::dynamic_point_to_voxel_forward::native {

MLUOP_EXPORT_KERNEL(reduce_kernel, reduce, ReduceArgs);
MLUOP_EXPORT_KERNEL(reduce_pieces_kernel, reduce_pieces, SharedArgs);
MLUOP_EXPORT_KERNEL(reduce_lines_kernel, reduce_lines, SharedArgs);

void merge_pieces(const SharedArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t channels = args.channels;
  const int64_t points = args.voxels.point_count();
  for (int64_t task_id = begin; task_id < end; ++task_id) {
    const Range points_of_task = split(points, args.pieces.task_dim, static_cast<int>(task_id));
    args.voxels.for_each_piece(points_of_task, [&](int64_t i, Range places) {
      const float* const piece = args.pieces.row(task_id, i);
      float* const out = args.voxel_row(args.voxels[i]);
      if (places.begin == args.voxels.places(i).begin) {
        std::copy_n(piece, channels, out);
      } else {
        for (int64_t c = 0; c < channels; ++c) out[c] = piece[c] > out[c] ? piece[c] : out[c];
      }
    });
  }
}

}  // namespace mluop::dynamic_point_to_voxel_forward::native
#endif
