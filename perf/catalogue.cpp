#include "perf/catalogue.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace mluop::perf {

// The cases: cases() of the namespace that each file of ops/ and networks/ is named after. CMake lists the files.
#define MLUOP_CASES(NAME)        \
  namespace NAME {               \
  std::vector<CaseSpec> cases(); \
  }
#include "cases.inc"
#undef MLUOP_CASES

namespace {

#define MLUOP_CASES(NAME) NAME::cases,
constexpr std::vector<CaseSpec> (*kCases[])() = {
#include "cases.inc"
};
#undef MLUOP_CASES

// A network size of each operator of ops/: verifying and measuring all of them takes minutes.
constexpr std::pair<std::string_view, std::string_view> kRepresentative[] = {
    {"knn", "dgcnn 2x4096_k20"},
    {"points_in_boxes", "pointrcnn 4x16384_t50"},
    {"points_in_boxes_part", "pointrcnn 4x16384_t50"},
    {"points_in_boxes_all", "pointrcnn 4x16384_t50"},
    {"voxel_pooling_forward", "camera"},
    {"voxel_pooling_backward", "camera"},
    {"three_nn_forward", "fp1 2x16384_m4096"},
    {"three_interpolate_forward", "16x128x1024_n4096"},
    {"three_interpolate_backward", "16x128x4096_m1024"},
    {"ball_query", "votenet_sa1 8x2048_n20000"},
    {"stack_ball_query", "pv_rcnn raw r0.8 2x2048_n20000"},
    {"focal_loss_sigmoid_forward", "pointpillars nus 320000x10"},
    {"focal_loss_sigmoid_backward", "pointpillars nus 320000x10"},
    {"furthest_point_sample", "pointnet2_sa1 16x4096_m1024"},
    {"furthest_point_sample_with_dist", "3dssd_sa2 2x4096_m512"},
    {"gather_points_forward", "votenet sa3 c256"},
    {"gather_points_backward", "votenet sa3 c256"},
    {"stack_group_points_forward", "pv_rcnn conv2 c32"},
    {"stack_group_points_backward", "pv_rcnn conv2 c32"},
    {"assign_score_withk_forward", "paconv 8x1024 k32 m16 c64"},
    {"assign_score_withk_backward", "paconv 8x1024 k32 m16 c64"},
    {"bev_pool_forward", "camera"},
    {"bev_pool_backward", "camera"},
    {"boxes_overlap_bev", "proposals_gt 512x40"},
    {"soft_nms", "faster_rcnn 1000 linear"},
    {"nms_match", "pisa 2000"},
    {"masked_im2col_forward", "256x100x152 k3"},
    {"masked_col2im_forward", "256x100x152"},
    {"ms_deform_attn_forward", "bevformer decoder 1x900 l1 p4"},
    {"ms_deform_attn_backward", "bevformer decoder 1x900 l1 p4"},
    {"nms", "proposals 4096_iou0.7"},
    {"nms3d_normal", "imvoxelnet 1000_iou0.25"},
    {"roi_align_forward_v2", "faster rcnn p2 200x304 r512 7x7"},
    {"roi_align_backward_v2", "faster rcnn p2 200x304 r512 7x7"},
    {"roiaware_pool3d_forward", "parta2 r128_14^3 c16 max"},
    {"roiaware_pool3d_backward", "parta2 r128_14^3 c16 max"},
    {"roipoint_pool3d", "pointrcnn test 1x100_s512 c130"},
    {"box_iou_rotated", "proposals_objects 9000x64"},
    {"nms_rotated", "centerpoint_nuscenes 1000_iou0.2"},
    {"voxelization", "pointpillars_kitti 121600x4_32x16000"},
    {"dcn_forward", "r50 c4 1x50x76 c256"},
    {"dcn_backward_data", "r50 c4 1x50x76 c256"},
    {"dcn_backward_weight", "r50 c4 1x50x76 c256"},
    {"dynamic_point_to_voxel_forward", "mvx_net_max"},
    {"dynamic_scatter_backward", "mvx_net"},
    {"dynamic_scatter_backward_sum", "mvx_net_mean"},
    {"get_indice_pairs", "level1_subm"},
    {"indice_convolution_forward", "subm_64x64"},
    {"indice_convolution_backward_data", "subm_64x64"},
    {"indice_convolution_backward_filter", "subm_64x64"},
    {"indice_maxpool_forward", "second level2 c32"},
    {"indice_maxpool_backward", "second level2 c32"},
};

bool is_representative(const CaseSpec& spec) {
  if (spec.op == kNetworks) return true;
  const bool is_dtype = spec.dtype == "float" || spec.dtype == "int32";
  const std::pair<std::string_view, std::string_view> name(spec.op, spec.name);
  return is_dtype && (spec.represents || std::ranges::find(kRepresentative, name) != std::end(kRepresentative));
}

}  // namespace

std::vector<CaseSpec> matching_cases(const Filter& filter) {
  const auto has = [](const std::string& name, const std::string& text) {
    return name.find(text) != std::string::npos;
  };
  const auto among = [](const std::string& name, const std::vector<std::string>& names) {
    return std::ranges::find(names, name) != names.end();
  };
  const auto matches = [&](const CaseSpec& spec) {
    return has(spec.op, filter.op) && (spec.op != kCliffs || !filter.op.empty()) && has(spec.name, filter.name) &&
           among(spec.dtype, filter.dtypes) && among(spec.algorithm, filter.algorithms) &&
           (!filter.representative || is_representative(spec));
  };
  std::vector<CaseSpec> matching;
  for (const auto cases : kCases) {
    std::ranges::copy_if(cases(), std::back_inserter(matching), matches);
  }
  std::ranges::stable_partition(matching, [](const CaseSpec& spec) { return spec.op != kCliffs; });
  return matching;
}

std::string title(const CaseSpec& spec) {
  return spec.op + '/' + spec.name + ' ' + spec.dtype + ' ' + spec.algorithm;
}

}  // namespace mluop::perf
