// CARAFE: a worked example, sizes that the kernels treat apart, and the rules of its descriptor.
// test/ops/contract_test.cpp has the tests of every operator.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/api_errors.h"
#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"

namespace mluop::test {
namespace {

using cases::CarafeDescriptor;
using Sizes = std::map<std::string, int64_t>;

const Sizes kSmall = {{"n", 1}, {"h", 2}, {"w", 2}, {"channels", 1}, {"groups", 1}, {"scale", 1}};

// Kernels of 3 x 3: the numbers from 1 to 9 at the first pixel, ones at the last, and 0.5 more at each center.
std::vector<float> masks() {
  std::vector<float> mask(36);
  for (int tap = 0; tap < 9; ++tap) {
    mask[static_cast<size_t>(tap)] = static_cast<float>(tap + 1);
    mask[static_cast<size_t>(27 + tap)] = 1;
  }
  for (size_t pixel = 0; pixel < 4; ++pixel) mask[pixel * 9 + 4] += 0.5F;
  return mask;
}

TEST(OpsCarafe, Example) {
  const Handle handle;
  cases::Case forward = make_case("carafe_forward", MLUOP_DTYPE_FLOAT, kSmall);
  cases::Case backward = make_case("carafe_backward", MLUOP_DTYPE_FLOAT, kSmall);
  for (cases::Case* each : {&forward, &backward}) {
    set_values(*each, "input", std::vector<float>{1, 2, 3, 4});
    set_values(*each, "mask", masks());
  }
  set_values(backward, "grad_output", std::vector<float>{1, 1, 1, 1});
  const OperatorCall call(handle, forward), gradient(handle, backward);
  ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(call.floats("output"), (std::vector<float>{77.5F, 1, 1.5F, 12}));
  ASSERT_EQ(gradient.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  EXPECT_EQ(gradient.floats("grad_input"), (std::vector<float>{6.5F, 7.5F, 9.5F, 10.5F}));
  const std::vector<float> grad_mask = gradient.floats("grad_mask");
  EXPECT_EQ(std::vector<float>(grad_mask.begin(), grad_mask.begin() + 9),
            (std::vector<float>{0, 0, 0, 0, 1, 2, 0, 3, 4}));
}

TEST(OpsCarafe, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const Sizes rows[] = {
      {{"channels", 15}, {"groups", 1}},                       // less than the partial sums
      {{"channels", 16}, {"groups", 3}, {"scale", 1}},         // a vector
      {{"channels", 257}, {"groups", 1}, {"h", 2}, {"w", 3}},  // more channels than are summed at a time
      {{"radius", 9}, {"h", 3}, {"w", 2}, {"channels", 3}},    // kernels larger than the image
      {{"radius", 12}, {"h", 26}, {"w", 25}, {"channels", 2}, {"n", 1}},  // more neighbors than a list holds
      {{"radius", 0}, {"scale", 3}},                                      // one weight
      {{"channels", 0}},                                                  // gradients of weights are 0
      {{"n", 0}},
  };
  for (const auto dtype : kFloatingDtypes) {
    for (const Sizes& sizes : rows) {
      SCOPED_TRACE(testing::PrintToString(sizes));
      expect_oracle(make_case("carafe_forward", dtype, sizes), Placement::kAgainstEnd);
      expect_oracle(make_case("carafe_backward", dtype, sizes), Placement::kAgainstEnd);
    }
  }
}

TEST(OpsCarafeErrors, Parameters) {
  for (const char* op : {"carafe_forward", "carafe_backward"}) {
    expect_errors(make_case(op, MLUOP_DTYPE_FLOAT, {{"channels", 3}, {"groups", 2}}),
                  {{set("group_size", 4), "input dim 3 is 6, expected a multiple of 4, the group_size"},
                   {set("kernel_size", 5), "mask dim 3 is 18, expected 50"}});
  }
}

TEST(OpsCarafeErrors, NoDescriptor) {
  const Handle handle;
  const CarafeDescriptor not_set;
  const OperatorCall forward(handle, make_case("carafe_forward", MLUOP_DTYPE_FLOAT, {}));
  const OperatorCall backward(handle, make_case("carafe_backward", MLUOP_DTYPE_FLOAT, {}));
  const std::pair<mluOpCarafeDescriptor_t, const char*> rows[] = {
      {nullptr, "carafe_desc is null"},
      {not_set, "carafe_desc is not set, expected mluOpSetCarafeDescriptor before"}};
  for (const auto& [desc, message] : rows) {
    const auto run_forward = [&, desc = desc] {
      const cases::Arguments& a = forward.arguments;
      return mluOpCarafeForward(handle, desc, a[0].desc, a[0].data, a[1].desc, a[1].data, a[2].desc, a[2].data);
    };
    const auto run_backward = [&, desc = desc] {
      const cases::Arguments& a = backward.arguments;
      return mluOpCarafeBackward(handle, desc, a[0].desc, a[0].data, a[1].desc, a[1].data, a[2].desc, a[2].data,
                                 a[3].desc, a[3].data, a[4].desc, a[4].data);
    };
    expect_failure(run_forward, MLUOP_STATUS_BAD_PARAM, std::string("[mluOpCarafeForward] ") + message);
    expect_failure(run_backward, MLUOP_STATUS_BAD_PARAM, std::string("[mluOpCarafeBackward] ") + message);
  }
}

// NRAM holds fewer rows than a kernel has.
TEST(OpsCarafe, SmallNram) {
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "4");
  for (const auto dtype : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF, MLUOP_DTYPE_BFLOAT16}) {
    for (const char* op : {"carafe_forward", "carafe_backward"}) {
      expect_oracle(make_case(op, dtype, {{"n", 1}, {"h", 14}, {"w", 14}, {"radius", 6}}));
    }
  }
}

TEST(OpsCarafeErrors, Descriptor) {
  const CarafeDescriptor desc;
  const std::tuple<std::vector<int>, const char*> rows[] = {
      {{5, 3, 1, 2}, "dimNb is 5, expected 4"},
      {{4, 4, 1, 2}, "kernel_size is 4, expected an odd number of at least 1"},
      {{4, -1, 1, 2}, "kernel_size is -1, expected an odd number of at least 1"},
      {{4, 3, 0, 2}, "group_size is 0, expected at least 1"},
      {{4, 3, 1, 0}, "scale_factor is 0, expected at least 1"}};
  for (const auto& [v, message] : rows) {
    expect_failure([&, &v = v] { return mluOpSetCarafeDescriptor(desc, v[0], v[1], v[2], v[3]); },
                   MLUOP_STATUS_BAD_PARAM, std::string("[mluOpSetCarafeDescriptor] ") + message);
  }
  const std::string is_null = "] carafe_desc is null";
  expect_failure([] { return mluOpSetCarafeDescriptor(nullptr, 4, 3, 1, 2); }, MLUOP_STATUS_BAD_PARAM,
                 "[mluOpSetCarafeDescriptor" + is_null);
  expect_failure([] { return mluOpCreateCarafeDescriptor(nullptr); }, MLUOP_STATUS_BAD_PARAM,
                 "[mluOpCreateCarafeDescriptor" + is_null);
  expect_failure([] { return mluOpDestroyCarafeDescriptor(nullptr); }, MLUOP_STATUS_BAD_PARAM,
                 "[mluOpDestroyCarafeDescriptor" + is_null);
}

}  // namespace
}  // namespace mluop::test
