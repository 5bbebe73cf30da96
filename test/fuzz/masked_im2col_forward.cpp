// Fuzzer of mluOpMaskedIm2colForward and its workspace query.
#include "reference/masked_im2col_forward.h"
#include "fuzz/fuzzer.h"
#include "fuzz/operator_fuzzer.h"
#include "fuzz/values.h"

namespace mluop::fuzz {
namespace {

using Sizes = reference::MaskedIm2colForwardSizes;

Sizes decode_sizes(Decoder& decoder) {
  int64_t channels = decoder.number(1, 80), height = decoder.number(1, 24), width = decoder.number(1, 40);
  int64_t masks = decoder.number(0, 300), kernel_h = decoder.number(1, 6), kernel_w = decoder.number(1, 6);
  const int64_t max_count = decode_max_count(decoder);
  limit_product({&channels, &height, &width}, max_count);
  limit_product({&channels, &kernel_h, &kernel_w, &masks}, 2 * max_count);
  const auto pad = [&] {
    return static_cast<int>(decoder.one_in(8) ? decoder.any_number() : decoder.number(-3, 4));
  };
  const int pad_h = pad(), pad_w = pad();
  return {channels, height, width, masks, static_cast<int>(kernel_h), static_cast<int>(kernel_w), pad_h, pad_w};
}

// T: uint16_t for half, uint32_t for float; elements are bit patterns.
template <class T>
class Fuzzer : public OperatorFuzzer {
 public:
  explicit Fuzzer(Decoder& bytes)
      : OperatorFuzzer(bytes, "mluOpMaskedIm2colForward", {}),
        sizes_(decode_sizes(bytes)),
        kernel_h_(sizes_.kernel_h),
        kernel_w_(sizes_.kernel_w),
        feature_(input({.dtype = kDtype,
                        .dims = {1, sizes_.channels, sizes_.height, sizes_.width},
                        .layout = MLUOP_LAYOUT_NCHW,
                        .free_dims = 4 | 8})),
        mask_h_(input({.dtype = MLUOP_DTYPE_INT32, .dims = {sizes_.mask_cnt}, .any_layout = true})),
        mask_w_(input({.dtype = MLUOP_DTYPE_INT32, .dims = {sizes_.mask_cnt}, .any_layout = true})),
        data_col_(output({kDtype, {sizes_.row_count(), sizes_.mask_cnt}})) {
    Values values(decoder(), true);
    for (size_t i = 0; i < feature_.count(); ++i) feature_.template data<T>()[i] = static_cast<T>(values.bits());
    // `any` in 16 coordinates are arbitrary numbers.
    const int64_t any = decoder().number(0, 2);
    const auto fill = [&](const Tensor& mask, int64_t extent, int kernel, int pad) {
      for (size_t k = 0; k < mask.count(); ++k) {
        const auto begin = static_cast<uint32_t>(values.between(-kernel, extent));
        mask.data<int32_t>()[k] =
            static_cast<int32_t>(values.below(16) < any ? values.bits() : begin + static_cast<uint32_t>(pad));
      }
    };
    fill(mask_h_, sizes_.height, sizes_.kernel_h, sizes_.pad_h);
    fill(mask_w_, sizes_.width, sizes_.kernel_w, sizes_.pad_w);
  }

 private:
  static constexpr mluOpDataType_t kDtype = sizeof(T) == 2 ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT;

  mluOpStatus_t execute(mluOpHandle_t handle) override {
    return mluOpMaskedIm2colForward(handle, feature_.desc(), feature_.pointer(), mask_h_.desc(), mask_h_.pointer(),
                                    mask_w_.desc(), mask_w_.pointer(), kernel_h_, kernel_w_, sizes_.pad_h,
                                    sizes_.pad_w, workspace(), workspace_size(), data_col_.desc(),
                                    data_col_.pointer());
  }
  std::optional<mluOpStatus_t> query(mluOpHandle_t handle, size_t* bytes) override {
    return mluOpGetMaskedIm2colForwardWorkspaceSize(handle, feature_.desc(), mask_h_.desc(), mask_w_.desc(),
                                                    kernel_h_, kernel_w_, data_col_.desc(), bytes);
  }
  bool reads_nothing() const override { return sizes_.mask_cnt == 0; }

  // A kernel that data_col does not have.
  Fault apply_own_fault() override {
    int& kernel = decoder().flag() ? kernel_h_ : kernel_w_;
    const auto any = static_cast<int>(decoder().flag() ? decoder().any_number() : decoder().number(-1, 7));
    if (any == kernel) return Fault::kNone;
    kernel = any;
    return Fault::kHarmful;
  }
  void undo_own_fault() override {
    kernel_h_ = sizes_.kernel_h;
    kernel_w_ = sizes_.kernel_w;
  }

  void check_result() override {
    std::vector<T> expected(data_col_.count());
    reference::masked_im2col_forward(sizes_, feature_.template data<T>(), mask_h_.data<int32_t>(),
                                     mask_w_.data<int32_t>(), expected.data());
    check(std::equal(expected.begin(), expected.end(), data_col_.template data<T>()), "data_col is wrong");
  }

  Sizes sizes_;
  int kernel_h_, kernel_w_;
  Tensor &feature_, &mask_h_, &mask_w_, &data_col_;
};

}  // namespace

void fuzz_one(Decoder& decoder) {
  if (decoder.flag()) {
    Fuzzer<uint16_t>(decoder).run();
  } else {
    Fuzzer<uint32_t>(decoder).run();
  }
}

}  // namespace mluop::fuzz
