// Fuzzer of mluOpIndiceConvolutionForward and its workspace query.
#include <cmath>

#include "fuzz/fuzzer.h"
#include "fuzz/index_pairs.h"
#include "fuzz/operator_fuzzer.h"
#include "support/sums.h"
#include "fuzz/values.h"
#include "reference/indice_convolution_forward.h"

namespace mluop::fuzz {
namespace {

using reference::FilterLayout;
using Sizes = reference::IndiceConvolutionForwardSizes;

TensorFormat filters_format(mluOpDataType_t dtype, const Sizes& s, FilterLayout layout) {
  // Each is a valid layout of filters with other dimensions.
  const unsigned free = 1U << MLUOP_LAYOUT_NDHWC | 1U << MLUOP_LAYOUT_NCDHW | 1U << MLUOP_LAYOUT_ARRAY;
  TensorFormat format{.dtype = dtype, .dims = {s.Co, s.D, s.H, s.W, s.Ci}, .free_layouts = free};
  format.layout = MLUOP_LAYOUT_NDHWC;
  if (layout == FilterLayout::kNcdhw) {
    format.dims = {s.Co, s.Ci, s.D, s.H, s.W};
    format.layout = MLUOP_LAYOUT_NCDHW;
  } else if (layout == FilterLayout::kArray) {
    format.dims = {s.D, s.H, s.W, s.Ci, s.Co};
    format.layout = MLUOP_LAYOUT_ARRAY;
  }
  return format;
}

// T: float or Half.
template <class T>
class Fuzzer : public OperatorFuzzer {
 public:
  Fuzzer(Decoder& bytes, FilterLayout layout)
      : OperatorFuzzer(bytes, "mluOpIndiceConvolutionForward", {MLUOP_STATUS_ARCH_MISMATCH}),
        sizes_(decode_convolution_sizes(bytes)),
        layout_(layout),
        features_(input({test::kDtype<T>, {sizes_.num_act_in, sizes_.Ci}})),
        filters_(input(filters_format(test::kDtype<T>, sizes_, layout))),
        pairs_(input({MLUOP_DTYPE_INT32, {sizes_.K(), 2, sizes_.num_act_in}})),
        features_out_(output({test::kDtype<T>, {sizes_.num_act_out, sizes_.Co}})),
        index_pairs_(bytes, sizes_, pairs_, sizes_.num_act_in) {
    Values values(decoder(), false);
    values.fill(features_.template data<T>(), features_.count());
    values.fill(filters_.template data<T>(), filters_.count());
    index_pairs_.fill(values);
    undo_own_fault();
  }

 private:
  mluOpStatus_t execute(mluOpHandle_t handle) override {
    index_pairs_.store();
    const mluOpStatus_t status = mluOpIndiceConvolutionForward(
        handle, features_.desc(), features_.pointer(), filters_.desc(), filters_.pointer(), pairs_.desc(),
        pairs_.pointer(), index_pairs_.indice_num(), num_act_out_, inverse_, sub_m_, workspace(), workspace_size(),
        features_out_.desc(), features_out_.pointer());
    index_pairs_.check_unchanged();
    return status;
  }
  std::optional<mluOpStatus_t> query(mluOpHandle_t handle, size_t* bytes) override {
    return mluOpGetIndiceConvolutionForwardWorkspaceSize(handle, features_.desc(), filters_.desc(), pairs_.desc(),
                                                         features_out_.desc(), index_pairs_.indice_num(),
                                                         num_act_out_, inverse_, sub_m_, bytes);
  }
  mluOpStatus_t status_of_valid_call() const override {
    return settings().is_200_series() ? MLUOP_STATUS_ARCH_MISMATCH : MLUOP_STATUS_SUCCESS;
  }
  bool device_is_deterministic() const override { return false; }
  bool reads_nothing() const override { return sizes_.num_act_in == 0 || sizes_.num_act_out == 0; }

  Fault apply_own_fault() override {
    const int64_t any = decoder().flag() ? decoder().any_number() : decoder().number(-1, 300);
    switch (decoder().number(0, 5)) {
      case 0: num_act_out_ = any; return any == sizes_.num_act_out ? Fault::kNone : Fault::kHarmful;
      case 1: inverse_ = any; return any == 0 ? Fault::kNone : Fault::kHarmful;
      case 2: sub_m_ = any; return any == 0 || any == 1 ? Fault::kHarmless : Fault::kHarmful;
      case 3: return index_pairs_.remove_counts();
      case 4: return index_pairs_.change_count(any);
      default: return index_pairs_.change_index(static_cast<int32_t>(any));
    }
  }

  void undo_own_fault() override {
    num_act_out_ = sizes_.num_act_out;
    inverse_ = sub_m_ = 0;
    index_pairs_.undo();
  }

  void check_result() override {
    if (sums_.empty()) {
      run_reference(features_.template data<T>(), filters_.template data<T>(), sums_);
      run_reference(magnitudes_of<T>(features_).data(), magnitudes_of<T>(filters_).data(), magnitudes_);
    }
    for (size_t i = 0; i < sums_.size(); ++i) {
      check(is_sum(test::to_f32(features_out_.template data<T>()[i]), {sums_[i], magnitudes_[i]},
                   sizes_.K() * sizes_.num_act_in * sizes_.Ci, sizeof(T) == 2),
            "features_out is wrong at ", std::to_string(i));
    }
  }

  template <class U>
  void run_reference(const U* features, const U* filters, std::vector<double>& sums) const {
    sums.assign(features_out_.count(), 0.0);
    if (reads_nothing()) return;
    reference::indice_convolution_forward(sizes_, features, layout_, filters, pairs_.data<int32_t>(),
                                          index_pairs_.counts(), 0, sizes_.Co, sums.data());
  }

  Sizes sizes_;
  FilterLayout layout_;
  Tensor &features_, &filters_, &pairs_, &features_out_;
  IndexPairs index_pairs_;
  int64_t num_act_out_ = 0, inverse_ = 0, sub_m_ = 0;
  std::vector<double> sums_, magnitudes_;
};

}  // namespace

void fuzz_one(Decoder& decoder) {
  constexpr FilterLayout kLayouts[] = {FilterLayout::kNdhwc, FilterLayout::kNcdhw, FilterLayout::kArray};
  const FilterLayout layout = decoder.pick(kLayouts);
  if (decoder.flag()) {
    Fuzzer<test::Half>(decoder, layout).run();
  } else {
    Fuzzer<float>(decoder, layout).run();
  }
}

}  // namespace mluop::fuzz
