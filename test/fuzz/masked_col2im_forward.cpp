// Fuzzer of mluOpMaskedCol2imForward and its workspace query.
#include "reference/masked_col2im_forward.h"

#include <utility>

#include "fuzz/fuzzer.h"
#include "fuzz/operator_fuzzer.h"
#include "fuzz/values.h"

namespace mluop::fuzz {
namespace {

using Sizes = reference::MaskedCol2imForwardSizes;

Sizes decode_sizes(Decoder& decoder) {
  Sizes sizes = {decoder.number(1, 80), decoder.number(1, 40), decoder.number(1, 60), decoder.number(0, 1200)};
  // The elements of the largest images are enough for several tasks.
  const int64_t max_count = 4 * decode_max_count(decoder);
  limit_product({&sizes.channels, &sizes.height, &sizes.width}, max_count);
  limit_product({&sizes.channels, &sizes.mask_cnt}, max_count);
  return sizes;
}

// T: uint16_t for half, uint32_t for float; elements are bit patterns.
template <class T>
class Fuzzer : public OperatorFuzzer {
 public:
  explicit Fuzzer(Decoder& bytes)
      : OperatorFuzzer(bytes, "mluOpMaskedCol2imForward", {}),
        sizes_(decode_sizes(bytes)),
        col_(input({.dtype = kDtype, .dims = {sizes_.channels, sizes_.mask_cnt}, .any_layout = true})),
        mask_h_(input({.dtype = MLUOP_DTYPE_INT32, .dims = {sizes_.mask_cnt}, .any_layout = true})),
        mask_w_(input({.dtype = MLUOP_DTYPE_INT32, .dims = {sizes_.mask_cnt}, .any_layout = true})),
        im_(output({.dtype = kDtype,
                    .dims = {1, sizes_.channels, sizes_.height, sizes_.width},
                    .layout = MLUOP_LAYOUT_NCHW,
                    .free_dims = 4 | 8})) {
    Values values(decoder(), true);
    for (size_t i = 0; i < col_.count(); ++i) col_.template data<T>()[i] = static_cast<T>(values.bits());
    // In row-major order, or in any.
    const bool ascend = decoder().flag();
    const int64_t plane = sizes_.height * sizes_.width;
    for (int64_t k = 0; k < sizes_.mask_cnt; ++k) {
      const int64_t pixel = ascend ? k * plane / sizes_.mask_cnt : values.below(plane);
      mask_h_.data<int32_t>()[k] = static_cast<int32_t>(pixel / sizes_.width);
      mask_w_.data<int32_t>()[k] = static_cast<int32_t>(pixel % sizes_.width);
    }
  }

 private:
  static constexpr mluOpDataType_t kDtype = sizeof(T) == 2 ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT;

  mluOpStatus_t execute(mluOpHandle_t handle) override {
    return mluOpMaskedCol2imForward(handle, col_.desc(), col_.pointer(), mask_h_.desc(), mask_h_.pointer(),
                                    mask_w_.desc(), mask_w_.pointer(), workspace_size(), workspace(), im_.desc(),
                                    im_.pointer());
  }
  std::optional<mluOpStatus_t> query(mluOpHandle_t handle, size_t* bytes) override {
    return mluOpGetMaskedCol2imForwardWorkspaceSize(handle, col_.desc(), mask_h_.desc(), mask_w_.desc(),
                                                    im_.desc(), bytes);
  }

  // A mask outside the image.
  Fault apply_own_fault() override {
    if (sizes_.mask_cnt == 0) return Fault::kNone;
    const bool row = decoder().flag();
    const int64_t extent = row ? sizes_.height : sizes_.width;
    const auto any = static_cast<int32_t>(decoder().flag() ? decoder().any_number() : extent);
    if (0 <= any && any < extent) return Fault::kNone;
    bad_ = (row ? mask_h_ : mask_w_).data<int32_t>() + decoder().index(mask_h_.count());
    replaced_ = std::exchange(*bad_, any);
    return Fault::kHarmful;
  }
  void undo_own_fault() override {
    if (bad_ != nullptr) *bad_ = replaced_;
    bad_ = nullptr;
  }

  void check_result() override {
    std::vector<T> expected(im_.count());
    reference::masked_col2im_forward(sizes_, col_.template data<T>(), mask_h_.data<int32_t>(),
                                     mask_w_.data<int32_t>(), expected.data());
    check(std::equal(expected.begin(), expected.end(), im_.template data<T>()), "im is wrong");
  }

  Sizes sizes_;
  Tensor &col_, &mask_h_, &mask_w_, &im_;
  int32_t* bad_ = nullptr;
  int32_t replaced_ = 0;
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
