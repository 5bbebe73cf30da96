// Correlation: a worked example, and sizes that the kernels treat apart. test/ops/contract_test.cpp has the tests
// of every operator.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "support/call_errors.h"
#include "support/environment.h"
#include "support/labels.h"

namespace mluop::test {
namespace {

using Sizes = std::map<std::string, int64_t>;

TEST(OpsCorrelation, Example) {
  for (const bool has_kernel : {false, true}) {
    cases::Case forward = make_case("correlation_forward", MLUOP_DTYPE_FLOAT,
                                    {{"n", 1},
                                     {"h", 3},
                                     {"w", 3},
                                     {"c", 1},
                                     {"radius_w", 1},
                                     {"kernel", has_kernel ? 3 : 1},
                                     {"pad", has_kernel}});
    set_values(forward, "input1", std::vector<float>{1, 2, 3, 0, 1, 2, 3, 5, 2});
    set_values(forward, "input2", std::vector<float>{1, 2, 3, 3, 1, 2, 8, 5, 2});
    const Handle handle;
    const OperatorCall call(handle, forward);
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    // The patch of a pixel is an element of each plane of 3 x 3.
    const std::vector<float> output = call.floats("output");
    const auto patch = [&](size_t pixel) {
      std::vector<float> values;
      for (size_t i = 0; i < 9; ++i) values.push_back(output[i * 9 + pixel]);
      return values;
    };
    if (has_kernel) {
      EXPECT_EQ(patch(4), (std::vector<float>{22, 26, 16, 63, 72, 35, 27, 20, 7}));
    } else {
      EXPECT_EQ(patch(4), (std::vector<float>{1, 2, 3, 3, 1, 2, 8, 5, 2}));
      EXPECT_EQ(patch(0), (std::vector<float>{0, 0, 0, 0, 1, 2, 0, 3, 1}));
    }
  }
}

TEST(OpsCorrelation, HostileSizes) {
  MLUOP_LABELS(kNotEmulated);
  const Sizes rows[] = {
      {{"c", 17}, {"kernel", 3}, {"stride", 2}, {"dilation", 3}},   // readers two pixels apart
      {{"c", 257}, {"h", 3}, {"w", 2}, {"n", 1}},                   // more channels than are summed at a time
      {{"radius_h", 12}, {"radius_w", 13}, {"h", 5}, {"w", 4}},     // more displacements than a list holds
      {{"kernel", 4}, {"stride", 6}, {"dilation", 4}, {"pad", 5}},  // strides and dilations with a divisor
      {{"kernel", 3}, {"dilation", 7}, {"pad", 0}},                 // the kernel exceeds the image: no output
      {{"radius_h", 0}, {"radius_w", 0}, {"dilation_patch", 1000}, {"pad", 40}},
      {{"c", 0}},  // zeros
      {{"h", 0}},  // an output of padding
  };
  for (const auto dtype : kFloatingDtypes) {
    for (const Sizes& sizes : rows) {
      SCOPED_TRACE(testing::PrintToString(sizes));
      expect_oracle(make_case("correlation_forward", dtype, sizes), Placement::kAgainstEnd);
      expect_oracle(make_case("correlation_backward", dtype, sizes), Placement::kAgainstEnd);
    }
  }
}

// NRAM holds fewer rows than there are displacements.
TEST(OpsCorrelation, SmallNram) {
  const ScopedEnvironment nram("MLUOP_OMP_NRAM_KB", "4");
  for (const auto dtype : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF, MLUOP_DTYPE_BFLOAT16}) {
    for (const char* op : {"correlation_forward", "correlation_backward"}) {
      expect_oracle(make_case(op, dtype, {{"h", 14}, {"w", 14}, {"radius_h", 7}, {"radius_w", 7}}));
    }
  }
}

TEST(OpsCorrelationErrors, Parameters) {
  for (const char* op : {"correlation_forward", "correlation_backward"}) {
    expect_errors(make_case(op, MLUOP_DTYPE_FLOAT, {}),
                  {
                      {set("kernel_h", 0), "kernel_h is 0, expected at least 1"},
                      {set("patch_w", -3), "patch_w is -3, expected at least 1"},
                      {set("patch_h", 4), "patch_h is 4, expected an odd number"},
                      {set("patch_w", 2), "patch_w is 2, expected an odd number"},
                      {set("pad_w", -1), "pad_w is -1, expected at least 0"},
                      {set("dilation_h", 0), "dilation_h is 0, expected at least 1"},
                      {set("dilation_patch_w", 0), "dilation_patch_w is 0, expected at least 1"},
                      {set("stride_h", 0), "stride_h is 0, expected at least 1"},
                  });
  }
}

}  // namespace
}  // namespace mluop::test
