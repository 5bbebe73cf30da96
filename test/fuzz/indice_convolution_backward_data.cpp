// Fuzzer of mluOpIndiceConvolutionBackwardData and its workspace query.
#include <algorithm>
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

struct FilterFormat {
  mluOpTensorLayout_t layout;
  int dim_count;
};

constexpr FilterFormat kFormats[] = {{MLUOP_LAYOUT_NDHWC, 5}, {MLUOP_LAYOUT_NCDHW, 5}, {MLUOP_LAYOUT_ARRAY, 5},
                                     {MLUOP_LAYOUT_NHWC, 4},  {MLUOP_LAYOUT_NCHW, 4},  {MLUOP_LAYOUT_HWCN, 4},
                                     {MLUOP_LAYOUT_ARRAY, 4}};

Sizes decode_sizes(Decoder& decoder, const FilterFormat& format) {
  Sizes sizes = decode_convolution_sizes(decoder);
  if (format.dim_count == 4) sizes.D = 1;
  if (decoder.flag()) sizes.num_act_out = std::min(sizes.num_act_in, sizes.num_act_out);
  if (decoder.flag()) sizes.num_act_in = sizes.num_act_out = std::min(sizes.num_act_in, sizes.num_act_out);
  return sizes;
}

TensorFormat filters_format(mluOpDataType_t dtype, const Sizes& s, const FilterFormat& format) {
  TensorFormat filters{.dtype = dtype, .dims = {}, .layout = format.layout};
  // Each is a valid layout of filters with other dimensions; of ARRAY, with another number of them.
  for (const FilterFormat& other : kFormats) {
    if (other.dim_count == format.dim_count) filters.free_layouts |= 1U << other.layout;
  }
  filters.free_dim_count = format.layout == MLUOP_LAYOUT_ARRAY;
  switch (format.layout) {
    case MLUOP_LAYOUT_NDHWC: filters.dims = {s.Co, s.D, s.H, s.W, s.Ci}; break;
    case MLUOP_LAYOUT_NCDHW: filters.dims = {s.Co, s.Ci, s.D, s.H, s.W}; break;
    case MLUOP_LAYOUT_NHWC: filters.dims = {s.Co, s.H, s.W, s.Ci}; break;
    case MLUOP_LAYOUT_NCHW: filters.dims = {s.Co, s.Ci, s.H, s.W}; break;
    default: filters.dims = {s.H, s.W, s.Ci, s.Co};
  }
  if (format.layout == MLUOP_LAYOUT_ARRAY && format.dim_count == 5) filters.dims.insert(filters.dims.begin(), s.D);
  return filters;
}

// T: float or Half.
template <class T>
class Fuzzer : public OperatorFuzzer {
 public:
  Fuzzer(Decoder& bytes, const FilterFormat& format)
      : OperatorFuzzer(bytes, "mluOpIndiceConvolutionBackwardData",
                       {MLUOP_STATUS_ARCH_MISMATCH, MLUOP_STATUS_NOT_SUPPORTED}),
        format_(format),
        sizes_(decode_sizes(bytes, format)),
        // Only output_grad states its rows.
        output_grad_(input({.dtype = test::kDtype<T>, .dims = {sizes_.num_act_out, sizes_.Co}, .free_dims = 1})),
        filters_(input(filters_format(test::kDtype<T>, sizes_, format))),
        pairs_(input({MLUOP_DTYPE_INT32, {sizes_.K(), 2, sizes_.num_act_in}})),
        input_grad_(output({test::kDtype<T>, {sizes_.num_act_in, sizes_.Ci}})),
        index_pairs_(bytes, sizes_, pairs_, sizes_.num_act_in) {
    Values values(decoder(), false);
    values.fill(output_grad_.template data<T>(), output_grad_.count());
    values.fill(filters_.template data<T>(), filters_.count());
    index_pairs_.fill(values);
    undo_own_fault();
  }

 private:
  mluOpStatus_t execute(mluOpHandle_t handle) override {
    index_pairs_.store();
    const mluOpStatus_t status = mluOpIndiceConvolutionBackwardData(
        handle, output_grad_.desc(), output_grad_.pointer(), filters_.desc(), filters_.pointer(), pairs_.desc(),
        pairs_.pointer(), index_pairs_.indice_num(), inverse_, sub_m_, workspace(), workspace_size(),
        input_grad_.desc(), input_grad_.pointer());
    index_pairs_.check_unchanged();
    return status;
  }
  std::optional<mluOpStatus_t> query(mluOpHandle_t handle, size_t* bytes) override {
    return mluOpGetIndiceConvolutionBackwardDataWorkspaceSize(handle, output_grad_.desc(), filters_.desc(),
                                                              pairs_.desc(), input_grad_.desc(),
                                                              index_pairs_.indice_num(), inverse_, bytes);
  }
  mluOpStatus_t status_of_valid_call() const override {
    return settings().is_200_series() ? MLUOP_STATUS_ARCH_MISMATCH : MLUOP_STATUS_SUCCESS;
  }
  bool reads_nothing() const override { return sizes_.num_act_in == 0 || sizes_.num_act_out == 0; }

  bool is_submanifold() const {
    const int64_t *first = index_pairs_.counts(), *last = first + sizes_.K();
    return reads_nothing() || (sizes_.num_act_in == sizes_.num_act_out && sizes_.K() % 2 == 1 &&
                               first[sizes_.K() / 2] == *std::max_element(first, last));
  }

  Fault apply_own_fault() override {
    const int64_t any = decoder().flag() ? decoder().any_number() : decoder().number(-1, 300);
    switch (decoder().number(0, 4)) {
      case 0: inverse_ = any; return any == 0 ? Fault::kNone : Fault::kHarmful;
      case 1:
        sub_m_ = decoder().flag() ? 1 : any;
        return sub_m_ == 0 || (sub_m_ == 1 && is_submanifold()) ? Fault::kHarmless : Fault::kHarmful;
      case 2: return index_pairs_.remove_counts();
      case 3: return index_pairs_.change_count(any);
      default: return index_pairs_.change_index(static_cast<int32_t>(any));
    }
  }

  void undo_own_fault() override {
    inverse_ = sub_m_ = 0;
    index_pairs_.undo();
  }

  // Filters as [K, Ci, Co].
  template <class U>
  std::vector<U> matrices(const U* filters) const {
    std::vector<U> all(filters_.count());
    const auto [N, M, Ci, Co, D, H, W] = sizes_;
    const int64_t K = sizes_.K();
    for (int64_t k = 0; k < K; ++k) {
      for (int64_t ci = 0; ci < Ci; ++ci) {
        for (int64_t co = 0; co < Co; ++co) {
          int64_t from = (k * Ci + ci) * Co + co;
          if (format_.layout == MLUOP_LAYOUT_NDHWC || format_.layout == MLUOP_LAYOUT_NHWC) {
            from = (co * K + k) * Ci + ci;
          } else if (format_.layout == MLUOP_LAYOUT_NCDHW || format_.layout == MLUOP_LAYOUT_NCHW) {
            from = (co * Ci + ci) * K + k;
          }
          all[static_cast<size_t>((k * Ci + ci) * Co + co)] = filters[from];
        }
      }
    }
    return all;
  }

  void check_result() override {
    if (sums_.empty()) {
      run_reference(output_grad_.template data<T>(), filters_.template data<T>(), sums_);
      run_reference(magnitudes_of<T>(output_grad_).data(), magnitudes_of<T>(filters_).data(), magnitudes_);
    }
    for (size_t i = 0; i < sums_.size(); ++i) {
      check(is_sum(test::to_f32(input_grad_.template data<T>()[i]), {sums_[i], magnitudes_[i]},
                   sizes_.K() * sizes_.num_act_in * sizes_.Co, sizeof(T) == 2),
            "input_grad is wrong at ", std::to_string(i));
    }
  }

  template <class U>
  void run_reference(const U* output_grad, const U* filters, std::vector<double>& sums) const {
    sums.assign(input_grad_.count(), 0.0);
    if (reads_nothing()) return;
    reference::indice_convolution_backward_data(sizes_, output_grad, matrices(filters).data(),
                                                pairs_.data<int32_t>(), index_pairs_.counts(), sums.data());
  }

  FilterFormat format_;
  Sizes sizes_;
  Tensor &output_grad_, &filters_, &pairs_, &input_grad_;
  IndexPairs index_pairs_;
  int64_t inverse_ = 0, sub_m_ = 0;
  std::vector<double> sums_, magnitudes_;
};

}  // namespace

void fuzz_one(Decoder& decoder) {
  const FilterFormat format = decoder.pick(kFormats);
  if (decoder.flag()) {
    Fuzzer<test::Half>(decoder, format).run();
  } else {
    Fuzzer<float>(decoder, format).run();
  }
}

}  // namespace mluop::fuzz
