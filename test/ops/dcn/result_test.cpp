// Deformable convolution: the example of MLU-OPS, positions at the border of the image and at its pixels, and
// results that do not depend on the division into tasks. test/ops/contract_test.cpp has the tests of every
// operator.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/simd.h"
#include "support/element.h"
#include "support/environment.h"
#include "support/labels.h"
#include "support/operator_call.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

using Sizes = std::map<std::string, int64_t>;

// One channel, one offset of the filter, without padding.
Sizes sizes_of_one(int64_t h, int64_t w) {
  return {{"n", 1},  {"h", h},      {"w", w},   {"ci", 1},   {"co", 1},   {"kh", 1},
          {"kw", 1}, {"groups", 1}, {"pad", 0}, {"mask", 1}, {"bias", 0}, {"deformable_groups", 1}};
}

std::vector<float> run(const Case& made, const char* output) {
  const Handle handle;
  const OperatorCall call(handle, made);
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  return call.floats(output);
}

TEST(OpsDcn, ExampleOfMluOps) {
  Sizes sizes = sizes_of_one(3, 3);
  sizes["ci"] = sizes["co"] = 2;
  sizes["bias"] = 1;
  Case made = make_case("dcn_forward", MLUOP_DTYPE_FLOAT, sizes);
  set_values(made, "input",
             std::vector<float>{0.7944F, 0.4922F, 0.2008F, 0.2081F, 0.9998F, 0.3053F, 0.1815F, 0.9210F, 0.8463F,
                                0.1819F, 0.9159F, 0.4917F, 0.6668F, 0.2843F, 0.8364F, 0.2765F, 0.7150F, 0.6780F});
  set_values(
      made, "offset",
      std::vector<float>{-0.6317F, -1.4928F, -0.0696F, 1.1910F, 0.8778F, 0.5145F, -0.9248F, -0.9889F, 0.6157F,
                         0.2157F, -1.1540F, -0.1283F, -0.5704F, 1.0237F, 0.7956F, 1.1203F, -0.0129F, -0.2686F});
  set_values(made, "mask",
             std::vector<float>{0.4581F, -1.1605F, 0.5951F, 0.4313F, 0.1070F, 0.0225F, 0.7484F, 0.6262F, 1.1908F});
  set_values(made, "filter", std::vector<float>{0.8928F, 0.9682F, 0.9301F, 0.6817F});
  set_values(made, "bias", std::vector<float>{0.4356F, 0.0840F});
  const std::vector<float> expected = {0.4356F, 0.0840F, -0.6024F, -0.9101F, 0.8056F, 0.4252F,
                                       0.4412F, 0.0890F, 0.5478F,  0.1898F,  0.4562F, 0.1037F,
                                       1.1652F, 0.7876F, 0.5814F,  0.2109F,  1.8874F, 1.3752F};
  const std::vector<float> found = run(made, "output");
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2e-4) << i;
}

// Output pixel i of a row of pixels 4, 8, 16 reads the position i plus its offset.
TEST(OpsDcn, Positions) {
  for (const auto dtype : kFloatingDtypes) {
    Case forward = make_case("dcn_forward", dtype, sizes_of_one(1, 3));
    set_values(forward, "input", std::vector<float>{4, 8, 16});
    set_values(forward, "filter", std::vector<float>{2});
    set_values(forward, "mask", std::vector<float>{1, 1, 0.5F});
    // Half a pixel before the first; half a pixel past the last, and half a row down; 1 before the first, which is
    // outside.
    set_values(forward, "offset", std::vector<float>{0, -0.5F, 0.5F, 1.5F, 0, -3});
    EXPECT_EQ(run(forward, "output"), (std::vector<float>{4, 8, 0}));
    // NaN, H and W are outside of the image.
    set_values(forward, "offset", std::vector<float>{1, 0, kNan, 0, 0, 1});
    EXPECT_EQ(run(forward, "output"), (std::vector<float>{0, 0, 0}));
  }
}

// At pixels of the image, the slope is the difference to the next pixel.
TEST(OpsDcn, GradientsAtPixels) {
  for (const auto dtype : kFloatingDtypes) {
    Case made = make_case("dcn_backward_data", dtype, sizes_of_one(1, 3));
    set_values(made, "input", std::vector<float>{4, 8, 16});
    set_values(made, "filter", std::vector<float>{2});
    set_values(made, "mask", std::vector<float>{1, 0.5F, 3});
    set_values(made, "offset", std::vector<float>{0, 0, 0, 0.25F, 0, -3});
    set_values(made, "grad_output", std::vector<float>{1, 10, 100});
    EXPECT_EQ(run(made, "grad_input"), (std::vector<float>{2, 7.5F, 2.5F}));
    EXPECT_EQ(run(made, "grad_offset"), (std::vector<float>{-8, 8, -100, 80, 0, 0}));
    EXPECT_EQ(run(made, "grad_mask"), (std::vector<float>{8, 200, 0}));
  }
}

// The mask is a factor of the gradients of offsets; a position outside the image has the gradient 0.
TEST(OpsDcn, MasksThatAreNotFinite) {
  for (const auto dtype : kFloatingDtypes) {
    Case made = make_case("dcn_backward_data", dtype, sizes_of_one(1, 3));
    set_values(made, "input", std::vector<float>{4, 8, 16});
    set_values(made, "filter", std::vector<float>{2});
    set_values(made, "mask", std::vector<float>{kInfinity, -kInfinity, kNan});
    set_values(made, "offset", std::vector<float>{0, 0, 0, 0.25F, 0, -3});
    set_values(made, "grad_output", std::vector<float>{1, 10, 100});
    EXPECT_EQ(run(made, "grad_offset"), (std::vector<float>{-kInfinity, kInfinity, kInfinity, -kInfinity, 0, 0}));
    EXPECT_EQ(run(made, "grad_mask"), (std::vector<float>{8, 200, 0}));
    expect_oracle(made);
    set_values(made, "offset", std::vector<float>{0, 3, kNan, 0, 0, 0});
    const std::vector<float> found = run(made, "grad_offset");
    EXPECT_EQ(std::vector<float>(found.begin(), found.end() - 2), (std::vector<float>(4)));
    EXPECT_TRUE(std::isnan(found[4]) && std::isnan(found[5]));
  }
  // Several ranges of channels with sums of both signs.
  Case made = make_case("dcn_backward_data", MLUOP_DTYPE_FLOAT,
                        {{"h", 12}, {"w", 14}, {"ci", 300}, {"co", 7}, {"groups", 1}, {"deformable_groups", 2}});
  std::vector<float> mask = floats_of(made, "mask"), offset = floats_of(made, "offset");
  const float specials[] = {kInfinity, kNan, -kInfinity};
  for (size_t i = 0; i < mask.size(); ++i) {
    if (i % 2 == 0) mask[i] = specials[i / 2 % 3];
    if (i % 5 == 0) offset[2 * i] = 100;
  }
  set_values(made, "mask", mask);
  set_values(made, "offset", offset);
  expect_oracle(made);
}

// A descriptor of the shape [0] stands for null: the call neither reads nor writes the data.
TEST(OpsDcn, EmptyDescriptors) {
  const std::pair<const char*, std::vector<const char*>> rows[] = {{"dcn_forward", {"mask", "bias"}},
                                                                   {"dcn_backward_data", {"mask", "grad_mask"}},
                                                                   {"dcn_backward_weight", {"mask", "grad_bias"}}};
  for (const auto& [op, optional] : rows) {
    const Case made = make_case(op, MLUOP_DTYPE_FLOAT, {});
    const Handle handle;
    OperatorCall missing(handle, made), empty(handle, made);
    for (const char* id : optional) {
      missing[id].desc = nullptr;
      missing[id].data = nullptr;
      empty.use(id, std::make_shared<Descriptor>(MLUOP_DTYPE_FLOAT, cases::Dims{0}));
    }
    for (const OperatorCall* call : {&missing, &empty}) {
      ASSERT_EQ(call->run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    }
    EXPECT_TRUE(empty.outputs() == missing.outputs()) << op;
  }
}

// Several groups, of odd numbers of columns and outputs; segments of an odd number of pixels.
const Sizes kOddSizes = {{"n", 3},  {"h", 33}, {"w", 35},     {"ci", 9},  {"co", 3},
                         {"kh", 3}, {"kw", 1}, {"groups", 3}, {"pad", 1}, {"deformable_groups", 5}};

// Sums of small integers are exact in every implementation of the product.
TEST(OpsDcn, IntegersInBFloat16) {
  const Sizes several_panels = {{"ci", 35}, {"co", 70},    {"kh", 3},
                                {"kw", 3},  {"groups", 1}, {"deformable_groups", 1}},
              many_outputs = {{"ci", 3}, {"co", 513}, {"groups", 1}, {"deformable_groups", 1}};
  for (const Sizes& sizes : {kOddSizes, several_panels, many_outputs}) {
    for (const char* op : {"dcn_forward", "dcn_backward_data", "dcn_backward_weight"}) {
      std::vector<std::vector<float>> found;
      for (const auto dtype : {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_BFLOAT16}) {
        Case made = make_case(op, dtype, sizes);
        auto random = seeded_random();
        for (cases::Tensor& input : made.inputs) {
          std::vector<float> numbers(static_cast<size_t>(cases::element_count(input)));
          for (float& number : numbers) number = static_cast<float>(random() % 3) - 1;
          set_values(made, input.id, numbers);
        }
        const Handle handle;
        const OperatorCall call(handle, made, Placement::kAgainstEnd);
        ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
        EXPECT_TRUE(call.intact());
        std::vector<float>& all = found.emplace_back();
        for (const cases::Tensor& output : made.outputs) {
          for (const float number : call.floats(output.id)) all.push_back(to_f32(to_bf16(number)));
        }
      }
      EXPECT_EQ(found[0], found[1]) << op;
    }
  }
}

// AVX512-BF16 rounds bfloat16 samples in vectors of all lengths, and takes a subnormal bias for 0.
TEST(OpsDcn, RoundingOfBFloat16) {
  constexpr int64_t kChannels = 16 + 8 + 4 + 2 + 1;
  Sizes sizes = sizes_of_one(1, 1);
  sizes["ci"] = kChannels;
  sizes["bias"] = 1;
  Case made = make_case("dcn_forward", MLUOP_DTYPE_BFLOAT16, sizes);
  set_values(made, "offset", std::vector<float>{0, 0});
  set_values(made, "filter", std::vector<float>(kChannels, 1));
  set_values(made, "mask", std::vector<float>{0x1.02p0F});
  set_values(made, "bias", std::vector<float>{-1.5F});
  const bool rounds = has_bf16_dot_products();
  for (size_t channel = 0; channel < kChannels; ++channel) {
    std::vector<float> input(kChannels);
    input[channel] = 1.5F;
    set_values(made, "input", input);
    EXPECT_EQ(run(made, "output").front(), rounds ? 0x1p-6F : 0x1.8p-7F) << "channel " << channel;
  }
  set_values(made, "mask", std::vector<float>{0});
  set_values(made, "bias", std::vector<float>{0x1p-130F});
  EXPECT_EQ(run(made, "output").front(), rounds ? 0.0F : 0x1p-130F);
}

// Many ranges of channels, segments of pixels and tiles; many tasks divide into bands of rows.
TEST(OpsDcn, ManyTiles) {
  MLUOP_LABELS(kNotEmulated);
  for (const char* op : {"dcn_forward", "dcn_backward_data", "dcn_backward_weight"}) {
    for (const auto dtype : kFloatingDtypes) {
      const Case made = make_case(op, dtype, kOddSizes);
      const Oracle oracle(made);
      std::vector<std::byte> first;
      for (const auto& [threads, nram] :
           {std::pair{1, "64"}, {1, "640"}, {3, "640"}, {5, "64"}, {9, "640"}, {32, "640"}}) {
        const ScopedThreads scoped(threads);
        const ScopedEnvironment environment("MLUOP_OMP_NRAM_KB", nram);
        const Handle handle;
        const OperatorCall call(handle, made);
        ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
        if (first.empty()) first = call.outputs();
        EXPECT_TRUE(call.outputs() == first) << op << ", " << threads << " threads, NRAM " << nram;
      }
      expect_oracle(oracle);
    }
  }
}

}  // namespace
}  // namespace mluop::test
