// Fuzzer of mluOpThreeInterpolateBackward.
#include <cmath>

#include "fuzz/fuzzer.h"
#include "fuzz/operator_fuzzer.h"
#include "fuzz/same_bits.h"
#include "support/sums.h"
#include "fuzz/values.h"
#include "reference/three_interpolate_backward.h"

namespace mluop::fuzz {
namespace {

using Sizes = reference::ThreeInterpolateBackwardSizes;

Sizes decode_sizes(Decoder& decoder) {
  Sizes sizes{decoder.number(1, 4), decoder.number(1, 100), decoder.number(1, 300), decoder.number(1, 600)};
  const int64_t max_count = decode_max_count(decoder);
  limit_product({&sizes.B, &sizes.C, &sizes.N}, max_count);
  limit_product({&sizes.B, &sizes.C, &sizes.M}, max_count);
  return sizes;
}

// T: float or Half.
template <class T>
class Fuzzer : public OperatorFuzzer {
 public:
  explicit Fuzzer(Decoder& bytes)
      : OperatorFuzzer(bytes, "mluOpThreeInterpolateBackward", {}),
        sizes_(decode_sizes(bytes)),
        grad_output_(input({test::kDtype<T>, {sizes_.B, sizes_.C, sizes_.N}})),
        indices_(input({MLUOP_DTYPE_INT32, {sizes_.B, sizes_.N, 3}})),
        weights_(input({test::kDtype<T>, {sizes_.B, sizes_.N, 3}})),
        grad_features_(
            output({.dtype = test::kDtype<T>, .dims = {sizes_.B, sizes_.C, sizes_.M}, .free_dims = 4})) {
    Values values(decoder(), settings().is_native());
    values.fill(grad_output_.template data<T>(), grad_output_.count());
    values.fill(weights_.template data<T>(), weights_.count());
    // Few different features, or all.
    const int64_t features = decoder().flag() ? sizes_.M : decoder().number(1, sizes_.M);
    for (size_t i = 0; i < indices_.count(); ++i) {
      indices_.data<int32_t>()[i] = static_cast<int32_t>(values.below(features));
    }
  }

 private:
  mluOpStatus_t execute(mluOpHandle_t handle) override {
    return mluOpThreeInterpolateBackward(handle, grad_output_.desc(), grad_output_.pointer(), indices_.desc(),
                                         indices_.pointer(), weights_.desc(), weights_.pointer(),
                                         grad_features_.desc(), grad_features_.pointer());
  }

  // An index out of range.
  Fault apply_own_fault() override {
    bad_at_ = decoder().index(indices_.count());
    const auto any = static_cast<int32_t>(decoder().flag() ? decoder().any_number() : sizes_.M);
    if (0 <= any && any < sizes_.M) return Fault::kNone;
    replaced_ = std::exchange(indices_.data<int32_t>()[bad_at_], any);
    has_bad_ = true;
    return Fault::kHarmful;
  }
  void undo_own_fault() override {
    if (std::exchange(has_bad_, false)) indices_.data<int32_t>()[bad_at_] = replaced_;
  }

  void check_result() override {
    const T* output = grad_features_.template data<T>();
    if (settings().is_native()) {
      std::vector<T> expected(grad_features_.count());
      run_reference(grad_output_.template data<T>(), weights_.template data<T>(), expected.data());
      check(same_bits(output, expected), "grad_features is not that of the serial loop");
      return;
    }
    std::vector<double> sums(grad_features_.count()), magnitudes(grad_features_.count());
    run_reference(grad_output_.template data<T>(), weights_.template data<T>(), sums.data());
    run_reference(magnitudes_of<T>(grad_output_).data(), magnitudes_of<T>(weights_).data(), magnitudes.data());
    for (size_t i = 0; i < sums.size(); ++i) {
      check(is_sum(test::to_f32(output[i]), {sums[i], magnitudes[i]}, 3 * sizes_.N, sizeof(T) == 2),
            "grad_features is wrong at ", std::to_string(i));
    }
  }

  template <class U, class Sum>
  void run_reference(const U* grad_output, const U* weights, Sum* sums) const {
    reference::three_interpolate_backward(sizes_, grad_output, indices_.data<int32_t>(), weights, sums);
  }

  Sizes sizes_;
  Tensor &grad_output_, &indices_, &weights_, &grad_features_;
  bool has_bad_ = false;
  size_t bad_at_ = 0;
  int32_t replaced_ = 0;
};

}  // namespace

void fuzz_one(Decoder& decoder) {
  if (decoder.flag()) {
    Fuzzer<test::Half>(decoder).run();
  } else {
    Fuzzer<float>(decoder).run();
  }
}

}  // namespace mluop::fuzz
