// Soft NMS and NMS match of axis-aligned boxes by their definitions: serial loops in fp32; the library returns the
// same bits. The oracles of the tests and the baselines of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct SoftNmsProblem {
  int64_t N;
  int method;  // 0 naive, 1 linear, 2 gaussian
  float iou_threshold, sigma, min_score;
  int offset;
};

// Boxes are x1, y1, x2, y2. Writes all outputs: dets [N, 5], inds [N], result_num [1].
void soft_nms(const SoftNmsProblem& problem, const float* boxes, const float* scores, float* dets, int32_t* inds,
              int32_t* result_num);

struct NmsMatchProblem {
  int64_t N;
  float iou_threshold;
};

// Rows of dets are x1, y1, x2, y2, score. Writes all outputs: members [N], group_sizes [N], group_num [1].
void nms_match(const NmsMatchProblem& problem, const float* dets, int32_t* members, int32_t* group_sizes,
               int32_t* group_num);

}  // namespace mluop::reference
