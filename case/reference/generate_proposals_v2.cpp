#include "reference/generate_proposals_v2.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace mluop::reference {
namespace {

using Box = std::array<float, 4>;

struct Proposal {
  Box box;
  float score;
};

// NaN if a number is NaN.
float limited(float number, float highest) {
  if (std::isnan(number) || std::isnan(highest)) return NAN;
  const float lower = number < highest ? number : highest;
  return lower > 0 ? lower : 0;
}

// The box of anchor k in picture n.
Box decoded(const GenerateProposalsV2Problem& p, int64_t n, int64_t k) {
  const float o = p.pixel_offset ? 1.0F : 0.0F;
  const float *a = p.anchors + k * 4, *v = p.variances + k * 4, *d = p.bbox_deltas + (n * p.K + k) * 4;
  const float w = a[2] - a[0] + o, h = a[3] - a[1] + o;
  const float x = a[0] + w / 2 + d[0] * w * v[0], y = a[1] + h / 2 + d[1] * h * v[1];
  const auto scale = [](float log_scale) {
    const auto largest = static_cast<float>(std::log(1000.0 / 16));
    return static_cast<float>(std::exp(double{log_scale > largest ? largest : log_scale}));
  };
  const float new_w = scale(d[2] * v[2]) * w, new_h = scale(d[3] * v[3]) * h;
  const float right = p.im_shape[n * 2 + 1] - o, bottom = p.im_shape[n * 2] - o;
  return {limited(x - new_w / 2, right), limited(y - new_h / 2, bottom), limited(x + new_w / 2 - o, right),
          limited(y + new_h / 2 - o, bottom)};
}

bool is_kept(const GenerateProposalsV2Problem& p, const Box& box, const float* im) {
  const float o = p.pixel_offset ? 1.0F : 0.0F, smallest = p.min_size > 1 ? p.min_size : 1;
  const float w = box[2] - box[0] + o, h = box[3] - box[1] + o;
  if (!(w >= smallest) || !(h >= smallest)) return false;
  return !p.pixel_offset || (box[0] + w / 2 <= im[1] && box[1] + h / 2 <= im[0]);
}

float iou(const Box& a, const Box& b, float o) {
  const float w = std::min(a[2], b[2]) - std::max(a[0], b[0]) + o;
  const float h = std::min(a[3], b[3]) - std::max(a[1], b[1]) + o;
  const float shared = std::max(w, 0.0F) * std::max(h, 0.0F);
  const float area_a = (a[2] - a[0] + o) * (a[3] - a[1] + o), area_b = (b[2] - b[0] + o) * (b[3] - b[1] + o);
  return shared / (area_a + area_b - shared);
}

// The rois of picture n, at most post_nms_top_n.
std::vector<Proposal> proposals_of(const GenerateProposalsV2Problem& p, int64_t n) {
  const float* const scores = p.scores + n * p.K;
  std::vector<int64_t> order(static_cast<size_t>(p.K));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return scores[i] > scores[j] || (std::isnan(scores[i]) && !std::isnan(scores[j]));
  });
  if (p.pre_nms_top_n > 0 && p.pre_nms_top_n < p.K) order.resize(static_cast<size_t>(p.pre_nms_top_n));
  std::vector<Proposal> kept;
  for (const int64_t k : order) {
    if (static_cast<int64_t>(kept.size()) == p.post_nms_top_n) break;
    const Box box = decoded(p, n, k);
    const auto suppresses = [&](const Proposal& other) {
      return iou(other.box, box, p.pixel_offset ? 1.0F : 0.0F) > p.nms_thresh;
    };
    if (is_kept(p, box, p.im_shape + n * 2) && std::none_of(kept.begin(), kept.end(), suppresses)) {
      kept.push_back({box, scores[k]});
    }
  }
  return kept;
}

}  // namespace

void generate_proposals_v2(const GenerateProposalsV2Problem& problem, const GenerateProposalsV2Result& result) {
  int64_t row = 0;
  for (int64_t n = 0; n < problem.N; ++n) {
    std::vector<Proposal> rois;
    if (problem.post_nms_top_n > 0) {
      rois = proposals_of(problem, n);
      if (rois.empty()) rois.push_back({{0, 0, 0, 0}, 0});
    }
    for (const Proposal& roi : rois) {
      std::copy(roi.box.begin(), roi.box.end(), result.rpn_rois + row * 4);
      result.rpn_roi_probs[row++] = roi.score;
    }
    result.rpn_rois_num[n] = static_cast<int32_t>(rois.size());
  }
  *result.rpn_rois_batch_size = static_cast<int32_t>(row);
}

}  // namespace mluop::reference
