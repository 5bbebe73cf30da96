// Fuzzer of mluOpOmpVoxelPoolingBackward.
#include "reference/voxel_pooling_backward.h"

#include <algorithm>

#include "fuzz/fuzzer.h"
#include "fuzz/operator_fuzzer.h"
#include "fuzz/values.h"
#include "mlu_op_omp.h"

namespace mluop::fuzz {
namespace {

using Sizes = reference::VoxelPoolingBackwardSizes;

Sizes decode_sizes(Decoder& decoder) {
  Sizes sizes = {decoder.number(1, 4), decoder.number(1, 400), decoder.number(1, 160), decoder.number(1, 24),
                 decoder.number(1, 24)};
  const int64_t max_count = decode_max_count(decoder);
  limit_product({&sizes.batch_size, &sizes.num_points, &sizes.num_channels}, max_count);
  limit_product({&sizes.batch_size, &sizes.num_voxel_x, &sizes.num_voxel_y, &sizes.num_channels}, max_count);
  return sizes;
}

// T: uint16_t for half, uint32_t for float; elements are bit patterns.
template <class T>
class Fuzzer : public OperatorFuzzer {
 public:
  explicit Fuzzer(Decoder& bytes)
      : OperatorFuzzer(bytes, "mluOpOmpVoxelPoolingBackward", {MLUOP_STATUS_ARCH_MISMATCH}),
        sizes_(decode_sizes(bytes)),
        grad_output_(
            input({.dtype = kDtype,
                   .dims = {sizes_.batch_size, sizes_.num_voxel_y, sizes_.num_voxel_x, sizes_.num_channels},
                   .free_dims = 2 | 4})),
        memo_(input({MLUOP_DTYPE_INT32, {sizes_.batch_size, sizes_.num_points, 3}})),
        grad_input_(output({kDtype, {sizes_.batch_size, sizes_.num_points, sizes_.num_channels}})) {
    Values values(decoder(), true);
    for (size_t i = 0; i < grad_output_.count(); ++i) {
      grad_output_.template data<T>()[i] = static_cast<T>(values.bits());
    }
    // In 16 points, `none` have no cell, and `repeated` have that of the point before.
    const int64_t none = decoder().number(0, 16), repeated = decoder().number(0, 16);
    auto* memo = memo_.data<int32_t>();
    for (int64_t point = 0; point < sizes_.points(); ++point, memo += 3) {
      if (values.below(16) < none) {
        std::fill_n(memo, 3, -1);
      } else if (point > 0 && values.below(16) < repeated) {
        std::copy_n(memo - 3, 3, memo);
      } else {
        for (int i = 0; i < 3; ++i) memo[i] = static_cast<int32_t>(values.below(extents_[i]));
      }
    }
  }

 private:
  static constexpr mluOpDataType_t kDtype = sizeof(T) == 2 ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT;

  mluOpStatus_t execute(mluOpHandle_t handle) override {
    return mluOpOmpVoxelPoolingBackward(handle, grad_output_.desc(), grad_output_.pointer(), memo_.desc(),
                                        memo_.pointer(), grad_input_.desc(), grad_input_.pointer());
  }

  mluOpStatus_t status_of_valid_call() const override {
    return settings().is_200_series() ? MLUOP_STATUS_ARCH_MISMATCH : MLUOP_STATUS_SUCCESS;
  }

  // A value out of range, or one that the other values of its point exclude.
  Fault apply_own_fault() override {
    const size_t at = decoder().index(memo_.count());
    const auto any = static_cast<int32_t>(decoder().flag() ? decoder().any_number() : decoder().number(-2, 24));
    int32_t* const memo = memo_.data<int32_t>() + at / 3 * 3;
    std::copy_n(memo, 3, replaced_);
    memo[at % 3] = any;
    changed_ = memo;
    const bool is_none = std::all_of(memo, memo + 3, [](int32_t value) { return value == -1; });
    bool is_cell = true;
    for (int i = 0; i < 3; ++i) is_cell = is_cell && memo[i] >= 0 && memo[i] < extents_[i];
    if (!is_none && !is_cell) return Fault::kHarmful;
    undo_own_fault();
    return Fault::kNone;
  }
  void undo_own_fault() override {
    if (changed_ != nullptr) std::copy_n(replaced_, 3, changed_);
    changed_ = nullptr;
  }

  void check_result() override {
    std::vector<T> expected(grad_input_.count());
    reference::voxel_pooling_backward(sizes_, grad_output_.template data<T>(), memo_.data<int32_t>(),
                                      expected.data());
    check(std::equal(expected.begin(), expected.end(), grad_input_.template data<T>()),
          "grad_input_features is wrong");
  }

  Sizes sizes_;
  int64_t extents_[3] = {sizes_.batch_size, sizes_.num_voxel_y, sizes_.num_voxel_x};
  Tensor &grad_output_, &memo_, &grad_input_;
  int32_t* changed_ = nullptr;
  int32_t replaced_[3];
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
