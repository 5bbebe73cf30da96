#include "ops/operator_cases.h"

#include "case/reduce.h"
#include "support/values.h"

namespace mluop::test {
namespace {

using cases::Case;

struct Sizes {
  const char* op;
  std::map<std::string, int64_t> sizes;
};

// Two of an operator that has two ways: direct and grouped sums, packed and direct channels, comparisons and
// trees, distinct and equal distances, hashed and direct cells, all pairs and those of a row or near each other,
// steps in one launch and in one each.
const Sizes kSizes[] = {
    {"ball_query", {{"b", 2}, {"m", 501}, {"n", 300}, {"nsample", 16}}},
    {"box_iou_rotated", {{"n", 300}, {"m", 400}, {"mode", 1}}},
    {"box_iou_rotated", {{"n", 5000}, {"all_pairs", 0}}},
    {"boxes_overlap_bev", {{"n", 150}, {"m", 200}}},
    {"boxes_overlap_bev", {{"n", 65}, {"m", 300}, {"uniform", 1}}},
    {"dynamic_point_to_voxel_backward",
     {{"n", 3000}, {"c", 20}, {"grid", 10}, {"reduce_type", MLUOP_REDUCE_DSUM}}},
    {"dynamic_point_to_voxel_backward",
     {{"n", 3000}, {"c", 20}, {"grid", 10}, {"reduce_type", MLUOP_REDUCE_DMEAN}}},
    {"dynamic_point_to_voxel_backward",
     {{"n", 3000}, {"c", 20}, {"grid", 10}, {"reduce_type", MLUOP_REDUCE_DMAX}}},
    {"dynamic_point_to_voxel_forward", {{"n", 3000}, {"c", 20}, {"grid", 12}, {"reduce_type", MLUOP_REDUCE_DMAX}}},
    {"dynamic_point_to_voxel_forward",
     {{"n", 3000}, {"c", 20}, {"grid", 12}, {"reduce_type", MLUOP_REDUCE_DMEAN}}},
    {"dynamic_point_to_voxel_forward", {{"n", 3000}, {"c", 20}, {"grid", 1}, {"reduce_type", MLUOP_REDUCE_DSUM}}},
    {"dynamic_point_to_voxel_forward",
     {{"n", 3000}, {"c", 20}, {"grid", 1 << 30}, {"reduce_type", MLUOP_REDUCE_DSUM}}},
    {"get_indice_pairs", {{"depth", 20}, {"height", 30}, {"width", 40}, {"sites", 3000}, {"stride", 2}}},
    {"get_indice_pairs", {{"depth", 20}, {"height", 30}, {"width", 40}, {"sites", 3000}, {"sub_m", 1}}},
    {"get_indice_pairs",
     {{"depth", 1 << 20}, {"height", 1 << 20}, {"width", 1 << 20}, {"sites", 3000}, {"stride", 2}}},
    {"indice_convolution_backward_data",
     {{"num_act_in", 500}, {"num_act_out", 400}, {"ci", 17}, {"co", 24}, {"d", 3}, {"h", 1}, {"w", 2}}},
    {"indice_convolution_backward_filter",
     {{"num_act_in", 3000}, {"num_act_out", 400}, {"ci", 17}, {"co", 24}, {"d", 3}, {"h", 1}, {"w", 2}}},
    {"indice_convolution_forward",
     {{"num_act_in", 500}, {"num_act_out", 400}, {"ci", 17}, {"co", 24}, {"d", 3}, {"h", 1}, {"w", 2}}},
    {"knn", {{"b", 2}, {"m", 150}, {"n", 5000}, {"k", 20}}},
    {"knn", {{"b", 2}, {"m", 150}, {"n", 1200}, {"k", 33}, {"ties", 1}}},
    {"masked_col2im_forward", {{"channels", 40}, {"height", 30}, {"width", 31}, {"mask_cnt", 900}}},
    {"masked_im2col_forward", {{"channels", 20}, {"height", 15}, {"width", 16}, {"mask_cnt", 900}}},
    {"nms", {{"n", 3000}, {"max_output_size", 200}, {"mode", 1}}},
    {"nms", {{"n", 700}, {"batches", 1}, {"input_layout", 1}, {"box_mode", 1}}},
    {"nms", {{"n", 700}, {"planar", 0}}},
    {"nms3d_normal", {{"n", 2000}}},
    {"nms_match", {{"n", 1500}, {"side", 20}}},
    {"nms_rotated", {{"n", 2000}, {"columns", 6}, {"iou_percent", 25}}},
    {"nms_rotated", {{"n", 500}, {"iou_percent", -10}, {"specials", 1}}},
    {"points_in_boxes", {{"b", 2}, {"m", 5000}, {"t", 70}}},
    {"points_in_boxes_all", {{"b", 2}, {"m", 3000}, {"t", 70}, {"specials", 1}}},
    {"points_in_boxes_part", {{"b", 2}, {"m", 5000}, {"t", 70}, {"uniform", 1}}},
    {"soft_nms", {{"n", 20000}, {"method", MLUOP_OMP_SOFT_NMS_NAIVE}}},
    {"soft_nms", {{"n", 500}, {"method", MLUOP_OMP_SOFT_NMS_GAUSSIAN}}},
    {"three_interpolate_backward", {{"b", 2}, {"c", 20}, {"m", 90}, {"n", 1003}}},
    {"three_interpolate_backward", {{"b", 4}, {"c", 67}, {"m", 30}, {"n", 501}}},
    {"three_interpolate_forward", {{"b", 2}, {"c", 20}, {"m", 90}, {"n", 1003}}},
    {"three_interpolate_forward", {{"b", 2}, {"c", 20}, {"m", 2003}, {"n", 403}}},
    {"three_nn_forward", {{"b", 2}, {"n", 301}, {"m", 300}}},
    {"three_nn_forward", {{"b", 2}, {"n", 101}, {"m", 1500}}},
    {"voxel_pooling_backward", {{"num_points", 3000}, {"num_channels", 19}, {"num_voxel_x", 9}}},
    {"voxel_pooling_forward", {{"num_points", 3000}, {"num_channels", 19}, {"num_voxel_x", 9}}},
    {"voxelization", {{"n", 20000}, {"max_voxels", 300}, {"max_points", 10}}},
};

// Operators that multiply values of two tensors or square them: their products are subnormal.
bool multiplies(const std::string& op) {
  return op.starts_with("indice") || op.starts_with("three") || op.starts_with("box") || op.starts_with("nms") ||
         op == "ball_query" || op == "knn" || op == "soft_nms";
}

Case of_magnitude(const Case& made, Magnitude magnitude, mluOpDataType_t dtype) {
  const bool is_half = dtype == MLUOP_DTYPE_HALF;
  switch (magnitude) {
    case Magnitude::kUsual: break;
    case Magnitude::kSubnormal:
      return multiplies(made.op_name) ? scaled(made, is_half ? 0x1p-8 : 0x1p-65)
                                      : scaled(made, is_half ? 0x1p-14 : 0x1p-130);
    case Magnitude::kOverflow: return with_overflows(made);
  }
  return made;
}

}  // namespace

std::vector<mluOpOmpAlgorithm_t> algorithms_of(const cases::Operator& op) {
  if (op.has_device_algorithm) return {MLUOP_OMP_ALGORITHM_NATIVE, MLUOP_OMP_ALGORITHM_DEVICE};
  return {MLUOP_OMP_ALGORITHM_NATIVE};
}

std::vector<OperatorCase> operator_cases(Magnitude magnitude) {
  std::vector<OperatorCase> all;
  for (const auto& [name, sizes] : kSizes) {
    const cases::Operator& op = cases::operator_of(name, {});
    for (const mluOpDataType_t dtype : op.dtypes) {
      std::string text = name + std::string(dtype == MLUOP_DTYPE_HALF ? ", half" : "");
      for (const auto& [size, value] : sizes) text += ", " + size + ' ' + std::to_string(value);
      const Case made = of_magnitude(make_case(name, dtype, sizes), magnitude, dtype);
      all.push_back({text, self_contained(made)});
    }
  }
  return all;
}

}  // namespace mluop::test
