// Soft NMS, native algorithm: the candidates, and range kernels in the order of their launches.
//
// A step is choose, then decay, which is parallel. decay writes summaries, which save choose a pass over the
// scores.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/sizes.h"
#include "ops/soft_nms/soft_nms.h"
#include "team/launch.h"

namespace mluop::soft_nms::native {

// The least and the greatest score of a chunk, ignoring NaN.
struct Summary {
  float min, max;
};

// The remaining boxes [chosen, count), as a structure of arrays.
struct Candidates {
  // Chunks start at `chosen`.
  static constexpr int64_t kChunkBoxes = 512;
  // The longest vector. A vector may extend past the last box; scores there are NaN, which are neither chosen nor
  // dropped.
  static constexpr int64_t kPadding = 16;

  Candidates(Arena& arena, int64_t N)
      : x1(arena.take<float>("x1", {N + kPadding})),
        y1(arena.take<float>("y1", {N + kPadding})),
        x2(arena.take<float>("x2", {N + kPadding})),
        y2(arena.take<float>("y2", {N + kPadding})),
        areas(arena.take<float>("areas", {N + kPadding})),
        scores(arena.take<float>("scores", {N + kPadding})),
        indices(arena.take<int32_t>("indices", {N})),
        summaries(arena.take<Summary>("summaries", {ceil_div(N, kChunkBoxes)})),
        count(N) {}

  int64_t remaining() const { return count - chosen; }
  int64_t chunks() const { return ceil_div(remaining(), kChunkBoxes); }

  float *x1, *y1, *x2, *y2, *areas, *scores;  // [N + kPadding]
  int32_t* indices;                           // [N]
  Summary* summaries;                         // [chunks()], written by the last load or decay
  int64_t chosen = 0;
  int64_t count;
};

struct KernelArgs : Args {
  Candidates& candidates;
};

// Work items: chunks. Copies the inputs.
RangeKernel<KernelArgs> load_kernel();

// Work items: one. Drops boxes and, if any remain, chooses one: writes its row of the outputs.
RangeKernel<KernelArgs> choose_kernel();

// Work items: chunks. Decays the scores of the boxes that overlap the box chosen last.
RangeKernel<KernelArgs> decay_kernel();

// Work items: one. Runs all steps until no box remains.
RangeKernel<KernelArgs> choose_all_kernel();

}  // namespace mluop::soft_nms::native
