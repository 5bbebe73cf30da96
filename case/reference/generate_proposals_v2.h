// Proposals of a region proposal network by their definition: a serial loop in fp32, whose bits the library
// returns. The oracle of the tests and the baseline of the perf suite.
#pragma once

#include <cstdint>

namespace mluop::reference {

struct GenerateProposalsV2Problem {
  int64_t N, K;  // pictures, and anchors of a picture
  int64_t pre_nms_top_n, post_nms_top_n;
  float nms_thresh, min_size;
  bool pixel_offset;
  const float *scores, *bbox_deltas, *im_shape, *anchors, *variances;
};

struct GenerateProposalsV2Result {
  float *rpn_rois, *rpn_roi_probs;
  int32_t *rpn_rois_num, *rpn_rois_batch_size;
};

void generate_proposals_v2(const GenerateProposalsV2Problem& problem, const GenerateProposalsV2Result& result);

}  // namespace mluop::reference
