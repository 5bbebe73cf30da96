// IoU and non-maximum suppression of quadrilaterals by their definitions, in long double. The oracles of the tests
// and the baselines of the perf suite.
#pragma once

#include <cstdint>

#include "reference/rotated_boxes.h"

namespace mluop::reference {

// As box_iou_rotated(): each box is x1, y1, ..., x4, y4, the corners of a quadrilateral. If its sides cross, its
// winding number counts.
void box_iou_quadri(const BoxIouRotatedProblem& problem, const float* bbox1, const float* bbox2, float* ious);

// As nms_rotated(); columns after the corners are not read.
void nms_quadri(const NmsRotatedProblem& problem, const float* boxes, const float* scores, int32_t* output,
                int32_t* result_num);

// As nms_quadri(), with the score of a box after its corners; the indices ascend.
void poly_nms(int64_t N, float iou_threshold, const float* boxes, int32_t* output, int32_t* output_size);

}  // namespace mluop::reference
