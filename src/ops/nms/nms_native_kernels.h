// NMS, native algorithm: buffers, the test of a pair, and range kernels, in the order of their launches.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/sizes.h"
#include "ops/nms/nms.h"
#include "primitives/geometry/bev_box.h"
#include "primitives/geometry/box_bounds.h"
#include "primitives/geometry/suppression.h"
#include "team/launch.h"

namespace mluop::nms::native {

// The boxes of a batch whose confidence in a class is above the threshold.
struct Selection {
  static constexpr int64_t kChunkBoxes = 4096;

  Selection(Arena& arena, int64_t N)
      : chunks(ceil_div(N, kChunkBoxes)),
        chunk_starts(arena.take<int64_t>("chunk starts", {chunks})),
        boxes(arena.take<int32_t>("boxes", {N})),
        scores(arena.take<float>("scores", {N})),
        order(arena, N) {}

  Range boxes_of(int64_t chunk, int64_t N) const {
    return {chunk * kChunkBoxes, std::min((chunk + 1) * kChunkBoxes, N)};
  }

  int64_t chunks;
  int64_t* chunk_starts;  // [chunks]: selected boxes of a chunk; then of all chunks before it
  int32_t* boxes;         // [N], ascending
  float* scores;          // [N], scores of `boxes`
  ScoreOrder order;
};

// An axis-aligned box.
struct Rectangle : Bounds {
  float area;
};

struct TurnedBox {
  BevBox box;
  float area;
};

// The candidates of a suppression.
struct Candidates {
  Candidates(Arena& arena, BoxKind kind, int64_t count)
      : rectangles(arena.take<Rectangle>("rectangles", {kind == BoxKind::kTurned ? 0 : count})),
        turned(arena.take<TurnedBox>("turned boxes", {kind == BoxKind::kTurned ? count : 0})),
        bounds(arena, count),
        is_suppressed(arena.take<uint8_t>("suppressed", {bounds.padded_count})) {}

  Rectangle* rectangles;  // [count], or empty
  TurnedBox* turned;      // [count], or empty
  BoxBounds bounds;
  uint8_t* is_suppressed;  // [bounds.padded_count]
};

// The selection of a batch and class.
struct SelectArgs : Args {
  int64_t b, c;
  const Selection& selection;
};

struct CandidateArgs : Args {
  // The index of candidate i among the boxes of the batch.
  int64_t box_of(int64_t i) const { return order == nullptr ? i : selected[order[i]]; }

  int64_t b, c;
  const int32_t* selected;
  const uint32_t* order;  // order of `selected` by score; null: all boxes are candidates
  const Candidates& candidates;
};

struct WriteArgs : CandidateArgs {
  int64_t first_row;
  int64_t& rows;  // rows that the kernel has written
};

// The data for testing a pair.
struct PairTest {
  const Candidates& candidates;
  float offset, iou_threshold;
};

// Work items: chunks. Counts the selected boxes of each chunk.
RangeKernel<SelectArgs> count_kernel(mluOpDataType_t dtype);

// Work items: chunks. Writes the selected boxes and their scores.
RangeKernel<SelectArgs> collect_kernel(mluOpDataType_t dtype);

// Work items: candidates. Writes them, with their bounds.
RangeKernel<CandidateArgs> prepare_kernel(mluOpDataType_t dtype);

// Whether a kept candidate suppresses another one; `test`: a PairTest.
using Suppresses = bool (*)(const void* test, int64_t kept, int64_t other);
Suppresses suppresses_of(BoxKind kind);

// Work items: one, because rows are numbered in order. Writes the candidates that are not suppressed.
RangeKernel<WriteArgs> write_kernel(mluOpDataType_t dtype);

}  // namespace mluop::nms::native
