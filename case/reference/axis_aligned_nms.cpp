#include "reference/axis_aligned_nms.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "reference/rectangle_iou.h"

namespace mluop::reference {
namespace {

struct Box {
  Box(const float* box, float its_score, int64_t its_index)
      : x1(box[0]), y1(box[1]), x2(box[2]), y2(box[3]), score(its_score), index(static_cast<int32_t>(its_index)) {}

  float x1, y1, x2, y2, score;
  int32_t index;
};

float iou(const Box& a, const Box& b, float offset) { return rectangle_iou(&a.x1, &b.x1, offset); }

float weight(const SoftNmsProblem& problem, float overlap) {
  if (problem.method == 2) return std::exp(-(overlap * overlap) / problem.sigma);
  if (!(overlap >= problem.iou_threshold)) return 1;
  return problem.method == 0 ? 0 : 1 - overlap;
}

// The first box, from `first` on, that no later box exceeds.
size_t position_of_max(const std::vector<Box>& boxes, size_t first) {
  size_t found = first;
  for (size_t i = first + 1; i < boxes.size(); ++i) {
    if (boxes[found].score < boxes[i].score) found = i;
  }
  return found;
}

}  // namespace

void soft_nms(const SoftNmsProblem& problem, const float* boxes, const float* scores, float* dets, int32_t* inds,
              int32_t* result_num) {
  std::vector<Box> remaining;
  for (int64_t i = 0; i < problem.N; ++i) remaining.emplace_back(boxes + i * 4, scores[i], i);
  std::fill_n(dets, problem.N * 5, 0.0F);
  std::fill_n(inds, problem.N, 0);
  size_t k = 0;
  for (; k < remaining.size(); ++k) {
    std::swap(remaining[k], remaining[position_of_max(remaining, k)]);
    const Box chosen = remaining[k];
    std::copy_n(&chosen.x1, 5, dets + k * 5);
    inds[k] = chosen.index;
    for (size_t i = k + 1; i < remaining.size();) {
      Box& box = remaining[i];
      box.score *= weight(problem, iou(chosen, box, static_cast<float>(problem.offset)));
      if (box.score < problem.min_score) {
        box = remaining.back();
        remaining.pop_back();
      } else {
        ++i;
      }
    }
  }
  result_num[0] = static_cast<int32_t>(k);
}

void nms_match(const NmsMatchProblem& problem, const float* dets, int32_t* members, int32_t* group_sizes,
               int32_t* group_num) {
  std::vector<Box> boxes;
  for (int64_t i = 0; i < problem.N; ++i) boxes.emplace_back(dets + i * 5, dets[i * 5 + 4], i);
  std::ranges::stable_sort(boxes, [](const Box& a, const Box& b) {
    return std::isnan(a.score) ? !std::isnan(b.score) : a.score > b.score;
  });
  std::fill_n(group_sizes, problem.N, 0);
  int32_t groups = 0;
  while (!boxes.empty()) {
    const Box kept = boxes.front();
    std::vector<Box> others;
    const int32_t* const first = members;
    for (size_t i = 0; i < boxes.size(); ++i) {
      if (i == 0 || iou(kept, boxes[i], 0) >= problem.iou_threshold) {
        *members++ = boxes[i].index;
      } else {
        others.push_back(boxes[i]);
      }
    }
    group_sizes[groups++] = static_cast<int32_t>(members - first);
    boxes = std::move(others);
  }
  group_num[0] = groups;
}

}  // namespace mluop::reference
