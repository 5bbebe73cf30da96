// mluOpGenerateProposalsV2 and its workspace queries in one file: kernels, launches, checks, entries.
// Start with the entries at the end, then run(); suppress() and sort_by_score() are in
// primitives/geometry/suppression.cpp.
//
// Letters: N pictures, H x W places with A anchors each; K = H W A anchors.
#include <algorithm>
#include <cmath>

#include "core/checks.h"
#include "core/sizes.h"
#include "mlu_op.h"
#include "primitives/geometry/box_bounds.h"
#include "primitives/geometry/suppression.h"
#include "team/launch.h"
#include "team/operator_call.h"

namespace mluop::generate_proposals_v2 {
namespace {

// The arguments of the call, checked.
struct Args {
  int64_t N, K;
  int64_t candidates;  // of a picture, before boxes are dropped
  int64_t max_rois;    // of a picture
  float nms_thresh, min_side, offset;
  const float* scores;       // [N, K]
  const float* bbox_deltas;  // [N, K, 4]
  const float* im_shape;     // [N, 2]
  const float* anchors;      // [K, 4]
  const float* variances;    // [K, 4]
  float* rpn_rois;           // [N * max_rois, 4]
  float* rpn_roi_probs;      // [N * max_rois, 1]
  int32_t* rpn_rois_num;     // [N]
  int32_t* rpn_rois_batch_size;
};

// A decoded box, and its anchor.
struct Proposal : Bounds {
  uint32_t anchor;
};

struct Workspace {
  Workspace(Arena& arena, int64_t K, int64_t candidates)
      : order(arena, K),
        sorted(arena, candidates),
        is_suppressed(arena.take<uint8_t>("suppressed", {sorted.bounds.padded_count})) {}

  ScoreOrder order;
  BoundedBoxes<Proposal> sorted;  // in descending order of scores
  uint8_t* is_suppressed;         // [padded_count]
};

int64_t candidates_of(int64_t K, int pre_nms_top_n) {
  return pre_nms_top_n <= 0 ? K : std::min<int64_t>(K, pre_nms_top_n);
}

size_t workspace_bytes(int64_t N, int64_t K, int64_t candidates) {
  return N == 0 ? 0 : workspace_bytes_of<Workspace>(K, candidates);
}

// NaN if either number is NaN.
float smaller(float a, float b) { return a < b || std::isnan(a) ? a : b; }
float larger(float a, float b) { return a > b || std::isnan(a) ? a : b; }

// The lower and the upper end of a box along an axis.
struct Side {
  float low, high;
};

// The side of an anchor along an axis, moved and scaled, and clamped to a picture. The pointers are at the first
// column of the axis.
Side decode_side(const float* anchor, const float* delta, const float* variance, float offset, float picture) {
  constexpr float kMaxLogScale = 4.135166556742356F;  // log(1000 / 16)
  const float length = anchor[2] - anchor[0] + offset;
  const float center = anchor[0] + length / 2 + delta[0] * length * variance[0];
  const auto scale = static_cast<float>(std::exp(double{smaller(delta[2] * variance[2], kMaxLogScale)}));
  const float half = scale * length / 2, limit = picture - offset;
  return {larger(smaller(center - half, limit), 0), larger(smaller(center + half - offset, limit), 0)};
}

struct DecodeArgs : Args {
  int64_t n;
  const uint32_t* indices;  // [candidates]
  Proposal* proposals;      // [candidates]
};

// Work items: candidates of picture n.
void decode(const DecodeArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t k = args.indices[i];
    const float *const anchor = args.anchors + k * 4, *const variance = args.variances + k * 4;
    const float *const delta = args.bbox_deltas + (args.n * args.K + k) * 4, *const im =
                                                                                 args.im_shape + args.n * 2;
    const Side x = decode_side(anchor, delta, variance, args.offset, im[1]);
    const Side y = decode_side(anchor + 1, delta + 1, variance + 1, args.offset, im[0]);
    args.proposals[i] = {{x.low, y.low, x.high, y.high}, args.indices[i]};
  }
}

// Whether a side is long enough, and its center in the picture. NaN is not.
bool is_side_kept(const Args& args, float low, float high, float picture) {
  const float length = high - low + args.offset;
  return length >= args.min_side && (args.offset == 0 || low + length / 2 <= picture);
}

// The data for testing a pair.
struct Test {
  static bool suppresses(const void* opaque, int64_t kept, int64_t other) {
    const Test& test = *static_cast<const Test*>(opaque);
    const Bounds &a = test.boxes[kept], &b = test.boxes[other];
    const float shared = shared_area(a, b, test.offset);
    return iou_of(shared, area_of(a, test.offset), area_of(b, test.offset)) > test.nms_thresh;
  }

  const Proposal* boxes;
  float offset, nms_thresh;
};

// Writes the rois of picture n from `row` on. Returns their number.
int64_t propose(Context& context, const Args& args, const Workspace& memory, int64_t n, int64_t row) {
  const float *const scores = args.scores + n * args.K, *const im = args.im_shape + n * 2;
  auto [boxes, bounds] = memory.sorted;
  const uint32_t* const indices = sort_by_score(context, scores, args.K, memory.order, args.candidates);
  constexpr int64_t kDecodeBytes = 512;  // cost of decoding a box, in bytes of memory traffic
  launch<DecodeArgs>(context, "decode", choose_task_dim(args.candidates, args.candidates * kDecodeBytes),
                     Evenly{args.candidates}, decode, {args, n, indices, boxes});
  bounds.count = std::remove_if(boxes, boxes + args.candidates,
                                [&](const Proposal& box) {
                                  return !is_side_kept(args, box.min_x, box.max_x, im[1]) ||
                                         !is_side_kept(args, box.min_y, box.max_y, im[0]);
                                }) -
                 boxes;
  bounds.padded_count = round_up(bounds.count, BoxBounds::kGroupBoxes);
  // Boxes that share an area have bounds that meet: sums are rounded monotonically.
  for (int64_t i = 0; i < bounds.count; ++i) {
    bounds.set(i, {boxes[i].min_x, boxes[i].min_y, boxes[i].max_x + args.offset, boxes[i].max_y + args.offset});
  }
  bounds.pad();
  const Test test{boxes, args.offset, args.nms_thresh};
  suppress(context, {bounds, Test::suppresses, &test, false, memory.is_suppressed, nullptr, args.max_rois});
  int64_t rois = 0;
  const auto write = [&](const Bounds& box, float score) {
    const float corners[] = {box.min_x, box.min_y, box.max_x, box.max_y};
    std::copy_n(corners, 4, args.rpn_rois + (row + rois) * 4);
    args.rpn_roi_probs[row + rois++] = score;
  };
  for (int64_t i = 0; i < bounds.count && rois < args.max_rois; ++i) {
    if (memory.is_suppressed[i] == 0) write(boxes[i], scores[boxes[i].anchor]);
  }
  if (rois == 0) write({0, 0, 0, 0}, 0);
  return rois;
}

void run(Call& call, Arena arena, const Args& args) {
  call.context().reserve(0);
  call.log_detail("native");
  const Workspace memory(arena, args.K, args.candidates);
  int64_t row = 0;
  for (int64_t n = 0; n < args.N; ++n) {
    const int64_t rois = propose(call.context(), args, memory, n, row);
    args.rpn_rois_num[n] = static_cast<int32_t>(rois);
    row += rois;
  }
  *args.rpn_rois_batch_size = static_cast<int32_t>(row);
}

constexpr auto kFloat = MLUOP_DTYPE_FLOAT;
constexpr auto kArray = MLUOP_LAYOUT_ARRAY;

// Checks everything that the operator shares with its queries. Returns K.
int64_t check_scores(Call& call, const TensorDescriptor* desc) {
  const int64_t K = saturated_product({dim_of(desc, 1), dim_of(desc, 2), dim_of(desc, 3)});
  require(K < int64_t{1} << 31, MLUOP_STATUS_NOT_SUPPORTED, "scores has ", K,
          " anchors a picture, expected fewer than 2^31");
  call.check_tensors();
  require_positive("scores dim 1", desc->dims[1]);
  require_positive("scores dim 2", desc->dims[2]);
  require_positive("scores dim 3", desc->dims[3]);
  return K;
}

mluOpStatus_t query(const char* name, mluOpHandle_t handle, const TensorDescriptor* scores_desc, int pre_nms_top_n,
                    size_t* size) {
  return run_workspace_query(name, handle, size, [&](Call& call) {
    call.input("scores", scores_desc, nullptr, kFloat, kArray, {kAny, kAny, kAny, kAny});
    call.check_pointers();
    const int64_t K = check_scores(call, scores_desc);
    return workspace_bytes(scores_desc->dims[0], K, candidates_of(K, pre_nms_top_n));
  });
}

}  // namespace
}  // namespace mluop::generate_proposals_v2

mluOpStatus_t MLUOP_WIN_API mluOpGetGenerateProposalsV2WorkspaceSize(mluOpHandle_t handle,
                                                                     const mluOpTensorDescriptor_t scores_desc,
                                                                     size_t* size) {
  return mluop::generate_proposals_v2::query("mluOpGetGenerateProposalsV2WorkspaceSize", handle, scores_desc, 0,
                                             size);
}

mluOpStatus_t MLUOP_WIN_API mluOpGetGenerateProposalsV2WorkspaceSize_v2(mluOpHandle_t handle,
                                                                        const mluOpTensorDescriptor_t scores_desc,
                                                                        const int32_t pre_nms_top_n,
                                                                        size_t* size) {
  return mluop::generate_proposals_v2::query("mluOpGetGenerateProposalsV2WorkspaceSize_v2", handle, scores_desc,
                                             pre_nms_top_n, size);
}

mluOpStatus_t MLUOP_WIN_API mluOpGenerateProposalsV2(
    mluOpHandle_t handle, const int pre_nms_top_n, const int post_nms_top_n, const float nms_thresh,
    const float min_size, const float eta, bool pixel_offset, const mluOpTensorDescriptor_t scores_desc,
    const void* scores, const mluOpTensorDescriptor_t bbox_deltas_desc, const void* bbox_deltas,
    const mluOpTensorDescriptor_t im_shape_desc, const void* im_shape, const mluOpTensorDescriptor_t anchors_desc,
    const void* anchors, const mluOpTensorDescriptor_t variances_desc, const void* variances, void* workspace,
    size_t workspace_size, const mluOpTensorDescriptor_t rpn_rois_desc, void* rpn_rois,
    const mluOpTensorDescriptor_t rpn_roi_probs_desc, void* rpn_roi_probs,
    const mluOpTensorDescriptor_t rpn_rois_num_desc, void* rpn_rois_num, void* rpn_rois_batch_size) {
  using namespace mluop;
  using namespace mluop::generate_proposals_v2;
  return run_operator("mluOpGenerateProposalsV2", handle, [&](Call& call) {
    const int64_t N = dim_of(scores_desc, 0), H = dim_of(scores_desc, 1), W = dim_of(scores_desc, 2);
    const int64_t A = dim_of(scores_desc, 3);
    const int64_t rows = saturated_product({N, std::max(post_nms_top_n, 0)});
    auto* const batch_size = static_cast<int32_t*>(rpn_rois_batch_size);
    call.parameter("pre_nms_top_n", pre_nms_top_n);
    call.parameter("post_nms_top_n", post_nms_top_n, AtLeast{0});
    call.parameter("nms_thresh", nms_thresh);
    call.parameter("min_size", min_size);
    call.parameter("eta", eta);
    call.parameter("pixel_offset", pixel_offset);
    call.input("scores", scores_desc, scores, kFloat, kArray, {kAny, kAny, kAny, kAny});
    call.input("bbox_deltas", bbox_deltas_desc, bbox_deltas, kFloat, kArray, {N, H, W, saturated_product({4, A})});
    call.input("im_shape", im_shape_desc, im_shape, kFloat, kArray, {N, 2});
    call.input("anchors", anchors_desc, anchors, kFloat, kArray, {H, W, A, 4});
    call.input("variances", variances_desc, variances, kFloat, kArray, {H, W, A, 4});
    // Rows past the last roi are unchanged.
    call.inout("rpn_rois", rpn_rois_desc, rpn_rois, kFloat, kArray, {rows, 4});
    call.inout("rpn_roi_probs", rpn_roi_probs_desc, rpn_roi_probs, kFloat, kArray, {rows, 1});
    call.output("rpn_rois_num", rpn_rois_num_desc, rpn_rois_num, MLUOP_DTYPE_INT32, kArray, {N});
    call.output("rpn_rois_batch_size", batch_size);
    if (rows == 0) call.reads_nothing();

    call.check_pointers();
    call.check_parameters();
    require(!(nms_thresh <= 0), MLUOP_STATUS_BAD_PARAM, "nms_thresh is ", nms_thresh, ", expected more than 0");
    require(!(eta < 1), MLUOP_STATUS_BAD_PARAM, "eta is ", eta, ", expected at least 1");
    require_int32_count("rpn_rois dim 0", rows);
    const int64_t K = check_scores(call, scores_desc);
    if (rows == 0) {
      std::fill_n(static_cast<int32_t*>(rpn_rois_num), N, 0);
      *batch_size = 0;
      return;
    }
    const int64_t candidates = candidates_of(K, pre_nms_top_n);
    const auto floats = [](const void* data) { return static_cast<const float*>(data); };
    const Arena arena = call.workspace(workspace, workspace_size, workspace_bytes(N, K, candidates));
    run(call, arena,
        {N, K, candidates, post_nms_top_n, nms_thresh, std::fmax(min_size, 1.0F), pixel_offset ? 1.0F : 0.0F,
         floats(scores), floats(bbox_deltas), floats(im_shape), floats(anchors), floats(variances),
         static_cast<float*>(rpn_rois), static_cast<float*>(rpn_roi_probs), static_cast<int32_t*>(rpn_rois_num),
         batch_size});
  });
}
