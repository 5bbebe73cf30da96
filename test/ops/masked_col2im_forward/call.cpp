#include "ops/masked_col2im_forward/call.h"

#include <algorithm>

namespace mluop::test {

template <class T>
MaskedCol2imInputs<T> random_masked_col2im(const MaskedCol2imSizes& sizes, std::mt19937& random) {
  MaskedCol2imInputs<T> inputs{sizes, {}, {}, {}};
  inputs.col.resize(static_cast<size_t>(sizes.input_count()));
  std::generate(inputs.col.begin(), inputs.col.end(), [&] { return static_cast<T>(random()); });
  const auto below = [&](int64_t extent) {
    return static_cast<int32_t>(random() % static_cast<uint64_t>(extent));
  };
  for (int64_t k = 0; k < sizes.mask_cnt; ++k) {
    inputs.mask_h_idx.push_back(below(sizes.height));
    inputs.mask_w_idx.push_back(below(sizes.width));
  }
  return inputs;
}

template <class T>
std::vector<T> masked_col2im_reference(const MaskedCol2imInputs<T>& inputs) {
  std::vector<T> im(static_cast<size_t>(inputs.sizes.output_count()));
  reference::masked_col2im_forward(inputs.sizes, inputs.col.data(), inputs.mask_h_idx.data(),
                                   inputs.mask_w_idx.data(), im.data());
  return im;
}

template <class T>
MaskedCol2imCall<T>::MaskedCol2imCall(mluOpHandle_t with, const MaskedCol2imInputs<T>& inputs, Placement placement)
    : GuardedCall(with),
      sizes(inputs.sizes),
      col_buffer(inputs.col, placement),
      mask_h_buffer(inputs.mask_h_idx, placement),
      mask_w_buffer(inputs.mask_w_idx, placement),
      im_buffer(static_cast<size_t>(sizes.output_count()), placement),
      queried_buffer(1),
      own_col_desc(kDtype, {sizes.channels, sizes.mask_cnt}),
      own_mask_desc(MLUOP_DTYPE_INT32, {sizes.mask_cnt}),
      own_im_desc(kDtype, {1, sizes.channels, sizes.height, sizes.width}, MLUOP_LAYOUT_NCHW),
      col_desc(own_col_desc),
      mask_h_idx_desc(own_mask_desc),
      mask_w_idx_desc(own_mask_desc),
      im_desc(own_im_desc),
      col(col_buffer.data()),
      mask_h_idx(mask_h_buffer.data()),
      mask_w_idx(mask_w_buffer.data()),
      im(im_buffer.data()),
      queried_size(queried_buffer.data()) {
  set_buffers({&col_buffer, &mask_h_buffer, &mask_w_buffer}, {&im_buffer, &queried_buffer});
}

template <class T>
mluOpStatus_t MaskedCol2imCall<T>::query() const {
  return mluOpGetMaskedCol2imForwardWorkspaceSize(handle, col_desc, mask_h_idx_desc, mask_w_idx_desc, im_desc,
                                                  queried_size);
}

template <class T>
mluOpStatus_t MaskedCol2imCall<T>::run() const {
  return mluOpMaskedCol2imForward(handle, col_desc, col, mask_h_idx_desc, mask_h_idx, mask_w_idx_desc, mask_w_idx,
                                  workspace_size, workspace, im_desc, im);
}

template MaskedCol2imInputs<uint16_t> random_masked_col2im(const MaskedCol2imSizes&, std::mt19937&);
template MaskedCol2imInputs<uint32_t> random_masked_col2im(const MaskedCol2imSizes&, std::mt19937&);
template std::vector<uint16_t> masked_col2im_reference(const MaskedCol2imInputs<uint16_t>&);
template std::vector<uint32_t> masked_col2im_reference(const MaskedCol2imInputs<uint32_t>&);
template struct MaskedCol2imCall<uint16_t>;
template struct MaskedCol2imCall<uint32_t>;

}  // namespace mluop::test
