// Fuzzer of mluOpThreeNNForward and its workspace query.
#include "reference/three_nn_forward.h"

#include "fuzz/fuzzer.h"
#include "fuzz/operator_fuzzer.h"
#include "fuzz/same_bits.h"
#include "fuzz/values.h"

namespace mluop::fuzz {
namespace {

using Sizes = reference::ThreeNNForwardSizes;

// One call in 16 searches a tree, which takes 1024 known points. Few pairs, so that an execution is fast; one call
// in 16 has enough for several tasks.
Sizes decode_sizes(Decoder& decoder) {
  const bool tree = decoder.one_in(16), several_tasks = decoder.one_in(16);
  Sizes sizes{decoder.number(1, 3), decoder.number(1, several_tasks ? 300 : 60),
              tree ? decoder.number(1020, 1100) : decoder.number(0, several_tasks ? 100 : 60)};
  if (tree) sizes.B = 1;
  const int64_t max_pairs = several_tasks ? (tree ? 72 << 10 : 20 << 10) : (tree ? 1 << 12 : 1 << 9);
  limit_product({&sizes.B, &sizes.N}, std::max<int64_t>(max_pairs / (sizes.M + 1), 1));
  return sizes;
}

// T: float or Half.
template <class T>
class Fuzzer : public OperatorFuzzer {
 public:
  explicit Fuzzer(Decoder& bytes)
      : OperatorFuzzer(bytes, "mluOpThreeNNForward", {}),
        sizes_(decode_sizes(bytes)),
        unknown_(input({.dtype = test::kDtype<T>, .dims = {sizes_.B, sizes_.N, 3}, .any_layout = true})),
        known_(input(
            {.dtype = test::kDtype<T>, .dims = {sizes_.B, sizes_.M, 3}, .any_layout = true, .free_dims = 2})),
        dist2_(output({.dtype = test::kDtype<T>, .dims = {sizes_.B, sizes_.N, 3}, .any_layout = true})),
        idx_(output({.dtype = MLUOP_DTYPE_INT32, .dims = {sizes_.B, sizes_.N, 3}, .any_layout = true})) {
    Values values(decoder(), true);
    values.fill(unknown_.template data<T>(), unknown_.count());
    values.fill(known_.template data<T>(), known_.count());
    // Points that repeat, and queries at known points.
    const size_t distinct = decoder().flag() ? known_.count() : decoder().index(known_.count() + 1) / 3 * 3;
    if (distinct == 0) return;
    for (size_t i = distinct; i < known_.count(); ++i) {
      known_.template data<T>()[i] = known_.template data<T>()[i - distinct];
    }
    if (decoder().flag()) {
      std::copy_n(known_.template data<T>(), std::min(distinct, unknown_.count()), unknown_.template data<T>());
    }
  }

 private:
  mluOpStatus_t execute(mluOpHandle_t handle) override {
    return mluOpThreeNNForward(handle, unknown_.desc(), unknown_.pointer(), known_.desc(), known_.pointer(),
                               workspace(), workspace_size(), dist2_.desc(), dist2_.pointer(), idx_.desc(),
                               idx_.pointer());
  }
  std::optional<mluOpStatus_t> query(mluOpHandle_t handle, size_t* bytes) override {
    return mluOpGetThreeNNForwardWorkspaceSize(handle, known_.desc(), bytes);
  }
  bool query_checks_descs() const override { return false; }

  void check_result() override {
    std::vector<T> dist2(dist2_.count());
    std::vector<int32_t> idx(idx_.count());
    reference::three_nn_forward(sizes_, unknown_.template data<T>(), known_.template data<T>(), dist2.data(),
                                idx.data());
    check(same_bits(dist2_.template data<T>(), dist2), "dist2 is not that of the serial loop");
    check(std::equal(idx.begin(), idx.end(), idx_.data<int32_t>()), "idx is not that of the serial loop");
  }

  Sizes sizes_;
  Tensor &unknown_, &known_, &dist2_, &idx_;
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
