#include "reference/generate_proposals_v2.h"

#include <algorithm>

#include "case/description.h"

namespace mluop::cases::generate_proposals_v2 {
namespace {

enum Input : size_t { kScores, kDeltas, kAnchors, kVariances, kImShape, kRois, kProbs, kNum, kBatchSize };

// Whether all numbers are random.
const SizeRule kUniform = {"uniform", 0, 0, 1, false};

float real(const Arguments& a, const char* name) { return static_cast<float>(a.parameters->real(name)); }

mluOpStatus_t query(const Arguments& a, size_t* bytes) {
  return mluOpGetGenerateProposalsV2WorkspaceSize_v2(a.handle, a[kScores].desc, a.int32("pre_nms_top_n"), bytes);
}

mluOpStatus_t run(const Arguments& a) {
  return call(mluOpGenerateProposalsV2, a.handle, a.int32("pre_nms_top_n"), a.int32("post_nms_top_n"),
              real(a, "nms_thresh"), real(a, "min_size"), real(a, "eta"), a.integer("pixel_offset") != 0,
              a[kScores], a[kDeltas], a[kImShape], a[kAnchors], a[kVariances], a.workspace, a.workspace_size,
              a[kRois], a[kProbs], a[kNum], a[kBatchSize].as<void>());
}

int64_t anchor_count(const Arguments& a) { return a[kScores].dim(1) * a[kScores].dim(2) * a[kScores].dim(3); }

void expect(Arguments& a) {
  reference::generate_proposals_v2(
      {a[kScores].dim(0), anchor_count(a), a.integer("pre_nms_top_n"), a.integer("post_nms_top_n"),
       real(a, "nms_thresh"), real(a, "min_size"), a.integer("pixel_offset") != 0, a[kScores].as<float>(),
       a[kDeltas].as<float>(), a[kImShape].as<float>(), a[kAnchors].as<float>(), a[kVariances].as<float>()},
      {a[kRois].as<float>(), a[kProbs].as<float>(), a[kNum].as<int32_t>(), a[kBatchSize].as<int32_t>()});
}

// Reads all scores, and the other numbers of the candidates. Decoding a candidate takes 40 operations, comparing
// a kept box with one 14; a kept box is compared with half of the candidates.
Work work_of(const Arguments& a) {
  const int64_t N = a[kScores].dim(0), K = anchor_count(a), first = a.integer("pre_nms_top_n");
  const int64_t candidates = first > 0 ? std::min(first, K) : K, rois = *a[kBatchSize].as<int32_t>();
  return {a[kScores].bytes() + a[kImShape].bytes() + N * candidates * 48, rois * 20 + a[kNum].bytes() + 4,
          N * candidates * 40 + rois * candidates * 7};
}

void fit(Case& c) {
  const int64_t N = c.inputs[kScores].dims[0];
  const int64_t rows = checked_product({N, c.parameters.integer("post_nms_top_n")}, INT64_MAX);
  set_shape(c.outputs[0], {rows, 4});
  set_shape(c.outputs[1], {rows, 1});
  set_shape(c.outputs[2], {N});
  set_shape(c.outputs[3], {1});
}

// Anchors of A sizes around the pixels of a map with a stride of 4, variances of 1 and 1/2, deltas that move
// several anchors to the same place, and scores, many of them equal. The last of several pictures has no area:
// it has no proposal.
void make_scene(const Recipe& r, std::vector<Tensor>& inputs) {
  Integers random(r.seed);
  const auto set = [](Tensor& tensor, const auto& number) {
    std::vector<float> numbers(static_cast<size_t>(checked_product({element_count(tensor)})));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(number(static_cast<int64_t>(i)));
    tensor = with_numbers(tensor, numbers);
  };
  const int64_t W = r["w"], A = r["a"];
  set(inputs[kScores], [&](int64_t) { return random.below(4 * r["h"] * W + 8) / 1024.0; });
  set(inputs[kDeltas],
      [&](int64_t i) { return random.below(9) / (i % 4 < 2 ? 8.0 : 4.0) - (i % 4 < 2 ? 0.5 : 1); });
  set(inputs[kAnchors], [&](int64_t i) {
    const int64_t k = i / 4, size = int64_t{4} << (k % A % 6), center = 4 * (i % 2 == 0 ? k / A % W : k / A / W);
    return center + (i % 4 < 2 ? -1 : 1) * (i % 2 == 0 ? size : size / 2);
  });
  set(inputs[kVariances], [](int64_t i) { return i % 8 < 4 ? 1 : 0.5; });
  set(inputs[kImShape],
      [&](int64_t i) { return r["n"] > 1 && i / 2 == r["n"] - 1 ? 0 : 4 * r[i % 2 == 0 ? "h" : "w"]; });
}

Case make(const Recipe& r) {
  Case c = new_case("generate_proposals_v2", r, {"pre_nms_top_n", "post_nms_top_n", "pixel_offset"});
  c.parameters.set_real("nms_thresh", double{static_cast<float>(r["iou_percent"]) / 100});
  c.parameters.set_real("min_size", static_cast<double>(r["min_size"]));
  // Any number from 1 on is the same; this one remains so in cases that are scaled down.
  c.parameters.set_real("eta", 0x1p70);
  const int64_t N = r["n"], H = r["h"], W = r["w"], A = r["a"];
  checked_product({N, H, W, A, 4}, int64_t{1} << 40);
  const Dims dims[] = {{N, H, W, A}, {N, H, W, 4 * A}, {H, W, A, 4}, {H, W, A, 4}, {N, 2}};
  for (const char* id : {"scores", "bbox_deltas", "anchors", "variances", "im_shape"}) {
    const size_t i = c.inputs.size();
    const Tensor tensor = make_tensor(id, MLUOP_DTYPE_FLOAT, dims[i]);
    c.inputs.push_back(with_uniform(tensor, r.seed + static_cast<int32_t>(i), -8, 8));
  }
  if (r["uniform"] == 0) make_scene(r, c.inputs);
  for (const char* id : {"rpn_rois", "rpn_roi_probs"}) c.outputs.push_back(make_tensor(id, MLUOP_DTYPE_FLOAT));
  for (const char* id : {"rpn_rois_num", "rpn_rois_batch_size"}) {
    c.outputs.push_back(make_tensor(id, MLUOP_DTYPE_INT32));
  }
  fit(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  Operator op;
  op.name = "generate_proposals_v2";
  op.function = "mluOpGenerateProposalsV2";
  op.query_function = "mluOpGetGenerateProposalsV2WorkspaceSize_v2";
  op.tensors = {{"scores", Role::kInput, {"picture", "y", "x", "anchor"}},
                {"bbox_deltas", Role::kInput, {"picture", "y", "x", "number"}},
                {"anchors", Role::kInput, {"y", "x", "anchor", "number"}},
                {"variances", Role::kInput, {"y", "x", "anchor", "number"}},
                {"im_shape", Role::kInput, {"picture", "axis"}},
                {"rpn_rois", Role::kKeptOutput, {"roi", "number"}},
                {"rpn_roi_probs", Role::kKeptOutput, {"roi", "column"}},
                {"rpn_rois_num", Role::kOutput, {"picture"}},
                {"rpn_rois_batch_size", Role::kOutput, {"element"}}};
  op.tensors[kBatchSize].has_descriptor = false;
  op.parameter_messages = {"generate_proposals_v2_param"};
  op.query = query;
  op.run = run;
  op.expect = expect;
  op.work = work_of;
  op.copies = true;
  op.sizes = {{"n", 2, 1, 3},
              {"h", 5, 1, 70},
              {"w", 4, 1, 70},
              {"a", 3, 1, 12},
              {"post_nms_top_n", 10, 1, 100},
              {"pre_nms_top_n", 40, 0, 300, false},
              {"iou_percent", 50, 1, 100, false},
              {"min_size", 0, 0, 8, false},
              {"pixel_offset", 0, 0, 1, false},
              kUniform};
  op.multiplies = true;
  op.parallel_sizes = {
      {{"n", 2}, {"h", 70}, {"w", 70}, {"pre_nms_top_n", 1500}, {"post_nms_top_n", 500}, {"iou_percent", 70}},
      {{"h", 40}, {"w", 40}, {"pre_nms_top_n", 0}, {"post_nms_top_n", 300}, {"pixel_offset", 1}}};
  // Levels of a feature pyramid of 800 x 1216 pixels.
  std::map<std::string, int64_t> level = {{"n", 1}, {"h", 200}, {"w", 304}, {"iou_percent", 70}};
  level.insert({{"pre_nms_top_n", 2000}, {"post_nms_top_n", 1000}});
  op.networks = {{"fpn p2 200x304", level}};
  level["h"] = 100, level["w"] = 152;
  op.networks.push_back({"fpn p3 100x152", level});
  op.dtypes = {MLUOP_DTYPE_FLOAT};
  op.make = make;
  op.fit = fit;
  op.reductions = {axis_reduction("pictures", {{kScores, 0}, {kDeltas, 0}, {kImShape, 0}}),
                   axis_reduction("rows", {{kScores, 1}, {kDeltas, 1}, {kAnchors, 0}, {kVariances, 0}}),
                   axis_reduction("columns", {{kScores, 2}, {kDeltas, 2}, {kAnchors, 1}, {kVariances, 1}})};
  return {op};
}

}  // namespace mluop::cases::generate_proposals_v2
