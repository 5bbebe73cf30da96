#include "perf/ops/catalogue.h"

#include <algorithm>
#include <iterator>

namespace mluop::perf {

// The cases of operators, one function for each file of this folder.
std::vector<CaseSpec> voxel_pooling_cases();
std::vector<CaseSpec> three_nn_forward_cases();
std::vector<CaseSpec> three_interpolate_cases();
std::vector<CaseSpec> ball_query_cases();
std::vector<CaseSpec> boxes_overlap_bev_cases();
std::vector<CaseSpec> gather_points_cases();
std::vector<CaseSpec> knn_cases();
std::vector<CaseSpec> masked_convolution_cases();
std::vector<CaseSpec> nms_cases();
std::vector<CaseSpec> points_in_boxes_cases();
std::vector<CaseSpec> voxelization_cases();
std::vector<CaseSpec> dynamic_scatter_cases();
std::vector<CaseSpec> furthest_point_sample_cases();
std::vector<CaseSpec> get_indice_pairs_cases();
std::vector<CaseSpec> indice_convolution_cases();
std::vector<CaseSpec> rotated_box_cases();
std::vector<CaseSpec> axis_aligned_nms_cases();

// Networks, in the files of perf/networks.
std::vector<CaseSpec> center_point_cases();
std::vector<CaseSpec> point_net_cases();
std::vector<CaseSpec> mvx_net_cases();
std::vector<CaseSpec> bev_depth_cases();

std::vector<CaseSpec> matching_cases(const Filter& filter) {
  const auto has = [](const std::string& name, const std::string& text) {
    return name.find(text) != std::string::npos;
  };
  const auto matches = [&](const CaseSpec& spec) {
    return has(spec.op, filter.op) && (spec.op != kCliffs || !filter.op.empty()) && has(spec.name, filter.name) &&
           has(spec.dtype, filter.dtype) &&
           std::ranges::find(filter.algorithms, spec.algorithm) != filter.algorithms.end();
  };
  std::vector<CaseSpec> matching;
  for (const auto cases : {knn_cases,
                           points_in_boxes_cases,
                           voxel_pooling_cases,
                           three_nn_forward_cases,
                           three_interpolate_cases,
                           ball_query_cases,
                           furthest_point_sample_cases,
                           gather_points_cases,
                           boxes_overlap_bev_cases,
                           axis_aligned_nms_cases,
                           masked_convolution_cases,
                           nms_cases,
                           rotated_box_cases,
                           voxelization_cases,
                           dynamic_scatter_cases,
                           get_indice_pairs_cases,
                           indice_convolution_cases,
                           center_point_cases,
                           point_net_cases,
                           mvx_net_cases,
                           bev_depth_cases}) {
    std::ranges::copy_if(cases(), std::back_inserter(matching), matches);
  }
  std::ranges::stable_partition(matching, [](const CaseSpec& spec) { return spec.op != kCliffs; });
  return matching;
}

std::string title(const CaseSpec& spec) {
  return spec.op + '/' + spec.name + ' ' + spec.dtype + ' ' + spec.algorithm;
}

}  // namespace mluop::perf
