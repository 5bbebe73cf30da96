#include "ops/operator_cases.h"

#include <array>
#include <limits>
#include <utility>

#include "ops/ball_query/call.h"
#include "ops/dynamic_point_to_voxel_forward/call.h"
#include "ops/dynamic_scatter_backward/call.h"
#include "ops/get_indice_pairs/call.h"
#include "ops/indice_convolution_backward_data/call.h"
#include "ops/indice_convolution_backward_filter/call.h"
#include "ops/indice_convolution_forward/call.h"
#include "ops/masked_col2im_forward/call.h"
#include "ops/masked_im2col_forward/call.h"
#include "ops/three_interpolate_backward/call.h"
#include "ops/three_interpolate_forward/call.h"
#include "ops/three_nn_forward/call.h"
#include "ops/voxel_pooling_backward/call.h"
#include "ops/voxel_pooling_forward/call.h"
#include "ops/voxelization/call.h"
#include "support/special_values.h"

namespace mluop::test {
namespace {

template <class Call>
class CallOf : public OperatorCall {
 public:
  CallOf(mluOpHandle_t handle, const typename Call::Inputs& inputs) : call_(handle, inputs) {}
  mluOpStatus_t run() const override { return call_.run(); }
  std::vector<std::byte> contents() const override { return call_.contents(); }
  bool intact() const override { return call_.intact(); }

 private:
  Call call_;
};

template <class Call>
OperatorCase case_of(std::string name, bool device_is_deterministic, typename Call::Inputs inputs) {
  return {std::move(name), device_is_deterministic,
          [inputs = std::move(inputs)](mluOpHandle_t handle) -> std::unique_ptr<OperatorCall> {
            return std::make_unique<CallOf<Call>>(handle, inputs);
          }};
}

void set(float& element, float value) { element = value; }
void set(Half& element, float value) { element = to_f16(value); }

// `tiny` scales subnormal values: the product of the operands that are scaled is subnormal.
template <class T>
void change(std::vector<T>& elements, Values values, float tiny) {
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr std::array kSpecials = {kInfinity, kMax, -kInfinity, kMax, kMax};
  for (size_t i = 0; i < elements.size(); ++i) {
    if (values == Values::kSubnormal) set(elements[i], to_f32(elements[i]) * tiny);
    if (values == Values::kSpecial && i % 97 == 0) set(elements[i], kSpecials[i / 97 % kSpecials.size()]);
  }
}

template <class T>
OperatorCase voxel_pooling(const char* name, Values values, std::mt19937& random) {
  auto inputs = random_voxel_pooling<T>({2, 3000, 19, 9, 8, 1}, random);
  change(inputs.input_features, values, sizeof(T) == 2 ? 0x1p-14F : 0x1p-130F);
  return case_of<VoxelPoolingCall<T>>(name, false, std::move(inputs));
}

template <class T>
OperatorCase voxel_pooling_backward(const char* name, std::mt19937& random) {
  // Elements are random bit patterns.
  return case_of<VoxelPoolingBackwardCall<T>>(name, true,
                                              random_voxel_pooling_backward<T>({2, 3000, 19, 9, 8}, random));
}

template <class T>
OperatorCase three_interpolate(const char* name, const ThreeInterpolateSizes& sizes, Values values,
                               std::mt19937& random) {
  auto inputs = random_three_interpolate<T>(sizes, random);
  // Half has subnormals below 2^-14.
  const float tiny = sizeof(T) == 2 ? 0x1p-10F : 0x1p-65F;
  change(inputs.grad_output, values, tiny);
  change(inputs.weights, values == Values::kSpecial ? Values::kFractional : values, tiny);
  return case_of<ThreeInterpolateCall<T>>(name, true, std::move(inputs));
}

template <class T>
OperatorCase three_interpolate_forward(const char* name, const ThreeInterpolateForwardSizes& sizes, Values values,
                                       std::mt19937& random) {
  auto inputs = random_three_interpolate_forward<T>(sizes, random);
  const float tiny = sizeof(T) == 2 ? 0x1p-10F : 0x1p-65F;
  change(inputs.features, values, tiny);
  change(inputs.weights, values == Values::kSpecial ? Values::kFractional : values, tiny);
  return case_of<ThreeInterpolateForwardCall<T>>(name, true, std::move(inputs));
}

template <class T>
OperatorCase ball_query(const char* name, const BallQueryProblem& problem, Values values, std::mt19937& random) {
  auto inputs = random_ball_query<T>(problem, random);
  // The squares of coordinates and radii are subnormal.
  const float tiny = sizeof(T) == 2 ? 0x1p-8F : 0x1p-65F;
  change(inputs.new_xyz, values, tiny);
  change(inputs.xyz, values, tiny);
  if (values == Values::kSubnormal) {
    inputs.problem.min_radius *= tiny;
    inputs.problem.max_radius *= tiny;
  }
  return case_of<BallQueryCall<T>>(name, true, std::move(inputs));
}

template <class T>
OperatorCase three_nn(const char* name, const ThreeNNSizes& sizes, Values values, std::mt19937& random) {
  auto inputs = random_three_nn<T>(sizes, random);
  // The squares of coordinates are subnormal.
  const float tiny = sizeof(T) == 2 ? 0x1p-8F : 0x1p-65F;
  change(inputs.unknown, values, tiny);
  change(inputs.known, values, tiny);
  return case_of<ThreeNNCall<T>>(name, true, std::move(inputs));
}

// Subnormal coordinates and sizes of cells; the other columns are copied.
OperatorCase voxelization(Values values, std::mt19937& random) {
  auto inputs = random_voxelization(voxelization_problem(20000, 4, 5, 900, 10), random);
  change(inputs.points, values, 0x1p-130F);
  if (values == Values::kSubnormal) {
    for (float& size : inputs.problem.voxel_size) size *= 0x1p-130F;
    for (float& limit : inputs.problem.coors_range) limit *= 0x1p-130F;
  }
  return case_of<VoxelizationCall>("voxelization", true, std::move(inputs));
}

template <class T>
OperatorCase masked_im2col(const char* name, std::mt19937& random) {
  // Elements are random bit patterns.
  return case_of<MaskedIm2colCall<T>>(name, true, random_masked_im2col<T>({20, 15, 16, 900, 3, 3, 1, 1}, random));
}

template <class T>
OperatorCase masked_col2im(const char* name, std::mt19937& random) {
  return case_of<MaskedCol2imCall<T>>(name, true, random_masked_col2im<T>({40, 30, 31, 900}, random));
}

OperatorCase point_to_voxel(const char* name, mluOpReduceMode_t reduce_type, int32_t extent, Values values,
                            std::mt19937& random) {
  auto inputs = random_point_to_voxel(3000, 20, extent, reduce_type, random);
  change(inputs.feats, values, 0x1p-130F);
  return case_of<PointToVoxelCall>(name, true, std::move(inputs));
}

OperatorCase dynamic_scatter(const char* name, mluOpReduceMode_t reduce_type, Values values,
                             std::mt19937& random) {
  auto inputs = random_dynamic_scatter({3000, 900, 20, 900}, random);
  if (values == Values::kSpecial) values = Values::kFractional;
  change(inputs.grad_voxel_feats, values, 0x1p-130F);
  // Maxima that are zeros with flush-to-zero: other points would equal them.
  change(inputs.feats, values, 0x1p-130F);
  scatter_forward(inputs);
  inputs.reduce_type = reduce_type;
  return case_of<DynamicScatterCall>(name, true, std::move(inputs));
}

template <class T>
OperatorCase indice_convolution(const char* name, Values values, std::mt19937& random) {
  auto inputs = random_indice_convolution<T>({500, 400, 17, 24, 3, 1, 2}, FilterLayout::kNdhwc, random);
  make_fractional(inputs, random);
  const float tiny = sizeof(T) == 2 ? 0x1p-10F : 0x1p-66F;
  change(inputs.features, values, tiny);
  change(inputs.filters, values == Values::kSpecial ? Values::kFractional : values, tiny);
  return case_of<IndiceConvolutionCall<T>>(name, false, std::move(inputs));
}

template <class T>
OperatorCase indice_convolution_backward_data(const char* name, Values values, std::mt19937& random) {
  auto inputs = random_indice_convolution_backward_data<T>({500, 400, 17, 24, 3, 1, 2}, kFilterFormats[0], random);
  make_fractional(inputs, random);
  const float tiny = sizeof(T) == 2 ? 0x1p-10F : 0x1p-66F;
  change(inputs.output_grad, values, tiny);
  change(inputs.filters, values == Values::kSpecial ? Values::kFractional : values, tiny);
  return case_of<IndiceConvolutionBackwardDataCall<T>>(name, true, std::move(inputs));
}

// Offsets of several segments of the reduction.
template <class T>
OperatorCase indice_convolution_backward_filter(const char* name, Values values, std::mt19937& random) {
  auto inputs = random_indice_convolution_backward_filter<T>({3000, 400, 17, 24, 3, 1, 2}, random);
  set_pair_count(inputs, 0, 3000);
  make_fractional(inputs, random);
  const float tiny = sizeof(T) == 2 ? 0x1p-10F : 0x1p-66F;
  change(inputs.features, values, tiny);
  change(inputs.output_grad, values == Values::kSpecial ? Values::kFractional : values, tiny);
  return case_of<IndiceConvolutionBackwardFilterCall<T>>(name, true, std::move(inputs));
}

// A 3 x 3 x 3 filter over 3000 sites of a space.
OperatorCase get_indice_pairs(const char* name, const IndicePairsProblem::Extent& space, int32_t stride,
                              std::mt19937& random) {
  IndicePairsProblem problem{.batch_size = 2,
                             .input_space = space,
                             .output_space = {},
                             .kernel = {3, 3, 3},
                             .stride = {stride, stride, stride},
                             .pad = {1, 1, 1},
                             .sub_m = stride == 1,
                             .sites = {}};
  problem.output_space = output_space_of(problem);
  return case_of<GetIndicePairsCall>(name, true, random_get_indice_pairs(problem, 3000, random));
}

}  // namespace

std::vector<OperatorCase> operator_cases(Values values, std::mt19937& random) {
  std::vector<OperatorCase> cases;
  cases.push_back(voxel_pooling<float>("voxel pooling, float", values, random));
  cases.push_back(voxel_pooling<Half>("voxel pooling, half", values, random));
  cases.push_back(voxel_pooling_backward<uint32_t>("voxel pooling backward, float", random));
  cases.push_back(voxel_pooling_backward<uint16_t>("voxel pooling backward, half", random));
  // Direct and grouped sums.
  cases.push_back(three_interpolate<float>("three interpolate, float", {2, 20, 1003, 90}, values, random));
  cases.push_back(three_interpolate<float>("three interpolate, grouped", {4, 67, 501, 30}, values, random));
  cases.push_back(three_interpolate<Half>("three interpolate, half", {2, 20, 1003, 90}, values, random));
  // Packed and direct.
  cases.push_back(
      three_interpolate_forward<float>("interpolate forward, float", {2, 20, 90, 1003}, values, random));
  cases.push_back(three_interpolate_forward<Half>("interpolate forward, half", {2, 20, 90, 1003}, values, random));
  cases.push_back(
      three_interpolate_forward<Half>("interpolate forward, direct", {2, 20, 2003, 403}, values, random));
  cases.push_back(ball_query<float>("ball query, float", {2, 501, 300, 16, 0.1F, 0.5F}, values, random));
  cases.push_back(ball_query<Half>("ball query, half", {2, 501, 300, 16, 0, 0.5F}, values, random));
  cases.push_back(voxelization(values, random));
  // Comparisons and trees.
  cases.push_back(three_nn<float>("three nn, float", {2, 501, 300}, values, random));
  cases.push_back(three_nn<Half>("three nn, half", {2, 101, 300}, values, random));
  cases.push_back(three_nn<float>("three nn, tree", {2, 301, 1500}, values, random));
  cases.push_back(three_nn<Half>("three nn, tree, half", {2, 101, 1500}, values, random));
  cases.push_back(masked_im2col<uint32_t>("masked im2col, float", random));
  cases.push_back(masked_im2col<uint16_t>("masked im2col, half", random));
  cases.push_back(masked_col2im<uint32_t>("masked col2im, float", random));
  cases.push_back(masked_col2im<uint16_t>("masked col2im, half", random));
  cases.push_back(point_to_voxel("point to voxel, max", MLUOP_REDUCE_DMAX, 12, values, random));
  cases.push_back(point_to_voxel("point to voxel, mean", MLUOP_REDUCE_DMEAN, 12, values, random));
  cases.push_back(point_to_voxel("point to voxel, sum, one voxel", MLUOP_REDUCE_DSUM, 1, values, random));
  cases.push_back(point_to_voxel("point to voxel, wide", MLUOP_REDUCE_DSUM, 1 << 30, values, random));
  cases.push_back(dynamic_scatter("dynamic scatter", MLUOP_REDUCE_DMAX, values, random));
  cases.push_back(dynamic_scatter("dynamic scatter, sum", MLUOP_REDUCE_DSUM, values, random));
  cases.push_back(dynamic_scatter("dynamic scatter, mean", MLUOP_REDUCE_DMEAN, values, random));
  cases.push_back(indice_convolution<float>("indice convolution, float", values, random));
  cases.push_back(indice_convolution<Half>("indice convolution, half", values, random));
  cases.push_back(
      indice_convolution_backward_data<float>("indice convolution backward data, float", values, random));
  cases.push_back(
      indice_convolution_backward_data<Half>("indice convolution backward data, half", values, random));
  cases.push_back(
      indice_convolution_backward_filter<float>("indice convolution backward filter, float", values, random));
  cases.push_back(
      indice_convolution_backward_filter<Half>("indice convolution backward filter, half", values, random));
  cases.push_back(get_indice_pairs("get indice pairs, strided", {20, 30, 40}, 2, random));
  cases.push_back(get_indice_pairs("get indice pairs, submanifold", {20, 30, 40}, 1, random));
  cases.push_back(get_indice_pairs("get indice pairs, hashed", {1 << 20, 1 << 20, 1 << 20}, 2, random));
  return cases;
}

}  // namespace mluop::test
