// Fuzzer of mluOpThreeInterpolateForward.
#include "reference/three_interpolate_forward.h"

#include "fuzz/fuzzer.h"
#include "fuzz/operator_fuzzer.h"
#include "fuzz/same_bits.h"
#include "fuzz/values.h"

namespace mluop::fuzz {
namespace {

using Sizes = reference::ThreeInterpolateForwardSizes;

Sizes decode_sizes(Decoder& decoder) {
  Sizes sizes{decoder.number(1, 4), decoder.number(1, 100), decoder.number(1, 600), decoder.number(1, 600)};
  const int64_t max_count = decode_max_count(decoder);
  limit_product({&sizes.B, &sizes.C, &sizes.M}, max_count);
  limit_product({&sizes.B, &sizes.C, &sizes.N}, max_count);
  return sizes;
}

// T: float or Half.
template <class T>
class Fuzzer : public OperatorFuzzer {
 public:
  explicit Fuzzer(Decoder& bytes)
      : OperatorFuzzer(bytes, "mluOpThreeInterpolateForward", {}),
        sizes_(decode_sizes(bytes)),
        features_(input({.dtype = test::kDtype<T>, .dims = {sizes_.B, sizes_.C, sizes_.M}, .free_dims = 4})),
        indices_(input({MLUOP_DTYPE_INT32, {sizes_.B, sizes_.N, 3}})),
        weights_(input({test::kDtype<T>, {sizes_.B, sizes_.N, 3}})),
        output_(output({test::kDtype<T>, {sizes_.B, sizes_.C, sizes_.N}})) {
    Values values(decoder(), true);
    values.fill(features_.template data<T>(), features_.count());
    values.fill(weights_.template data<T>(), weights_.count());
    // Few different features, or all.
    const int64_t features = decoder().flag() ? sizes_.M : decoder().number(1, sizes_.M);
    for (size_t i = 0; i < indices_.count(); ++i) {
      indices_.data<int32_t>()[i] = static_cast<int32_t>(values.below(features));
    }
  }

 private:
  mluOpStatus_t execute(mluOpHandle_t handle) override {
    return mluOpThreeInterpolateForward(handle, features_.desc(), features_.pointer(), indices_.desc(),
                                        indices_.pointer(), weights_.desc(), weights_.pointer(), output_.desc(),
                                        output_.pointer());
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
    std::vector<T> expected(output_.count());
    reference::three_interpolate_forward(sizes_, features_.template data<T>(), indices_.data<int32_t>(),
                                         weights_.template data<T>(), expected.data());
    check(same_bits(output_.template data<T>(), expected), "output is not that of the serial loop");
  }

  Sizes sizes_;
  Tensor &features_, &indices_, &weights_, &output_;
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
