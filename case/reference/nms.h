// Non-maximum suppression by its definition: the serial loops over the boxes, in fp32. The oracles of the tests
// and the baselines of the perf suite. The library must return the same bits.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct NmsProblem {
  int64_t B, C, N;
  bool by_column;   // boxes are [B, 4, N], not [B, N, 4]
  bool has_center;  // boxes are x, y, width, height, not x1, y1, x2, y2
  float offset, iou_threshold, confidence_threshold;
  int64_t max_output_size;  // maximum output of a batch and a class
  // 0: indices; 1: rows of confidence and box; 2: columns of confidence and box; 3: rows of batch, class and
  // index. Modes 0 and 3 are int32.
  int mode;
};

// T: float, Half or BFloat16. Writes the whole output, with zeros past the boxes, and the number of boxes.
template <class T>
void nms(const NmsProblem& problem, const T* boxes, const T* confidence, void* output, int32_t* output_size);

// Boxes x, y, z, dx, dy, dz, yaw, [N, 7] or by_column [7, N], in descending order of scores.
struct Nms3dProblem {
  int64_t N;
  bool by_column;
  bool has_yaw;  // false: the boxes are upright
  float iou_threshold;
};

void nms3d(const Nms3dProblem& problem, const float* boxes, int32_t* output, int32_t* output_size);

}  // namespace mluop::reference
