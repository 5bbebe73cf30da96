// Operators on points with tensors of more than 2^31 elements: every element against the oracle or the definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "case/values.h"
#include "large/enlarged_call.h"
#include "support/half.h"
#include "support/values.h"

namespace mluop::test {
namespace {

TEST(LargeBallQuery, Idx) {
  MLUOP_REQUIRE_MEMORY(9);
  cases::Case made =
      make_large("ball_query", MLUOP_DTYPE_FLOAT, {{"b", 2}, {"m", 5'600}, {"n", 1'000}, {"nsample", 192'000}});
  made.parameters.set_real("max_radius", 0.8);
  LargeCall call(made, {"idx"});
  call.expect_each(2 * 5'600, [&](int64_t i) {
    const int64_t b = i / 5'600, m = i % 5'600;
    return call.slices_agree({{{b, m}}, {{b}}, {{b, m}}});
  });
}

TEST(LargeThreeNNForward, Unknown) {
  MLUOP_REQUIRE_MEMORY(14);
  auto random = seeded_random();
  constexpr int64_t kUnknown = 715'900'001;
  LargeCall call(make_large("three_nn_forward", MLUOP_DTYPE_HALF, {{"b", 1}, {"n", kUnknown}, {"m", 5}}),
                 {"unknown", "dist2", "idx"});
  const auto fraction = [&] { return to_f16(static_cast<double>(random() % 2001) / 1000.0 - 1.0); };
  Half* unknown = call.data<Half>("unknown");
  // The last points and others; the remaining points are the origin, in pages without memory.
  for (int64_t n = kUnknown - 1000; n < kUnknown; ++n) {
    for (int64_t i = 0; i < 3; ++i) {
      unknown[n * 3 + i] = fraction();
      unknown[static_cast<int64_t>(random()) % kUnknown * 3 + i] = fraction();
    }
  }
  // Most points are the origin, in whole blocks, which have the results of the first such block.
  constexpr int64_t kBlock = 4096, kBlocks = (kUnknown + kBlock - 1) / kBlock;
  const auto is_origin = [&](int64_t block) {
    return block + 1 < kBlocks && all_zero(unknown + block * kBlock * 3, kBlock * 3 * sizeof(Half));
  };
  int64_t origin = 0;
  while (!is_origin(origin)) ++origin;
  const auto same_results = [&](const char* id, int64_t block) {
    const int64_t bytes = kBlock * 3 * static_cast<int64_t>(cases::element_size(call[id].dtype));
    const std::byte* results = call[id].data;
    return std::memcmp(results + block * bytes, results + origin * bytes, static_cast<size_t>(bytes)) == 0;
  };
  call.expect_each(kBlocks, [&](int64_t block) {
    if (block != origin && is_origin(block)) return same_results("dist2", block) && same_results("idx", block);
    const Slice points{{0, block * kBlock}, std::min(kBlock, kUnknown - block * kBlock)};
    return call.slices_agree({points, {}, points, points});
  });
}

// More than 2^31 indices, all 0 but the last.
void expect_bad_index(const char* op) {
  LargeCall call(make_large(op, MLUOP_DTYPE_HALF, {{"b", 1}, {"c", 1}, {"m", 3}, {"n", 715'827'900}}),
                 {"indices", "weights"});
  call.data<int32_t>("indices")[call["indices"].count() - 1] = 3;
  call.expect_error(MLUOP_STATUS_BAD_PARAM, "indices[0, 715827899, 2] is 3, expected 0 to 2");
}

TEST(LargeThreeInterpolateForward, BadIndexAtTheEnd) { expect_bad_index("three_interpolate_forward"); }
TEST(LargeThreeInterpolateBackward, BadIndexAtTheEnd) { expect_bad_index("three_interpolate_backward"); }

// Most features or channels are 0.
cases::Case forward_interpolation(int64_t C, int64_t M, int64_t N) {
  return make_case("three_interpolate_forward", MLUOP_DTYPE_HALF, {{"b", 2}, {"c", C}, {"m", M}, {"n", N}});
}

TEST(LargeThreeInterpolateForward, Features) {
  auto random = seeded_random();
  EnlargedCall(forward_interpolation(1024, 140, 50), {random_axis("feature", 140, 1'048'700, random)},
               {{"indices", {"feature"}}}, {"features"})
      .expect_result();
}

TEST(LargeThreeInterpolateForward, Output) {
  MLUOP_REQUIRE_MEMORY(5);
  auto random = seeded_random();
  EnlargedCall(forward_interpolation(315, 64, 262'000), {random_axis("channel", 315, 4100, random)}, {},
               {"output"})
      .expect_result();
}

// Gradients and weights are integers, so that sums are exact in any order.
cases::Case backward_interpolation(int64_t B, int64_t C, int64_t N, int64_t M) {
  return with_values(
      make_case("three_interpolate_backward", MLUOP_DTYPE_HALF, {{"b", B}, {"c", C}, {"n", N}, {"m", M}}),
      Values::kIntegers, 1);
}

TEST(LargeThreeInterpolateBackward, GradOutput) {
  MLUOP_REQUIRE_MEMORY(1);
  auto random = seeded_random();
  EnlargedCall(backward_interpolation(2, 43, 262'000, 64), {random_axis("channel", 43, 4100, random)}, {},
               {"grad_output"})
      .expect_result();
}

TEST(LargeThreeInterpolateBackward, GradFeatures) {
  MLUOP_REQUIRE_MEMORY(5);
  auto random = seeded_random();
  EnlargedCall(backward_interpolation(2, 1024, 50, 140), {random_axis("feature", 140, 1'048'700, random)},
               {{"indices", {"feature"}}}, {"grad_features"})
      .expect_result();
}

// Features past 2^31 - 1 have no index: their gradient is 0.
TEST(LargeThreeInterpolateBackward, FeaturesWithoutAnIndex) {
  MLUOP_REQUIRE_MEMORY(5);
  auto random = seeded_random();
  LargeAxis features = random_axis("feature", 140, kLimit, random);
  features.extent += 12345;
  EnlargedCall(backward_interpolation(1, 1, 50, 140), {features}, {{"indices", {"feature"}}}, {"grad_features"})
      .expect_result();
}

}  // namespace
}  // namespace mluop::test
