#include "reference/nms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "reference/boxes_overlap_bev.h"
#include "reference/element.h"
#include "reference/rectangle_iou.h"

namespace mluop::reference {
namespace {

// The boxes of `order` that are not suppressed by a box kept earlier.
template <class Suppresses>
std::vector<int64_t> kept_of(const std::vector<int64_t>& order, const Suppresses& suppresses) {
  std::vector<int64_t> kept;
  std::vector<bool> is_suppressed(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (is_suppressed[i]) continue;
    kept.push_back(order[i]);
    for (size_t j = i + 1; j < order.size(); ++j) {
      if (!is_suppressed[j]) is_suppressed[j] = suppresses(order[i], order[j]);
    }
  }
  return kept;
}

using Box = std::array<float, 4>;

template <class T>
Box corners_of(const NmsProblem& problem, const std::array<T, 4>& numbers) {
  Box box;
  for (size_t i = 0; i < 4; ++i) box[i] = to_f32(numbers[i]);
  if (!problem.has_center) return box;
  const float x1 = box[0] - 0.5F * box[2], y1 = box[1] - 0.5F * box[3];
  return {x1, y1, x1 + box[2], y1 + box[3]};
}

// NaN first, then descending; ties by index.
std::vector<int64_t> sorted(std::vector<int64_t> boxes, const std::vector<float>& scores) {
  const auto precedes = [&](int64_t a, int64_t b) {
    const float first = scores[static_cast<size_t>(a)], second = scores[static_cast<size_t>(b)];
    if (std::isnan(first) || std::isnan(second)) return std::isnan(first) && !std::isnan(second);
    return first > second;
  };
  std::stable_sort(boxes.begin(), boxes.end(), precedes);
  return boxes;
}

// Whether all corners and the area of an upright box are finite, and its sides positive.
bool is_regular(const float* box) {
  const float numbers[] = {box[0] - box[3] / 2, box[0] + box[3] / 2, box[1] - box[4] / 2, box[1] + box[4] / 2,
                           box[3] * box[4]};
  return box[3] > 0 && box[4] > 0 &&
         std::all_of(std::begin(numbers), std::end(numbers), [](float number) { return std::isfinite(number); });
}

float upright_overlap(const float* a, const float* b) {
  if (!is_regular(a) || !is_regular(b)) return 0;
  return shared_length(a[0] - a[3] / 2, a[0] + a[3] / 2, b[0] - b[3] / 2, b[0] + b[3] / 2, 0) *
         shared_length(a[1] - a[4] / 2, a[1] + a[4] / 2, b[1] - b[4] / 2, b[1] + b[4] / 2, 0);
}

}  // namespace

template <class T>
void nms(const NmsProblem& problem, const T* boxes, const T* confidence, void* output, int32_t* output_size) {
  const auto [B, C, N, max] = std::array{problem.B, problem.C, problem.N, problem.max_output_size};
  const int64_t rows = B * C * max;
  const bool is_int = problem.mode == 0 || problem.mode == 3;
  auto* const ints = static_cast<int32_t*>(output);
  auto* const numbers = static_cast<T*>(output);
  const int64_t columns = problem.mode == 0 ? 1 : problem.mode == 3 ? 3 : 5;
  if (rows > 0)
    std::memset(output, 0, static_cast<size_t>(rows * columns) * (is_int ? sizeof(int32_t) : sizeof(T)));
  int64_t row = 0;
  for (int64_t b = 0; b < B; ++b) {
    std::vector<std::array<T, 4>> all(static_cast<size_t>(N));
    std::vector<Box> corners;
    for (int64_t n = 0; n < N; ++n) {
      for (int64_t i = 0; i < 4; ++i) {
        all[static_cast<size_t>(n)][static_cast<size_t>(i)] =
            boxes[b * N * 4 + (problem.by_column ? i * N + n : n * 4 + i)];
      }
      corners.push_back(corners_of(problem, all[static_cast<size_t>(n)]));
    }
    for (int64_t c = 0; c < C; ++c) {
      const T* const of_class = confidence + (b * C + c) * N;
      std::vector<float> scores;
      std::vector<int64_t> candidates;
      for (int64_t n = 0; n < N; ++n) {
        scores.push_back(to_f32(of_class[n]));
        if (!(scores.back() <= problem.confidence_threshold)) candidates.push_back(n);
      }
      std::vector<int64_t> kept = kept_of(sorted(candidates, scores), [&](int64_t i, int64_t j) {
        return rectangle_iou(corners[static_cast<size_t>(i)].data(), corners[static_cast<size_t>(j)].data(),
                             problem.offset) > problem.iou_threshold;
      });
      if (static_cast<int64_t>(kept.size()) > max) kept.resize(static_cast<size_t>(max));
      for (const int64_t n : kept) {
        const auto& box = all[static_cast<size_t>(n)];
        const T values[] = {of_class[n], box[0], box[1], box[2], box[3]};
        const int64_t indices[] = {b, c, n};
        for (int64_t i = 0; i < columns; ++i) {
          switch (problem.mode) {
            case 0: ints[row] = static_cast<int32_t>(n); break;
            case 1: numbers[row * 5 + i] = values[i]; break;
            case 2: numbers[i * rows + row] = values[i]; break;
            default: ints[row * 3 + i] = static_cast<int32_t>(indices[i]); break;
          }
        }
        ++row;
      }
    }
  }
  *output_size = static_cast<int32_t>(row);
}

template void nms(const NmsProblem&, const float*, const float*, void*, int32_t*);
template void nms(const NmsProblem&, const Half*, const Half*, void*, int32_t*);
template void nms(const NmsProblem&, const BFloat16*, const BFloat16*, void*, int32_t*);

void nms3d(const Nms3dProblem& problem, const float* boxes, int32_t* output, int32_t* output_size) {
  const int64_t N = problem.N;
  std::vector<std::array<float, 7>> all(static_cast<size_t>(N));
  std::vector<int64_t> order;
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t i = 0; i < 7; ++i) {
      all[static_cast<size_t>(n)][static_cast<size_t>(i)] = boxes[problem.by_column ? i * N + n : n * 7 + i];
    }
    order.push_back(n);
  }
  const std::vector<int64_t> kept = kept_of(order, [&](int64_t i, int64_t j) {
    const float *a = all[static_cast<size_t>(i)].data(), *b = all[static_cast<size_t>(j)].data();
    const float overlap = problem.has_yaw ? bev_overlap(a, b) : upright_overlap(a, b);
    const float area = a[3] * a[4] + b[3] * b[4] - overlap;
    // A NaN area becomes the least area.
    return overlap / (area > 1e-8F ? area : 1e-8F) > problem.iou_threshold;
  });
  std::fill_n(output, N, 0);
  std::copy(kept.begin(), kept.end(), output);
  *output_size = static_cast<int32_t>(kept.size());
}

}  // namespace mluop::reference
