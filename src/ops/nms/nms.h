// NMS: the algorithm and the arguments of a call.
//
// Letters as in the header: B batches, C classes, N boxes of a batch. Each batch and class is one suppression; its
// candidates are the boxes that take part, in descending order of confidence.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "mlu_op.h"
#include "team/operator_call.h"

namespace mluop::nms {

// The format of a box, and the overlap test.
enum class BoxKind {
  kCorners,  // x1, y1, x2, y2
  kCenter,   // x, y, width, height
  kUpright,  // x, y, z, dx, dy, dz, yaw; z and yaw are ignored
  kTurned    // x, y, z, dx, dy, dz, yaw; z is ignored
};

// The arguments of the call, checked.
struct Args {
  // Boxes without confidence are candidates in their given order.
  bool has_confidence() const { return box_kind == BoxKind::kCorners || box_kind == BoxKind::kCenter; }
  int64_t box_columns() const { return has_confidence() ? 4 : 7; }
  bool is_empty() const { return N == 0 || row_count == 0; }

  int64_t B, C, N;
  BoxKind box_kind;
  mluOpDataType_t dtype;  // of boxes and confidence
  bool by_column;         // boxes are [B, box_columns, N], not [B, N, box_columns]
  float offset, iou_threshold, confidence_threshold;
  int64_t max_output_size;  // maximum number of kept boxes of a suppression
  int64_t row_count;        // B * C * max_output_size
  mluOpNmsOutputMode_t output_mode;
  const void* boxes;
  const void* confidence;  // [B, C, N]
  void* output;            // row_count rows (mode 2: columns)
  int32_t* output_size;    // [1]
};

namespace native {

// The bytes of the workspace, 0 without work. Throws Failure: BAD_PARAM if the bytes of a buffer exceed int64_t.
size_t workspace_bytes(const Args& args);

// Computes the outputs. Throws std::bad_alloc before it writes them.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace native
}  // namespace mluop::nms
