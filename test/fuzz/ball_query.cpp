// Fuzzer of mluOpBallQuery.
#include "reference/ball_query.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "fuzz/fuzzer.h"
#include "fuzz/operator_fuzzer.h"
#include "fuzz/values.h"

namespace mluop::fuzz {
namespace {

using Problem = reference::BallQueryProblem;

float decode_radius(Decoder& decoder) {
  constexpr float kRadii[] = {0,        0.5F,     1,   0.25F,   2,
                              1.0e-20F, 1.0e-30F, 300, 1.0e20F, std::numeric_limits<float>::infinity()};
  return decoder.pick(kRadii);
}

// Few pairs, so that an execution is fast; one call in 16 has enough for several tasks.
Problem decode_problem(Decoder& decoder) {
  Problem problem{decoder.number(1, 3),  decoder.number(1, 60),  decoder.number(0, 300),
                  decoder.number(0, 40), decode_radius(decoder), decode_radius(decoder)};
  limit_product({&problem.B, &problem.M}, std::max<int64_t>(4 * decode_max_count(decoder) / (problem.N + 1), 1));
  return problem;
}

// T: float or Half.
template <class T>
class Fuzzer : public OperatorFuzzer {
 public:
  explicit Fuzzer(Decoder& bytes)
      : OperatorFuzzer(bytes, "mluOpBallQuery", {}),
        problem_(decode_problem(bytes)),
        new_xyz_(input({.dtype = test::kDtype<T>, .dims = {problem_.B, problem_.M, 3}, .any_layout = true})),
        xyz_(input(
            {.dtype = test::kDtype<T>, .dims = {problem_.B, problem_.N, 3}, .any_layout = true, .free_dims = 2})),
        idx_(output({.dtype = MLUOP_DTYPE_INT32,
                     .dims = {problem_.B, problem_.M, problem_.nsample},
                     .any_layout = true})) {
    Values values(decoder(), true);
    values.fill(new_xyz_.template data<T>(), new_xyz_.count());
    values.fill(xyz_.template data<T>(), xyz_.count());
    // Points that repeat, and centers at points.
    const size_t distinct = decoder().flag() ? xyz_.count() : decoder().index(xyz_.count() + 1) / 3 * 3;
    if (distinct == 0) return;
    for (size_t i = distinct; i < xyz_.count(); ++i) {
      xyz_.template data<T>()[i] = xyz_.template data<T>()[i - distinct];
    }
    if (decoder().flag()) {
      std::copy_n(xyz_.template data<T>(), std::min(distinct, new_xyz_.count()), new_xyz_.template data<T>());
    }
  }

 private:
  mluOpStatus_t execute(mluOpHandle_t handle) override {
    return mluOpBallQuery(handle, new_xyz_.desc(), new_xyz_.pointer(), xyz_.desc(), xyz_.pointer(),
                          problem_.min_radius, problem_.max_radius, nsample_, idx_.desc(), idx_.pointer());
  }
  bool reads_nothing() const override { return problem_.N == 0 || problem_.nsample == 0; }

  // An invalid radius, or another number of samples.
  Fault apply_own_fault() override {
    constexpr float kBad[] = {-1, std::numeric_limits<float>::quiet_NaN(),
                              -std::numeric_limits<float>::infinity()};
    if (decoder().flag()) {
      (decoder().flag() ? problem_.min_radius : problem_.max_radius) = decoder().pick(kBad);
      return Fault::kHarmful;
    }
    nsample_ = static_cast<int>(decoder().any_number());
    return nsample_ == problem_.nsample ? Fault::kNone : Fault::kHarmful;
  }
  void undo_own_fault() override {
    std::tie(problem_.min_radius, problem_.max_radius) = radii_;
    nsample_ = static_cast<int>(problem_.nsample);
  }

  void check_result() override {
    // Rows without a member keep the pattern of outputs.
    std::vector<int32_t> expected(idx_.count(), static_cast<int32_t>(0xA5A5A5A5));
    reference::ball_query(problem_, new_xyz_.template data<T>(), xyz_.template data<T>(), expected.data());
    check(std::equal(expected.begin(), expected.end(), idx_.data<int32_t>()),
          "idx is not that of the serial loop");
  }

  Problem problem_;
  Tensor &new_xyz_, &xyz_, &idx_;
  const std::pair<float, float> radii_{problem_.min_radius, problem_.max_radius};
  int nsample_ = static_cast<int>(problem_.nsample);
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
