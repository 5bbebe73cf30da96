// Fuzzer of mluOpIndiceConvolutionBackwardFilter and its workspace query.
#include <cmath>

#include "fuzz/fuzzer.h"
#include "fuzz/index_pairs.h"
#include "fuzz/operator_fuzzer.h"
#include "support/sums.h"
#include "fuzz/values.h"
#include "reference/indice_convolution_backward.h"

namespace mluop::fuzz {
namespace {

using Sizes = reference::IndiceConvolutionForwardSizes;

// Dimensions are read by their position; 4 or 5 of them may state the same.
TensorFormat filters_format(mluOpDataType_t dtype, const Sizes& s, bool four_dims) {
  TensorFormat format{.dtype = dtype, .dims = {s.H, s.W, s.Ci, s.Co}, .any_layout = true, .free_dim_count = true};
  if (!four_dims) format.dims.insert(format.dims.begin(), s.D);
  return format;
}

// The sizes of a problem, with more pairs of fewer channels for the segments of the reduction. Few matrices are so
// large that segments have partial sums of their own.
Sizes decode_sizes(Decoder& decoder, bool four_dims) {
  Sizes sizes = decode_convolution_sizes(decoder);
  if (four_dims) sizes.D = 1;
  if (decoder.one_in(16)) {
    sizes.num_act_in = decoder.number(1000, 2100);
    const int64_t max_channels = decoder.one_in(4) ? 16 : 4;
    sizes.Ci = 1 + sizes.Ci % max_channels;
    sizes.Co = 1 + sizes.Co % max_channels;
    sizes.D = sizes.H = 1;
  }
  return sizes;
}

// T: float or Half.
template <class T>
class Fuzzer : public OperatorFuzzer {
 public:
  Fuzzer(Decoder& bytes, bool four_dims)
      : OperatorFuzzer(bytes, "mluOpIndiceConvolutionBackwardFilter",
                       {MLUOP_STATUS_ARCH_MISMATCH, MLUOP_STATUS_NOT_SUPPORTED}),
        sizes_(decode_sizes(bytes, four_dims)),
        features_(input({test::kDtype<T>, {sizes_.num_act_in, sizes_.Ci}})),
        // Only output_grad states its rows.
        output_grad_(input({.dtype = test::kDtype<T>, .dims = {sizes_.num_act_out, sizes_.Co}, .free_dims = 1})),
        pairs_(input({MLUOP_DTYPE_INT32, {sizes_.K(), 2, sizes_.num_act_in}})),
        filters_grad_(output(filters_format(test::kDtype<T>, sizes_, four_dims))),
        index_pairs_(bytes, sizes_, pairs_, sizes_.num_act_in) {
    Values values(decoder(), false);
    values.fill(features_.template data<T>(), features_.count());
    values.fill(output_grad_.template data<T>(), output_grad_.count());
    index_pairs_.fill(values);
    undo_own_fault();
  }

 private:
  mluOpStatus_t execute(mluOpHandle_t handle) override {
    index_pairs_.store();
    const mluOpStatus_t status = mluOpIndiceConvolutionBackwardFilter(
        handle, features_.desc(), features_.pointer(), output_grad_.desc(), output_grad_.pointer(), pairs_.desc(),
        pairs_.pointer(), index_pairs_.indice_num(), inverse_, sub_m_, workspace(), workspace_size(),
        filters_grad_.desc(), filters_grad_.pointer());
    index_pairs_.check_unchanged();
    return status;
  }
  std::optional<mluOpStatus_t> query(mluOpHandle_t handle, size_t* bytes) override {
    return mluOpGetIndiceConvolutionBackwardFilterWorkspaceSize(
        handle, features_.desc(), output_grad_.desc(), pairs_.desc(), filters_grad_.desc(),
        index_pairs_.indice_num(), inverse_, sub_m_, bytes);
  }
  mluOpStatus_t status_of_valid_call() const override {
    return settings().is_200_series() ? MLUOP_STATUS_ARCH_MISMATCH : MLUOP_STATUS_SUCCESS;
  }
  bool reads_nothing() const override { return sizes_.num_act_in == 0 || sizes_.num_act_out == 0; }

  Fault apply_own_fault() override {
    const int64_t any = decoder().flag() ? decoder().any_number() : decoder().number(-1, 300);
    switch (decoder().number(0, 4)) {
      case 0: inverse_ = any; return any == 0 ? Fault::kNone : Fault::kHarmful;
      case 1: sub_m_ = any; return Fault::kHarmless;
      case 2: return index_pairs_.remove_counts();
      case 3: return index_pairs_.change_count(any);
      default: return index_pairs_.change_index(static_cast<int32_t>(any));
    }
  }

  void undo_own_fault() override {
    inverse_ = sub_m_ = 0;
    index_pairs_.undo();
  }

  void check_result() override {
    if (sums_.empty()) {
      run_reference(features_.template data<T>(), output_grad_.template data<T>(), sums_);
      run_reference(magnitudes_of<T>(features_).data(), magnitudes_of<T>(output_grad_).data(), magnitudes_);
    }
    for (size_t i = 0; i < sums_.size(); ++i) {
      check(is_sum(test::to_f32(filters_grad_.template data<T>()[i]), {sums_[i], magnitudes_[i]},
                   sizes_.num_act_in, sizeof(T) == 2),
            "filters_grad is wrong at ", std::to_string(i));
    }
  }

  template <class U>
  void run_reference(const U* features, const U* output_grad, std::vector<double>& sums) const {
    sums.assign(filters_grad_.count(), 0.0);
    if (reads_nothing()) return;
    reference::indice_convolution_backward_filter(sizes_, features, output_grad, pairs_.data<int32_t>(),
                                                  index_pairs_.counts(), sums.data());
  }

  Sizes sizes_;
  Tensor &features_, &output_grad_, &pairs_, &filters_grad_;
  IndexPairs index_pairs_;
  int64_t inverse_ = 0, sub_m_ = 0;
  std::vector<double> sums_, magnitudes_;
};

}  // namespace

void fuzz_one(Decoder& decoder) {
  const bool four_dims = decoder.flag();
  if (decoder.flag()) {
    Fuzzer<test::Half>(decoder, four_dims).run();
  } else {
    Fuzzer<float>(decoder, four_dims).run();
  }
}

}  // namespace mluop::fuzz
