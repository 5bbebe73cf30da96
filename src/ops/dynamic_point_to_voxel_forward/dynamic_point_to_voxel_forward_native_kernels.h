// Dynamic point to voxel forward, native algorithm: arguments and range kernels, in the order of their launches.
#pragma once

#include <atomic>
#include <cstdint>

#include "ops/dynamic_point_to_voxel_forward/key_words.h"
#include "ops/dynamic_point_to_voxel_forward/shared_voxels.h"
#include "team/launch.h"

namespace mluop::dynamic_point_to_voxel_forward::native {

// Work items: points. Extends the bounds to the points with a voxel.
struct BoundsArgs : Args {
  std::array<int32_t, kAxes>& lowest;
  std::array<int32_t, kAxes>& negated_highest;
  std::atomic<int64_t>& valid_count;
};
RangeKernel<BoundsArgs> bounds_kernel();

// Work items: points. Writes a word of their keys.
struct KeyArgs : Args {
  const KeyWord& word;
  uint32_t* keys;  // [N]
};
RangeKernel<KeyArgs> key_kernel();

// Work items: places in the order of a less significant word. Writes another word of the keys of their points.
struct NextKeyArgs : Args {
  const KeyWord& word;
  const uint32_t* points;  // [N], the point at each place
  uint32_t* keys;          // [N]
};
void next_keys(const NextKeyArgs& args, int64_t begin, int64_t end, Task& task);

// Points sorted by key; equal keys keep ascending order. A voxel begins at each place whose key differs from the
// key of the place before.
struct SortedPoints {
  Range places(int64_t part) const { return split(valid_count, part_count, static_cast<int>(part)); }

  const uint32_t* keys;    // [N], the most significant word
  const uint32_t* points;  // [N]
  bool keys_are_whole;     // keys have one word; otherwise coordinates decide
  int64_t valid_count;     // places of points with a voxel; places of the other points follow
  int part_count;
};

// Work items: parts of the sorted points. Counts the voxels that begin in them.
struct CountArgs : Args {
  const SortedPoints& sorted;
  int64_t* voxel_counts;  // [parts]
};
void count_voxels(const CountArgs& args, int64_t begin, int64_t end, Task& task);

// Work items: parts of the sorted points. Writes the first place of each voxel, and the map of points with a
// voxel.
struct NumberArgs : Args {
  const SortedPoints& sorted;
  const int64_t* first_voxels;  // [parts], the first voxel that begins in a part
  uint32_t* starts;             // [V + 1]; the last is not written
};
void number_voxels(const NumberArgs& args, int64_t begin, int64_t end, Task& task);

// Work items: places of points without a voxel, from valid_count on. Writes their map and coordinates.
struct SkippedArgs : Args {
  const uint32_t* points;  // points without a voxel
};
void mark_skipped(const SkippedArgs& args, int64_t begin, int64_t end, Task& task);

struct ReduceArgs : Args {
  const uint32_t* points;  // [N], sorted
  const uint32_t* starts;  // [V + 1]
  bool stream;             // voxel_feats bypasses the caches
  SharedVoxels* shared;    // null: no voxel is shared
};

// Work items: voxels. Writes their coordinates, counts and features, except the features of shared voxels, which
// it collects.
RangeKernel<ReduceArgs> reduce_kernel();

struct SharedArgs : Args {
  const uint32_t* points;  // [N], sorted
  const SharedVoxels& voxels;
  const Pieces& pieces;  // pieces of the maximum
};

// Maximum. Work items: points of the shared voxels. Writes the maxima of their pieces.
RangeKernel<SharedArgs> reduce_pieces_kernel();

// Maximum. Work items: tasks that have reduced pieces. Writes the features of the shared voxels. Runs on one task
// so that the first of equal maxima wins.
void merge_pieces(const SharedArgs& args, int64_t begin, int64_t end, Task& task);

// Sum and mean, which add the points in order. Work items: cache lines of the rows of the shared voxels. Writes
// their features.
RangeKernel<SharedArgs> reduce_lines_kernel();

}  // namespace mluop::dynamic_point_to_voxel_forward::native
