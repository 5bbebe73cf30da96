#include "perf/ops/catalogue.h"

#include <algorithm>
#include <iterator>

namespace mluop::perf {

// The cases of operators, one function for each file of this folder.
// clang-format off
namespace assign_score_withk { std::vector<CaseSpec> cases(); }
namespace voxel_pooling { std::vector<CaseSpec> cases(); }
namespace three_nn_forward { std::vector<CaseSpec> cases(); }
namespace stack_group_points { std::vector<CaseSpec> cases(); }
namespace three_interpolate { std::vector<CaseSpec> cases(); }
namespace ball_query { std::vector<CaseSpec> cases(); }
namespace bev_pool { std::vector<CaseSpec> cases(); }
namespace boxes_overlap_bev { std::vector<CaseSpec> cases(); }
namespace gather_points { std::vector<CaseSpec> cases(); }
namespace knn { std::vector<CaseSpec> cases(); }
namespace masked_convolution { std::vector<CaseSpec> cases(); }
namespace ms_deform_attn { std::vector<CaseSpec> cases(); }
namespace nms { std::vector<CaseSpec> cases(); }
namespace points_in_boxes { std::vector<CaseSpec> cases(); }
namespace voxelization { std::vector<CaseSpec> cases(); }
namespace dcn { std::vector<CaseSpec> cases(); }
namespace dynamic_scatter { std::vector<CaseSpec> cases(); }
namespace focal_loss_sigmoid { std::vector<CaseSpec> cases(); }
namespace furthest_point_sample { std::vector<CaseSpec> cases(); }
namespace get_indice_pairs { std::vector<CaseSpec> cases(); }
namespace indice_maxpool { std::vector<CaseSpec> cases(); }
namespace indice_convolution { std::vector<CaseSpec> cases(); }
namespace roi_align { std::vector<CaseSpec> cases(); }
namespace roi_pooling { std::vector<CaseSpec> cases(); }
namespace rotated_boxes { std::vector<CaseSpec> cases(); }
namespace axis_aligned_nms { std::vector<CaseSpec> cases(); }
// Networks, in the files of perf/networks.
namespace center_point { std::vector<CaseSpec> cases(); }
namespace point_net { std::vector<CaseSpec> cases(); }
namespace mvx_net { std::vector<CaseSpec> cases(); }
namespace bev_depth { std::vector<CaseSpec> cases(); }
// clang-format on

std::vector<CaseSpec> matching_cases(const Filter& filter) {
  const auto has = [](const std::string& name, const std::string& text) {
    return name.find(text) != std::string::npos;
  };
  const auto among = [](const std::string& name, const std::vector<std::string>& names) {
    return std::ranges::find(names, name) != names.end();
  };
  const auto matches = [&](const CaseSpec& spec) {
    return has(spec.op, filter.op) && (spec.op != kCliffs || !filter.op.empty()) && has(spec.name, filter.name) &&
           among(spec.dtype, filter.dtypes) && among(spec.algorithm, filter.algorithms);
  };
  std::vector<CaseSpec> matching;
  for (const auto cases : {knn::cases,
                           points_in_boxes::cases,
                           voxel_pooling::cases,
                           three_nn_forward::cases,
                           three_interpolate::cases,
                           ball_query::cases,
                           focal_loss_sigmoid::cases,
                           furthest_point_sample::cases,
                           gather_points::cases,
                           stack_group_points::cases,
                           assign_score_withk::cases,
                           bev_pool::cases,
                           boxes_overlap_bev::cases,
                           axis_aligned_nms::cases,
                           masked_convolution::cases,
                           ms_deform_attn::cases,
                           nms::cases,
                           roi_align::cases,
                           roi_pooling::cases,
                           rotated_boxes::cases,
                           voxelization::cases,
                           dcn::cases,
                           dynamic_scatter::cases,
                           get_indice_pairs::cases,
                           indice_convolution::cases,
                           indice_maxpool::cases,
                           center_point::cases,
                           point_net::cases,
                           mvx_net::cases,
                           bev_depth::cases}) {
    std::ranges::copy_if(cases(), std::back_inserter(matching), matches);
  }
  std::ranges::stable_partition(matching, [](const CaseSpec& spec) { return spec.op != kCliffs; });
  return matching;
}

std::string title(const CaseSpec& spec) {
  return spec.op + '/' + spec.name + ' ' + spec.dtype + ' ' + spec.algorithm;
}

}  // namespace mluop::perf
