// Fuzzer of mluOpIndiceConvolutionForward and its workspace query.
#include <cmath>

#include "fuzz/fuzzer.h"
#include "fuzz/operator_fuzzer.h"
#include "fuzz/sums.h"
#include "fuzz/values.h"
#include "reference/indice_convolution_forward.h"

namespace mluop::fuzz {
namespace {

using reference::FilterLayout;
using Sizes = reference::IndiceConvolutionForwardSizes;

Sizes decode_sizes(Decoder& decoder) {
  Sizes s{decoder.number(0, 200), decoder.number(0, 200), decoder.number(1, 64), decoder.number(1, 96),
          decoder.number(1, 3),   decoder.number(1, 3),   decoder.number(1, 3)};
  const int64_t max_count = decode_max_count(decoder);
  limit_product({&s.Ci, &s.Co, &s.D, &s.H, &s.W}, max_count);
  limit_product({&s.num_act_in, &s.Ci}, max_count / 2);
  limit_product({&s.num_act_out, &s.Co}, max_count / 2);
  // Of multiplications.
  limit_product({&s.num_act_in, &s.Ci, &s.Co, &s.D, &s.H, &s.W}, 8 * max_count);
  return s;
}

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
        sizes_(decode_sizes(bytes)),
        layout_(layout),
        features_(input({test::kDtype<T>, {sizes_.num_act_in, sizes_.Ci}})),
        filters_(input(filters_format(test::kDtype<T>, sizes_, layout))),
        pairs_(input({MLUOP_DTYPE_INT32, {sizes_.K(), 2, sizes_.num_act_in}})),
        features_out_(output({test::kDtype<T>, {sizes_.num_act_out, sizes_.Co}})),
        counts_(static_cast<size_t>(sizes_.K()) * sizeof(int64_t), sizeof(int64_t), decode_place(bytes)) {
    Values values(decoder(), false);
    values.fill(features_.template data<T>(), features_.count());
    values.fill(filters_.template data<T>(), filters_.count());
    fill_pairs(values);
    undo_own_fault();
  }

 private:
  mluOpStatus_t execute(mluOpHandle_t handle) override {
    counts_.store();
    const mluOpStatus_t status = mluOpIndiceConvolutionForward(
        handle, features_.desc(), features_.pointer(), filters_.desc(), filters_.pointer(), pairs_.desc(),
        pairs_.pointer(), indice_num_, num_act_out_, inverse_, sub_m_, workspace(), workspace_size(),
        features_out_.desc(), features_out_.pointer());
    check(counts_.intact() && counts_.is_as_stored(), "indice_num has changed");
    return status;
  }
  std::optional<mluOpStatus_t> query(mluOpHandle_t handle, size_t* bytes) override {
    return mluOpGetIndiceConvolutionForwardWorkspaceSize(handle, features_.desc(), filters_.desc(), pairs_.desc(),
                                                         features_out_.desc(), indice_num_, num_act_out_, inverse_,
                                                         sub_m_, bytes);
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
      case 3: indice_num_ = nullptr; return Fault::kHarmful;
      case 4: {
        if (0 <= any && any <= sizes_.num_act_in) return Fault::kNone;
        bad_count_ = counts_.as<int64_t>() + decoder().index(static_cast<size_t>(sizes_.K()));
        original_count_ = std::exchange(*bad_count_, any);
        return Fault::kHarmful;
      }
      default: return apply_bad_index(static_cast<int32_t>(any));
    }
  }

  // An index that is too large, of a pair whose other index is not negative.
  Fault apply_bad_index(int32_t index) {
    const auto k = static_cast<int64_t>(decoder().index(static_cast<size_t>(sizes_.K())));
    const int64_t count = counts_.as<int64_t>()[k];
    if (reads_nothing() || count == 0) return Fault::kNone;
    const bool is_output = decoder().flag();
    const int64_t at = decoder().number(0, count - 1) + k * 2 * sizes_.num_act_in;
    int32_t* pairs = pairs_.data<int32_t>();
    int32_t& bad = pairs[is_output ? at + sizes_.num_act_in : at];
    const int32_t other = pairs[is_output ? at : at + sizes_.num_act_in];
    if (other < 0 || index < (is_output ? sizes_.num_act_out : sizes_.num_act_in)) return Fault::kNone;
    bad_index_ = &bad;
    original_index_ = std::exchange(bad, index);
    return Fault::kHarmful;
  }

  void undo_own_fault() override {
    num_act_out_ = sizes_.num_act_out;
    inverse_ = sub_m_ = 0;
    indice_num_ = counts_.as<int64_t>();
    if (bad_count_ != nullptr) *std::exchange(bad_count_, nullptr) = original_count_;
    if (bad_index_ != nullptr) *std::exchange(bad_index_, nullptr) = original_index_;
  }

  void fill_pairs(Values& values) {
    const int64_t N = sizes_.num_act_in, M = sizes_.num_act_out;
    // Of 16 indices, so many are negative. Of 16 offsets, so many have the largest number of pairs.
    const int64_t negative = decoder().number(0, 4), full = decoder().number(0, 16);
    for (int64_t k = 0; k < sizes_.K(); ++k) {
      const int64_t count = values.below(16) < full ? N : values.between(0, N);
      counts_.as<int64_t>()[k] = count;
      int32_t* inputs = pairs_.data<int32_t>() + k * 2 * N;
      for (int64_t l = 0; l < 2 * N; ++l) {
        const int64_t rows = l < N ? N : M;
        // Indices past the last pair are not read.
        const bool any = l % N >= count || rows == 0 || values.below(16) < negative;
        inputs[l] =
            static_cast<int32_t>(any ? values.bits() | 1U << 31 : static_cast<uint64_t>(values.below(rows)));
        if (l % N >= count) inputs[l] = static_cast<int32_t>(values.bits());
      }
    }
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
                                          counts_.as<int64_t>(), 0, sizes_.Co, sums.data());
  }

  Sizes sizes_;
  FilterLayout layout_;
  Tensor &features_, &filters_, &pairs_, &features_out_;
  Buffer counts_;
  const int64_t* indice_num_ = nullptr;
  int64_t num_act_out_ = 0, inverse_ = 0, sub_m_ = 0;
  int64_t* bad_count_ = nullptr;
  int64_t original_count_ = 0;
  int32_t* bad_index_ = nullptr;
  int32_t original_index_ = 0;
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
