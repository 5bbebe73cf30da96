// What mluOpThreeInterpolateForward requires of its indices and sizes.
#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

constexpr const char* kOp = "three_interpolate_forward";

TEST(OpsThreeInterpolateForwardErrors, NoElements) {
  const auto sizes = [](int64_t b, int64_t c, int64_t m, int64_t n) {
    return with_sizes(kOp, {{"b", b}, {"c", c}, {"m", m}, {"n", n}}, MLUOP_DTYPE_HALF);
  };
  expect_errors(make_case(kOp, MLUOP_DTYPE_HALF, {}),
                {
                    {sizes(0, 20, 9, 50), "features dim 0 is 0, expected at least 1"},
                    {sizes(2, 0, 9, 50), "features dim 1 is 0, expected at least 1"},
                    {sizes(2, 20, 0, 50), "features dim 2 is 0, expected at least 1"},
                    {sizes(2, 20, 9, 0), "output dim 2 is 0, expected at least 1"},
                    {sizes(0, 0, 0, 0), "features dim 0 is 0, expected at least 1"},
                });
}

// The message names the first index out of range, independent of the task that finds one first.
TEST(OpsThreeInterpolateForwardErrors, IndicesOutOfRange) {
  const auto put = [](size_t i, int32_t index) { return set_element("indices", i, index); };
  for (const int count : {1, 2, 3, 7, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    // Without and with packed features.
    for (const int64_t channels : {1, 17}) {
      expect_errors(make_case(kOp, MLUOP_DTYPE_HALF, {{"b", 3}, {"c", channels}, {"m", 9}, {"n", 5000}}),
                    {
                        {put(0, 9), "indices[0, 0, 0] is 9, expected 0 to 8"},
                        {put(15004, -1), "indices[1, 1, 1] is -1, expected 0 to 8"},
                        {put(44999, INT_MIN), "indices[2, 4999, 2] is -2147483648, expected 0 to 8"},
                        {put(4095, INT_MAX), "indices[0, 1365, 0] is 2147483647, expected 0 to 8"},
                        {all_of({put(40000, 40000), put(30001, 30001), put(20002, 20002), put(44999, 44999)}),
                         "indices[1, 1667, 1] is 20002, expected 0 to 8"},
                    });
    }
  }
}

// Every device accepts 2^23 features; the 200 series does not support more. An invalid type of the weights, which
// is checked later, ends an accepted call before it reads data.
TEST(OpsThreeInterpolateForwardErrors, FeaturesOfThe200Series) {
  const auto features = [](int64_t count) {
    return all_of(
        {set_shape("features", {2, 16, count}), set_desc("weights", Descriptor(MLUOP_DTYPE_INT64, {2, 50, 3}))});
  };
  const Change most = features(1 << 23), more = features((1 << 23) + 1);
  const std::string accepted = "weights has data type INT64, expected HALF";
  const cases::Case made = make_case(kOp, MLUOP_DTYPE_HALF, {});
  for (const std::string device : {"mlu270", "mlu290"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device.c_str());
    expect_errors(made, {{most, accepted},
                         {more, "features dim 2 is 8388609, expected at most 2^23 on " + device,
                          MLUOP_STATUS_NOT_SUPPORTED}});
  }
  for (const char* device : {"mlu370", "mlu590"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device);
    expect_errors(made, {{most, accepted}, {more, accepted}});
  }
}

// Each tensor fits int64_t, their sum does not.
TEST(OpsThreeInterpolateForwardErrors, BytesExceedInt64) {
  const auto output_far_away = [](OperatorCall& call) {
    call["output"].data = reinterpret_cast<std::byte*>(uintptr_t{1} << 63);
  };
  const auto sizes = with_sizes(kOp, {{"b", 1}, {"c", 2}, {"m", 9}, {"n", int64_t{1} << 59}}, MLUOP_DTYPE_HALF);
  expect_errors(make_case(kOp, MLUOP_DTYPE_HALF, {}),
                {{all_of({sizes, output_far_away}), "the size in bytes of all tensors exceeds 2^63 - 1"}});
}

// The last byte of the output is its own.
TEST(OpsThreeInterpolateForwardErrors, Overlap) {
  const auto last_of_output = [](OperatorCall& call) {
    const cases::Operand& output = call["output"];
    call["indices"].data = output.data + output.bytes() - 1;
  };
  expect_errors(make_case(kOp, MLUOP_DTYPE_HALF, {}),
                {{last_of_output, "output overlaps indices, expected memory of its own"}});
}

// Tensors that are adjacent in memory do not overlap.
TEST(OpsThreeInterpolateForwardErrors, AdjacentTensorsAreAccepted) {
  const Handle handle;
  OperatorCall call(handle, make_case(kOp, MLUOP_DTYPE_HALF, {}));
  std::vector<std::byte> both(static_cast<size_t>(call["features"].bytes() + call["output"].bytes()));
  call["features"].data = both.data();
  call["output"].data = both.data() + call["features"].bytes();
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

}  // namespace
}  // namespace mluop::test
