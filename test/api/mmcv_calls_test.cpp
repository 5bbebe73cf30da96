// The calls of mmcv's sparse convolution, dynamic scatter and three nearest neighbors for this API: each function
// with the types, descriptors and order of calls of mmcv, on a small problem.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "mlu_op.h"
#include "support/api.h"

namespace mluop::test {
namespace {

// mmcv describes a tensor by its shape, with the layout that PyTorch's memory format suggests, and then sets
// another layout where the operator needs one.
class MmcvDescriptor {
 public:
  MmcvDescriptor(mluOpDataType_t dtype, const std::vector<int64_t>& dims) {
    const mluOpTensorLayout_t layout =
        dims.size() == 4 ? MLUOP_LAYOUT_NCHW : (dims.size() == 5 ? MLUOP_LAYOUT_NCDHW : MLUOP_LAYOUT_ARRAY);
    require(mluOpSetTensorDescriptor_v2(desc(), layout, dtype, static_cast<int>(dims.size()), dims.data()));
  }

  void set_layout(mluOpTensorLayout_t layout) {
    mluOpTensorLayout_t old_layout{};
    mluOpDataType_t dtype{};
    int dim = 0, dims[8];
    require(mluOpGetTensorDescriptor(desc(), &old_layout, &dtype, &dim, dims));
    require(mluOpSetTensorDescriptor(desc(), layout, dtype, dim, dims));
  }

  mluOpTensorDescriptor_t desc() const { return desc_; }

 private:
  Descriptor desc_;
};

// Two neighboring sites of a 3 x 3 x 3 convolution that keeps the sites.
struct SparseConvolution {
  static constexpr int64_t kInputs = 2, kOffsets = 27, kCi = 2, kCo = 3;

  std::vector<int32_t> sites = {0, 1, 1, 1, 0, 1, 1, 2};
  std::vector<int32_t> pairs = std::vector<int32_t>(kOffsets * 2 * kInputs, -1);
  std::vector<int32_t> counts = std::vector<int32_t>(kOffsets);
  std::vector<int32_t> out_sites = std::vector<int32_t>(kInputs * 4);
};

void get_indice_pairs(mluOpHandle_t handle, SparseConvolution& problem) {
  const int batch = 1, sub_m = 1, transpose = 0;
  const std::vector<int> input_space = {4, 4, 4}, output_space = {4, 4, 4}, filter_space = {3, 3, 3};
  const std::vector<int> padding(3, 1), stride(3, 1), dilation(3, 1);
  const MmcvDescriptor indices(MLUOP_DTYPE_INT32, {SparseConvolution::kInputs, 4});
  const MmcvDescriptor indice_pairs(MLUOP_DTYPE_INT32,
                                    {SparseConvolution::kOffsets, 2, SparseConvolution::kInputs});
  const MmcvDescriptor indice_num(MLUOP_DTYPE_INT32, {SparseConvolution::kOffsets});
  const MmcvDescriptor out_indices(MLUOP_DTYPE_INT32, {SparseConvolution::kInputs, 4});

  mluOpSparseConvolutionDescriptor_t sparse_conv_desc = nullptr;
  ASSERT_EQ(mluOpCreateSparseConvolutionDescriptor(&sparse_conv_desc), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(mluOpSetSparseConvolutionDescriptor(sparse_conv_desc, 3 + 2, batch, padding.data(), stride.data(),
                                                dilation.data(), input_space.data(), filter_space.data(),
                                                output_space.data(), sub_m, transpose, 0),
            MLUOP_STATUS_SUCCESS);
  size_t workspace_size = 0;
  ASSERT_EQ(mluOpGetIndicePairsWorkspaceSize(handle, sparse_conv_desc, indices.desc(), indice_pairs.desc(),
                                             out_indices.desc(), indice_num.desc(), &workspace_size),
            MLUOP_STATUS_SUCCESS);
  std::vector<char> workspace(workspace_size);
  void* const sites = problem.sites.data();
  void* const out_sites = problem.out_sites.data();
  void* const pairs = problem.pairs.data();
  void* const counts = problem.counts.data();
  ASSERT_EQ(
      mluOpGetIndicePairs(handle, sparse_conv_desc, indices.desc(), sites, workspace.data(), workspace_size,
                          indice_pairs.desc(), pairs, out_indices.desc(), out_sites, indice_num.desc(), counts),
      MLUOP_STATUS_SUCCESS);
  int num_act_out = 0;
  ASSERT_EQ(mluOpGetSparseConvolutionNumActOut(sparse_conv_desc, &num_act_out), MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(mluOpDestroySparseConvolutionDescriptor(sparse_conv_desc), MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(problem.out_sites, problem.sites);
  // The center, and one neighbor in each direction of x.
  std::vector<int32_t> expected(SparseConvolution::kOffsets);
  expected[12] = expected[14] = 1;
  expected[13] = 2;
  EXPECT_EQ(problem.counts, expected);
}

TEST(ApiMmcvCalls, SparseConvolution) {
  const Handle handle;
  SparseConvolution problem;
  ASSERT_NO_FATAL_FAILURE(get_indice_pairs(handle, problem));
  const std::vector<int64_t> counts64(problem.counts.begin(), problem.counts.end());
  const int64_t* const indice_num = counts64.data();
  const int64_t num_act_out = SparseConvolution::kInputs, inverse = 0, sub_m = 1;
  constexpr int64_t kCi = SparseConvolution::kCi, kCo = SparseConvolution::kCo;

  // Each weight is 1, so each output is the sum of the input features at the sites, which are all neighbors.
  std::vector<float> features = {1, 2, 3, 4}, filters(SparseConvolution::kOffsets * kCi * kCo, 1), output(2 * kCo);
  MmcvDescriptor features_desc(MLUOP_DTYPE_FLOAT, {2, kCi}), filters_desc(MLUOP_DTYPE_FLOAT, {3, 3, 3, kCi, kCo});
  MmcvDescriptor pairs_desc(MLUOP_DTYPE_INT32, {SparseConvolution::kOffsets, 2, 2});
  MmcvDescriptor output_desc(MLUOP_DTYPE_FLOAT, {2, kCo});
  filters_desc.set_layout(MLUOP_LAYOUT_ARRAY);
  size_t workspace_size = 0;
  ASSERT_EQ(mluOpGetIndiceConvolutionForwardWorkspaceSize(handle, features_desc.desc(), filters_desc.desc(),
                                                          pairs_desc.desc(), output_desc.desc(), indice_num,
                                                          num_act_out, inverse, sub_m, &workspace_size),
            MLUOP_STATUS_SUCCESS);
  std::vector<char> workspace(workspace_size);
  ASSERT_EQ(mluOpIndiceConvolutionForward(handle, features_desc.desc(), features.data(), filters_desc.desc(),
                                          filters.data(), pairs_desc.desc(), problem.pairs.data(), indice_num,
                                          num_act_out, inverse, sub_m, workspace.data(), workspace_size,
                                          output_desc.desc(), output.data()),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(output, std::vector<float>(2 * kCo, 10));

  // mmcv leaves the suggested layout of the filters' gradient.
  std::vector<float> output_grad = {1, 2, 3, 4, 5, 6}, input_grad(4), filters_grad(filters.size());
  const MmcvDescriptor input_grad_desc(MLUOP_DTYPE_FLOAT, {2, kCi});
  const MmcvDescriptor filters_grad_desc(MLUOP_DTYPE_FLOAT, {3, 3, 3, kCi, kCo});
  size_t data_workspace_size = 0, filters_workspace_size = 0;
  ASSERT_EQ(mluOpGetIndiceConvolutionBackwardDataWorkspaceSize(handle, output_desc.desc(), filters_desc.desc(),
                                                               pairs_desc.desc(), input_grad_desc.desc(),
                                                               indice_num, inverse, &data_workspace_size),
            MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize(
                handle, features_desc.desc(), output_desc.desc(), pairs_desc.desc(), filters_grad_desc.desc(),
                indice_num, inverse, sub_m, &filters_workspace_size),
            MLUOP_STATUS_SUCCESS);
  std::vector<char> data_workspace(data_workspace_size), filters_workspace(filters_workspace_size);
  ASSERT_EQ(mluOpIndiceConvolutionBackwardData(handle, output_desc.desc(), output_grad.data(), filters_desc.desc(),
                                               filters.data(), pairs_desc.desc(), problem.pairs.data(), indice_num,
                                               inverse, sub_m, data_workspace.data(), data_workspace_size,
                                               input_grad_desc.desc(), input_grad.data()),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(input_grad, std::vector<float>(4, 21));
  ASSERT_EQ(mluOpIndiceConvolutionBackwardFilter(
                handle, features_desc.desc(), features.data(), output_desc.desc(), output_grad.data(),
                pairs_desc.desc(), problem.pairs.data(), indice_num, inverse, sub_m, filters_workspace.data(),
                filters_workspace_size, filters_grad_desc.desc(), filters_grad.data()),
            MLUOP_STATUS_SUCCESS);
  // The weight of the center, from channel 0 to channel 0: 1 * 1 + 3 * 4.
  EXPECT_EQ(filters_grad[13 * kCi * kCo], 13);
}

TEST(ApiMmcvCalls, DynamicScatter) {
  const Handle handle;
  constexpr int64_t kPoints = 4, kChannels = 2;
  std::vector<float> feats = {1, 8, 3, 4, 5, 6, 7, 2}, reduced_feats(kPoints * kChannels);
  std::vector<int32_t> coors = {0, 1, 2, 0, 0, 2, 0, 1, 2, -1, 0, 0}, out_coors(kPoints * 3), coors_map(kPoints);
  std::vector<int32_t> reduce_count(kPoints);
  int32_t voxel_num = 0;
  const MmcvDescriptor feats_desc(MLUOP_DTYPE_FLOAT, {kPoints, kChannels});
  const MmcvDescriptor coors_desc(MLUOP_DTYPE_INT32, {kPoints, 3}), map_desc(MLUOP_DTYPE_INT32, {kPoints});
  const MmcvDescriptor voxel_num_desc(MLUOP_DTYPE_INT32, {1});
  size_t workspace_size = 0;
  ASSERT_EQ(mluOpGetDynamicPointToVoxelForwardWorkspaceSize(handle, feats_desc.desc(), coors_desc.desc(),
                                                            &workspace_size),
            MLUOP_STATUS_SUCCESS);
  std::vector<char> workspace(workspace_size);
  ASSERT_EQ(mluOpDynamicPointToVoxelForward(handle, MLUOP_REDUCE_DMAX, feats_desc.desc(), feats.data(),
                                            coors_desc.desc(), coors.data(), workspace.data(), workspace_size,
                                            feats_desc.desc(), reduced_feats.data(), coors_desc.desc(),
                                            out_coors.data(), map_desc.desc(), coors_map.data(), map_desc.desc(),
                                            reduce_count.data(), voxel_num_desc.desc(), &voxel_num),
            MLUOP_STATUS_SUCCESS);
  ASSERT_EQ(voxel_num, 2);
  EXPECT_EQ(coors_map, (std::vector<int32_t>{1, 0, 1, -1}));
  EXPECT_EQ(std::vector<float>(reduced_feats.begin(), reduced_feats.begin() + 4),
            (std::vector<float>{3, 4, 5, 8}));

  // mmcv passes the slices of the first voxel_num rows.
  const std::vector<float> grad_reduced_feats = {1, 2, 3, 4};
  std::vector<float> grad_feats(kPoints * kChannels, -1);
  const MmcvDescriptor reduced_desc(MLUOP_DTYPE_FLOAT, {2, kChannels}), count_desc(MLUOP_DTYPE_INT32, {2});
  ASSERT_EQ(mluOpGetDynamicPointToVoxelBackwardWorkspaceSize(
                handle, MLUOP_REDUCE_DMAX, feats_desc.desc(), feats_desc.desc(), reduced_desc.desc(),
                map_desc.desc(), count_desc.desc(), voxel_num_desc.desc(), &workspace_size),
            MLUOP_STATUS_SUCCESS);
  workspace.resize(workspace_size);
  ASSERT_EQ(mluOpDynamicPointToVoxelBackward(
                handle, MLUOP_REDUCE_DMAX, reduced_desc.desc(), grad_reduced_feats.data(), feats_desc.desc(),
                feats.data(), reduced_desc.desc(), reduced_feats.data(), map_desc.desc(), coors_map.data(),
                count_desc.desc(), reduce_count.data(), voxel_num_desc.desc(), &voxel_num, workspace.data(),
                workspace_size, feats_desc.desc(), grad_feats.data()),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(grad_feats, (std::vector<float>{0, 4, 1, 2, 3, 0, 0, 0}));
}

TEST(ApiMmcvCalls, ThreeNN) {
  const Handle handle;
  const std::vector<float> unknown = {0, 0, 0}, known = {3, 0, 0, 1, 0, 0, 2, 0, 0, 5, 0, 0};
  std::vector<float> dist2(3);
  std::vector<int32_t> idx(3);
  const MmcvDescriptor unknown_desc(MLUOP_DTYPE_FLOAT, {1, 1, 3}), known_desc(MLUOP_DTYPE_FLOAT, {1, 4, 3});
  const MmcvDescriptor dist2_desc(MLUOP_DTYPE_FLOAT, {1, 1, 3}), idx_desc(MLUOP_DTYPE_INT32, {1, 1, 3});
  size_t workspace_size = 0;
  ASSERT_EQ(mluOpGetThreeNNForwardWorkspaceSize(handle, known_desc.desc(), &workspace_size), MLUOP_STATUS_SUCCESS);
  std::vector<char> workspace(workspace_size);
  ASSERT_EQ(mluOpThreeNNForward(handle, unknown_desc.desc(), unknown.data(), known_desc.desc(), known.data(),
                                workspace.data(), workspace_size, dist2_desc.desc(), dist2.data(), idx_desc.desc(),
                                idx.data()),
            MLUOP_STATUS_SUCCESS);
  EXPECT_EQ(idx, (std::vector<int32_t>{1, 2, 0}));
  EXPECT_EQ(dist2, (std::vector<float>{1, 4, 9}));
}

}  // namespace
}  // namespace mluop::test
