// Requirements of mluOpThreeInterpolateForward and mluOpThreeInterpolateBackward on their indices and sizes.
#include <gtest/gtest.h>

#include <climits>
#include <map>
#include <string>
#include <utility>

#include "case/reduce.h"
#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"

namespace mluop::test {
namespace {

struct Interpolation {
  cases::Case make(const std::map<std::string, int64_t>& sizes) const {
    return cases::self_contained(make_case(op, MLUOP_DTYPE_HALF, sizes));
  }

  std::string op, input;
  std::string features, points;  // the tensors of features and of points
};

const Interpolation kInterpolations[] = {
    {"three_interpolate_forward", "features", "features", "output"},
    {"three_interpolate_backward", "grad_output", "grad_features", "grad_output"}};

TEST(OpsThreeInterpolateErrors, NoElements) {
  for (const Interpolation& interpolation : kInterpolations) {
    const auto without = [&](const char* size) {
      return with_sizes(interpolation.op, {{size, 0}}, MLUOP_DTYPE_HALF);
    };
    expect_errors(interpolation.make({}),
                  {{without("b"), interpolation.input + " dim 0 is 0, expected at least 1"},
                   {without("c"), interpolation.input + " dim 1 is 0, expected at least 1"},
                   {without("m"), interpolation.features + " dim 2 is 0, expected at least 1"},
                   {without("n"), interpolation.points + " dim 2 is 0, expected at least 1"}});
  }
}

// The message names the first index out of range, independent of the task that finds one first.
TEST(OpsThreeInterpolateErrors, IndicesOutOfRange) {
  MLUOP_LABELS(kNotEmulated);
  const auto put = [](size_t i, int32_t index) { return set_element("indices", i, index); };
  for (const Interpolation& interpolation : kInterpolations) {
    // Features that are not packed and packed, and pairs that are not grouped and grouped.
    for (const int64_t channels : {1, 50}) {
      const cases::Case made = interpolation.make({{"b", 3}, {"c", channels}, {"m", 9}, {"n", 5000}});
      for (const int count : {1, 3, 64}) {
        SCOPED_TRACE(count);
        const ScopedThreads threads(count);
        expect_errors(made, {{put(0, 9), "indices[0, 0, 0] is 9, expected 0 to 8"},
                             {put(15004, -1), "indices[1, 1, 1] is -1, expected 0 to 8"},
                             {put(44999, INT_MIN), "indices[2, 4999, 2] is -2147483648, expected 0 to 8"},
                             {put(4095, INT_MAX), "indices[0, 1365, 0] is 2147483647, expected 0 to 8"},
                             {all_of({put(40000, 40000), put(30001, 30001), put(20002, 20002), put(44999, 44999)}),
                              "indices[1, 1667, 1] is 20002, expected 0 to 8"}});
      }
    }
  }
}

// Every device accepts 2^23 features; the 200 series does not support more. An invalid type of the weights, which
// is checked later, ends an accepted call before it reads data.
TEST(OpsThreeInterpolateErrors, FeaturesOfThe200Series) {
  const std::string accepted = "weights has data type INT64, expected HALF";
  for (const Interpolation& interpolation : kInterpolations) {
    const auto features = [&](int64_t count) {
      return all_of({set_shape(interpolation.features, {2, 16, count}),
                     set_desc("weights", Descriptor(MLUOP_DTYPE_INT64, {2, 50, 3}))});
    };
    const Change most = features(1 << 23), more = features((1 << 23) + 1);
    for (const auto& [device, is_200_series] :
         {std::pair{"mlu270", true}, {"mlu290", true}, {"mlu370", false}, {"mlu590", false}}) {
      const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device);
      const CallError too_many = {more,
                                  interpolation.features + " dim 2 is 8388609, expected at most 2^23 on " + device,
                                  MLUOP_STATUS_NOT_SUPPORTED};
      expect_errors(interpolation.make({}),
                    {{most, accepted}, is_200_series ? too_many : CallError{more, accepted}});
    }
  }
}

// The bytes of each tensor fit int64_t, the sum does not.
TEST(OpsThreeInterpolateErrors, BytesExceedInt64) {
  const Interpolation& forward = kInterpolations[0];
  const auto output_far_away = [](OperatorCall& call) {
    call["output"].data = reinterpret_cast<std::byte*>(uintptr_t{1} << 63);
  };
  const auto sizes =
      with_sizes(forward.op, {{"b", 1}, {"c", 2}, {"m", 9}, {"n", int64_t{1} << 59}}, MLUOP_DTYPE_HALF);
  expect_errors(forward.make({}),
                {{all_of({sizes, output_far_away}), "the size in bytes of all tensors exceeds 2^63 - 1"}});
}

}  // namespace
}  // namespace mluop::test
