// What mluOpThreeInterpolateBackward requires of its indices and sizes.
#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

constexpr const char* kOp = "three_interpolate_backward";

// The sizes without elements of section 3.6 of the design document, and each dimension separately.
TEST(OpsThreeInterpolateBackwardErrors, NoElements) {
  const auto sizes = [](int64_t b, int64_t c, int64_t n, int64_t m) {
    return with_sizes(kOp, {{"b", b}, {"c", c}, {"n", n}, {"m", m}}, MLUOP_DTYPE_HALF);
  };
  expect_errors(make_case(kOp, MLUOP_DTYPE_HALF, {}),
                {
                    {sizes(0, 128, 128, 128), "grad_output dim 0 is 0, expected at least 1"},
                    {all_of({sizes(16, 0, 128, 0), set_shape("grad_features", {16, 128, 0})}),
                     "grad_features dim 1 is 128, expected 0"},
                    {sizes(16, 128, 128, 0), "grad_features dim 2 is 0, expected at least 1"},
                    {sizes(16, 128, 0, 128), "grad_output dim 2 is 0, expected at least 1"},
                    {sizes(0, 0, 0, 0), "grad_output dim 0 is 0, expected at least 1"},
                    {sizes(16, 0, 128, 128), "grad_output dim 1 is 0, expected at least 1"},
                });
}

// The message names the first index out of range, independent of the task that finds one first.
TEST(OpsThreeInterpolateBackwardErrors, IndicesOutOfRange) {
  const auto put = [](size_t i, int32_t index) { return set_element("indices", i, index); };
  for (const int count : {1, 2, 3, 7, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    // Below and above the number of channels from which pairs are grouped.
    for (const int64_t channels : {17, 50}) {
      expect_errors(make_case(kOp, MLUOP_DTYPE_HALF, {{"b", 3}, {"c", channels}, {"n", 5000}, {"m", 9}}),
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
TEST(OpsThreeInterpolateBackwardErrors, FeaturesOfThe200Series) {
  const auto features = [](int64_t count) {
    return all_of({set_shape("grad_features", {2, 16, count}),
                   set_desc("weights", Descriptor(MLUOP_DTYPE_INT64, {2, 50, 3}))});
  };
  const Change most = features(1 << 23), more = features((1 << 23) + 1);
  const std::string accepted = "weights has data type INT64, expected HALF";
  const cases::Case made = make_case(kOp, MLUOP_DTYPE_HALF, {});
  for (const std::string device : {"mlu270", "mlu290"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device.c_str());
    expect_errors(made, {{most, accepted},
                         {more, "grad_features dim 2 is 8388609, expected at most 2^23 on " + device,
                          MLUOP_STATUS_NOT_SUPPORTED}});
  }
  for (const char* device : {"mlu370", "mlu590"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device);
    expect_errors(made, {{most, accepted}, {more, accepted}});
  }
}

TEST(OpsThreeInterpolateBackwardErrors, NramTooSmall) {
  const ScopedEnvironment environment("MLUOP_OMP_NRAM_KB", "1");
  const auto expect = [](mluOpOmpAlgorithm_t algorithm, const std::string& bytes) {
    expect_errors(make_case(kOp, MLUOP_DTYPE_FLOAT, {}),
                  {{no_change, "MLUOP_OMP_NRAM_KB is 1, expected room for the smallest tile: " + bytes + " bytes",
                    MLUOP_STATUS_ALLOC_FAILED}},
                  {.algorithms = {algorithm}});
  };
  expect(MLUOP_OMP_ALGORITHM_NATIVE, "14080");
  expect(MLUOP_OMP_ALGORITHM_DEVICE, "5120");
}

// The last byte of the output is its own.
TEST(OpsThreeInterpolateBackwardErrors, Overlap) {
  const auto last_of_output = [](OperatorCall& call) {
    const cases::Operand& output = call["grad_features"];
    call["indices"].data = output.data + output.bytes() - 1;
  };
  expect_errors(make_case(kOp, MLUOP_DTYPE_HALF, {}),
                {{last_of_output, "grad_features overlaps indices, expected memory of its own"}});
}

// Tensors that are adjacent in memory do not overlap.
TEST(OpsThreeInterpolateBackwardErrors, AdjacentTensorsAreAccepted) {
  const Handle handle;
  OperatorCall call(handle, make_case(kOp, MLUOP_DTYPE_HALF, {}));
  std::vector<std::byte> both(static_cast<size_t>(call["grad_output"].bytes() + call["grad_features"].bytes()));
  call["grad_output"].data = both.data();
  call["grad_features"].data = both.data() + call["grad_output"].bytes();
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

}  // namespace
}  // namespace mluop::test
