// Three interpolate backward, device algorithm: arguments, tiles in NRAM and range kernels, in the order of their
// launches.
//
// Letters as in three_interpolate_backward_args.h. Products of gradient and weight are rounded, then added in
// fp32, in the order of the design document: tile of points, slot (position among the three indices of a point),
// point.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "mlu_op.h"
#include "ops/three_interpolate_backward/three_interpolate_backward.h"
#include "team/atomics.h"
#include "team/launch.h"

namespace mluop::three_interpolate_backward::device {

// Work items: indices. Reports the first index outside [0, M).
struct CheckArgs : Args {
  FirstBadItem& first_bad_index;
};
RangeKernel<CheckArgs> check_kernel();

struct CheckTile {
  static constexpr int64_t kIndices = 1024;

  explicit CheckTile(Arena& nram) : indices(nram.take<int32_t>("indices", {kIndices})) {}

  int32_t* indices;  // [kIndices]
};

// The tiles of a call. A work item is (b, Mo features), features fastest. Multiples of 64 bytes.
struct Tiling {
  int64_t feature_tiles(const Args& args) const { return ceil_div(args.M, Mo); }
  int64_t work_items(const Args& args) const { return args.B * feature_tiles(args); }

  int64_t Co, No, Mo;
};

// Work items: as Tiling states. Computes and stores grad_features of all channels, Co at a time.
struct InterpolateArgs : Args {
  const Tiling& tiling;
};
RangeKernel<InterpolateArgs> interpolate_kernel(mluOpDataType_t dtype);

// Bytes of the NRAM partition of section 3.4 of the design document; T: the size of an element.
inline int64_t document_bytes(const Tiling& tiling, int64_t T) {
  const auto [Co, No, Mo] = tiling;
  return T * (std::max(Co * Mo, Co * No) + Co * Mo + 2 * Co * No + Co + 6 * No) + 36 * No;
}

// The tile of interpolate_kernel(). For float, the buffers and their bytes are as in the document. For half, the
// document adds in half; here sums are fp32, in the space of the document's buffers grad_features and transposed
// grad_features, plus 2 Co bytes for a spare fp32 row. The transposed sums, No features at a time, reuse the space
// of the gradients. T: an element type.
template <class T>
struct Tile {
  static constexpr bool kFloat = sizeof(T) == sizeof(float);

  Tile(Arena& nram, const Tiling& tiling)
      : grad_output(nram.take<T>("grad_output", {tiling.Co, tiling.No})),
        points(nram.take<T>("transposed grad_output", {tiling.No, tiling.Co})),
        sums(nram.take<float>("grad_features", {tiling.Mo + 1, tiling.Co})),
        rows(kFloat ? nram.take<T>("transposed grad_features", {tiling.Co, std::max(tiling.Mo, tiling.No)})
                    : grad_output),
        row_features(kFloat ? tiling.Mo : tiling.No),
        weights(nram.take<T>("weights", {tiling.No, 3})),
        slot_weights(nram.take<T>("transposed weights", {3, tiling.No})),
        indices(nram.take<int32_t>("indices", {tiling.No, 3})),
        slot_indices(nram.take<int32_t>("transposed indices", {3, tiling.No})),
        local_rows(nram.take<int32_t>("rows of a slot", {tiling.No})),
        local_weights(nram.take<float>("weights of a slot", {tiling.No})),
        mask(nram.take<int32_t>("mask", {tiling.No})) {}

  T* grad_output;         // [Co, No]
  T* points;              // [No, Co], in strips of channels; with few channels, products of a slot
  float* sums;            // [Mo + 1, Co], in strips; row Mo collects the pairs of other work items
  T* rows;                // [Co, row_features], transposed sums
  int64_t row_features;   // features transposed and stored at a time
  T* weights;             // [No, 3]
  T* slot_weights;        // [3, No]
  int32_t* indices;       // [No, 3]
  int32_t* slot_indices;  // [3, No]
  int32_t* local_rows;    // [No], rows of `sums`
  float* local_weights;   // [No], 0 for the pairs of other work items
  int32_t* mask;          // [No], unused buffer of the document: SIMD keeps the mask in registers
};

struct Plan {
  int task_dim;
  Tiling tiling;
};

// The features of a tile: at most `max`, a multiple of `unit`, such that B * ceil(M / Mo) work items fill as many
// of the task_dim cores in each round as possible, in as many rounds as with `max`.
int64_t choose_features(int64_t B, int64_t M, int64_t max, int64_t unit, int task_dim);

// Throws Failure with ALLOC_FAILED if the smallest tile does not fit NRAM.
Plan make_plan(const Context& context, const Args& args);

}  // namespace mluop::three_interpolate_backward::device
