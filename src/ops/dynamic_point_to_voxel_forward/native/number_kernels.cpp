// The kernels over sorted points.
#include <algorithm>

#include "ops/dynamic_point_to_voxel_forward/native/kernels.h"

namespace mluop::dynamic_point_to_voxel_forward::native {
namespace {

// Calls visit(place, begins) for the places of a part: whether a voxel begins there.
template <bool kKeysAreWhole, class Visit>
void for_each_place(const Args& call, const SortedPoints& sorted, int64_t part, const Visit& visit) {
  const Range places = sorted.places(part);
  for (int64_t i = places.begin; i < places.end; ++i) {
    if (i == 0) {
      visit(i, true);
    } else if (kKeysAreWhole) {
      visit(i, sorted.keys[i] != sorted.keys[i - 1]);
    } else {
      const int32_t* const coor = call.coor(sorted.points[i]);
      visit(i, !std::equal(coor, coor + kAxes, call.coor(sorted.points[i - 1])));
    }
  }
}

template <class Visit>
void for_each_place(const Args& call, const SortedPoints& sorted, int64_t part, const Visit& visit) {
  sorted.keys_are_whole ? for_each_place<true>(call, sorted, part, visit)
                        : for_each_place<false>(call, sorted, part, visit);
}

}  // namespace

void next_keys(const NextKeyArgs& args, int64_t begin, int64_t end, Task&) {
  const auto& [lowest, factor, no_voxel] = args.word;
  for (int64_t i = begin; i < end; ++i) {
    const int32_t* const coor = args.call.coor(args.points[i]);
    uint32_t key = 0;
    for (int axis = 0; axis < kAxes; ++axis) {
      key += (static_cast<uint32_t>(coor[axis]) - lowest[axis]) * factor[axis];
    }
    args.keys[i] = (coor[0] | coor[1] | coor[2]) < 0 ? no_voxel : key;
  }
}

void count_voxels(const CountArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    int64_t count = 0;
    for_each_place(args.call, args.sorted, part, [&](int64_t, bool begins) { count += begins ? 1 : 0; });
    args.voxel_counts[part] = count;
  }
}

void number_voxels(const NumberArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t part = begin; part < end; ++part) {
    // The voxel of the place before.
    int64_t voxel = args.first_voxels[part] - 1;
    uint32_t unused = 0;
    for_each_place(args.call, args.sorted, part, [&](int64_t place, bool begins) {
      // Without a branch, which would be mispredicted as often as voxels have one point.
      voxel += begins ? 1 : 0;
      *(begins ? args.starts + voxel : &unused) = static_cast<uint32_t>(place);
      args.call.point2voxel_map[args.sorted.points[place]] = static_cast<int32_t>(voxel);
    });
  }
}

void mark_skipped(const SkippedArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t point = args.points[i];
    args.call.point2voxel_map[point] = kNoVoxel;
    std::fill_n(args.call.coor(point), kAxes, kNoVoxel);
  }
}

}  // namespace mluop::dynamic_point_to_voxel_forward::native
