// Dynamic point to voxel forward: voxels with too many points for one task.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "core/arena.h"
#include "team/split.h"

namespace mluop::dynamic_point_to_voxel_forward::native {

// A shared voxel has more points than this; for fewer, a launch does not pay off.
inline constexpr int64_t kMinSharedPoints = 4096;
// Fewer than 64 voxels can each hold more than 1/64 of the points.
inline constexpr int64_t kMaxSharedVoxels = 64;

// Maxima of pieces. A piece is the part of a shared voxel that one task reduces: the tasks of a launch divide the
// points of all shared voxels, one voxel after another.
struct Pieces {
  Pieces(Arena& arena, int64_t points, int pieces_task_dim, int64_t row_channels)
      : task_dim(pieces_task_dim),
        channels(row_channels),
        rows(arena.take<float>("maxima of pieces", {max_count(points), channels})) {}

  int64_t max_count(int64_t points) const {
    const int64_t voxels = std::min(points / kMinSharedPoints, kMaxSharedVoxels);
    return voxels > 0 && task_dim > 1 ? voxels + task_dim : 0;
  }

  // From one piece to the next, the task or the voxel number increases by one, or both do.
  float* row(int64_t task_id, int64_t shared_voxel) const { return rows + (task_id + shared_voxel) * channels; }

  int task_dim;
  int64_t channels;
  float* rows;  // [pieces, C]
};

// The shared voxels. A launch adds them in any order.
class SharedVoxels {
 public:
  // `points`: number of points with a voxel; the sorted points of voxel v begin at starts[v].
  SharedVoxels(int64_t points, const uint32_t* starts)
      : max_points_(std::max(points / kMaxSharedVoxels, kMinSharedPoints)), starts_(starts) {}

  bool shares(int64_t points) const { return points > max_points_; }
  void add(int64_t voxel) { voxels_[count_.fetch_add(1, std::memory_order_relaxed)] = voxel; }

  int64_t count() const { return static_cast<int64_t>(count_.load()); }
  int64_t operator[](int64_t i) const { return voxels_[static_cast<size_t>(i)]; }
  // The places of the points of voxel i.
  Range places(int64_t i) const { return {starts_[(*this)[i]], starts_[(*this)[i] + 1]}; }
  int64_t point_count() const {
    int64_t sum = 0;
    for (int64_t i = 0; i < count(); ++i) sum += places(i).size();
    return sum;
  }

  // Calls visit(i, places) for each voxel with some of the points [begin, end), counted across all shared voxels;
  // places: the places of these points.
  template <class Visit>
  void for_each_piece(Range points, const Visit& visit) const {
    int64_t before = 0;
    for (int64_t i = 0; i < count(); ++i) {
      const Range all = places(i);
      const Range piece{all.begin + std::clamp<int64_t>(points.begin - before, 0, all.size()),
                        all.begin + std::clamp<int64_t>(points.end - before, 0, all.size())};
      if (piece.size() > 0) visit(i, piece);
      before += all.size();
    }
  }

 private:
  int64_t max_points_;
  const uint32_t* starts_;
  std::atomic<size_t> count_{0};
  std::array<int64_t, kMaxSharedVoxels> voxels_{};
};

}  // namespace mluop::dynamic_point_to_voxel_forward::native
