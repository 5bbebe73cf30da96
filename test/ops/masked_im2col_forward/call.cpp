#include "ops/masked_im2col_forward/call.h"

#include <algorithm>

namespace mluop::test {
namespace {

// The mask coordinate whose window begins at coordinate `begin` of the feature, modulo 2^32.
int32_t mask_at(int64_t begin, int pad) {
  return static_cast<int32_t>(static_cast<uint32_t>(begin) + static_cast<uint32_t>(pad));
}

}  // namespace

template <class T>
MaskedIm2colInputs<T> random_masked_im2col(const MaskedIm2colSizes& sizes, std::mt19937& random) {
  MaskedIm2colInputs<T> inputs{sizes, {}, {}, {}};
  inputs.feature.resize(static_cast<size_t>(sizes.feature_count()));
  std::generate(inputs.feature.begin(), inputs.feature.end(), [&] { return static_cast<T>(random()); });
  const auto coordinate = [&](int64_t extent, int kernel, int pad) {
    if (random() % 50 == 0) return static_cast<int32_t>(random());
    // From one pixel before the first window that touches the feature to one past the last.
    const int64_t positions = extent + kernel + 1;
    return mask_at(static_cast<int64_t>(random() % static_cast<uint64_t>(positions)) - kernel, pad);
  };
  for (int64_t k = 0; k < sizes.mask_cnt; ++k) {
    inputs.mask_h_idx.push_back(coordinate(sizes.height, sizes.kernel_h, sizes.pad_h));
    inputs.mask_w_idx.push_back(coordinate(sizes.width, sizes.kernel_w, sizes.pad_w));
  }
  return inputs;
}

template <class T>
std::vector<T> masked_im2col_reference(const MaskedIm2colInputs<T>& inputs) {
  std::vector<T> data_col(static_cast<size_t>(inputs.sizes.output_count()));
  reference::masked_im2col_forward(inputs.sizes, inputs.feature.data(), inputs.mask_h_idx.data(),
                                   inputs.mask_w_idx.data(), data_col.data());
  return data_col;
}

template <class T>
size_t masked_im2col_workspace(mluOpHandle_t handle, const MaskedIm2colSizes& sizes) {
  size_t bytes = 0;
  const Descriptor feature(kMaskedIm2colDtype<T>, {1, sizes.channels, sizes.height, sizes.width},
                           MLUOP_LAYOUT_NCHW);
  const Descriptor mask(MLUOP_DTYPE_INT32, {sizes.mask_cnt});
  const Descriptor data_col(kMaskedIm2colDtype<T>, {sizes.row_count(), sizes.mask_cnt});
  require(mluOpGetMaskedIm2colForwardWorkspaceSize(handle, feature, mask, mask, sizes.kernel_h, sizes.kernel_w,
                                                   data_col, &bytes));
  return bytes;
}

template <class T>
MaskedIm2colCall<T>::MaskedIm2colCall(mluOpHandle_t with, const MaskedIm2colInputs<T>& inputs, Placement placement)
    : GuardedCall(with),
      sizes(inputs.sizes),
      feature_buffer(inputs.feature, placement),
      mask_h_buffer(inputs.mask_h_idx, placement),
      mask_w_buffer(inputs.mask_w_idx, placement),
      data_col_buffer(static_cast<size_t>(sizes.output_count()), placement),
      queried_buffer(1),
      workspace_buffer(masked_im2col_workspace<T>(with, sizes), placement),
      own_feature_desc(kMaskedIm2colDtype<T>, {1, sizes.channels, sizes.height, sizes.width}, MLUOP_LAYOUT_NCHW),
      own_mask_desc(MLUOP_DTYPE_INT32, {sizes.mask_cnt}),
      own_data_col_desc(kMaskedIm2colDtype<T>, {sizes.row_count(), sizes.mask_cnt}),
      feature_desc(own_feature_desc),
      mask_h_idx_desc(own_mask_desc),
      mask_w_idx_desc(own_mask_desc),
      data_col_desc(own_data_col_desc),
      feature(feature_buffer.data()),
      mask_h_idx(mask_h_buffer.data()),
      mask_w_idx(mask_w_buffer.data()),
      data_col(data_col_buffer.data()),
      workspace(workspace_buffer.size() == 0 ? nullptr : workspace_buffer.data()),
      workspace_size(workspace_buffer.size()),
      queried_size(queried_buffer.data()) {
  set_buffers({&feature_buffer, &mask_h_buffer, &mask_w_buffer}, {&data_col_buffer, &queried_buffer},
              {&workspace_buffer});
}

template <class T>
mluOpStatus_t MaskedIm2colCall<T>::query() const {
  return mluOpGetMaskedIm2colForwardWorkspaceSize(handle, feature_desc, mask_h_idx_desc, mask_w_idx_desc,
                                                  sizes.kernel_h, sizes.kernel_w, data_col_desc, queried_size);
}

template <class T>
mluOpStatus_t MaskedIm2colCall<T>::run() const {
  return mluOpMaskedIm2colForward(handle, feature_desc, feature, mask_h_idx_desc, mask_h_idx, mask_w_idx_desc,
                                  mask_w_idx, sizes.kernel_h, sizes.kernel_w, sizes.pad_h, sizes.pad_w, workspace,
                                  workspace_size, data_col_desc, data_col);
}

template MaskedIm2colInputs<uint16_t> random_masked_im2col(const MaskedIm2colSizes&, std::mt19937&);
template MaskedIm2colInputs<uint32_t> random_masked_im2col(const MaskedIm2colSizes&, std::mt19937&);
template std::vector<uint16_t> masked_im2col_reference(const MaskedIm2colInputs<uint16_t>&);
template std::vector<uint32_t> masked_im2col_reference(const MaskedIm2colInputs<uint32_t>&);
template size_t masked_im2col_workspace<uint16_t>(mluOpHandle_t, const MaskedIm2colSizes&);
template size_t masked_im2col_workspace<uint32_t>(mluOpHandle_t, const MaskedIm2colSizes&);
template struct MaskedIm2colCall<uint16_t>;
template struct MaskedIm2colCall<uint32_t>;

}  // namespace mluop::test
