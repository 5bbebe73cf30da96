// Every rule of mluOpThreeInterpolateBackward: one bad argument, one status, a message that names the parameter,
// and an output that stays as it was.
#include <gtest/gtest.h>

#include <climits>
#include <functional>
#include <string>

#include "ops/three_interpolate_backward/call.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using Call = ThreeInterpolateCall<Half>;

constexpr ThreeInterpolateSizes kSizes = {2, 20, 50, 9};

struct BadCall {
  const char* rule;
  std::function<void(Call&)> spoil;
  mluOpStatus_t status;
  std::string message;  // after "[mluOpThreeInterpolateBackward] "
};

Descriptor strided(mluOpDataType_t dtype, const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
  Descriptor desc;
  require(mluOpSetTensorDescriptorEx_v2(desc, MLUOP_LAYOUT_ARRAY, dtype, static_cast<int>(dims.size()),
                                        dims.data(), strides.data()));
  return desc;
}

void expect_refused(const BadCall& bad, const Handle& handle, const ThreeInterpolateSizes& sizes = kSizes) {
  SCOPED_TRACE(bad.rule);
  auto random = seeded_random();
  Call call(handle, random_three_interpolate<Half>(sizes, random));
  const auto before = call.output();
  bad.spoil(call);
  EXPECT_EQ(call.run(), bad.status);
  EXPECT_EQ(mluOpOmpGetLastError(), "[mluOpThreeInterpolateBackward] " + bad.message);
  EXPECT_EQ(call.output(), before);
  EXPECT_TRUE(call.intact());
}

TEST(OpsThreeInterpolateBackwardErrors, Rules) {
  const auto kBad = MLUOP_STATUS_BAD_PARAM;
  const auto kHalf = MLUOP_DTYPE_HALF;
  const Descriptor int_gradient(MLUOP_DTYPE_INT32, {2, 20, 50}), float_gradient(MLUOP_DTYPE_FLOAT, {2, 20, 50}),
      long_indices(MLUOP_DTYPE_INT64, {2, 50, 3}), float_weights(MLUOP_DTYPE_FLOAT, {2, 50, 3}),
      float_features(MLUOP_DTYPE_FLOAT, {2, 20, 9});
  const Descriptor ncl_gradient(kHalf, {2, 20, 50}, MLUOP_LAYOUT_NCL),
      nlc_indices(MLUOP_DTYPE_INT32, {2, 50, 3}, MLUOP_LAYOUT_NLC),
      ncl_weights(kHalf, {2, 50, 3}, MLUOP_LAYOUT_NCL), ncl_features(kHalf, {2, 20, 9}, MLUOP_LAYOUT_NCL);
  const Descriptor flat_gradient(kHalf, {40, 50}), deep_indices(MLUOP_DTYPE_INT32, {2, 50, 3, 1}),
      flat_weights(kHalf, {100, 3}), deep_features(kHalf, {2, 20, 9, 1}), empty;
  const Descriptor batch_indices(MLUOP_DTYPE_INT32, {3, 50, 3}), points_indices(MLUOP_DTYPE_INT32, {2, 49, 3}),
      four_indices(MLUOP_DTYPE_INT32, {2, 50, 4}), batch_weights(kHalf, {1, 50, 3}),
      points_weights(kHalf, {2, 51, 3}), two_weights(kHalf, {2, 50, 2}), batch_features(kHalf, {3, 20, 9}),
      channel_features(kHalf, {2, 21, 9});
  const Descriptor strided_gradient = strided(kHalf, {2, 20, 50}, {1001, 50, 1}),
                   strided_indices = strided(MLUOP_DTYPE_INT32, {2, 50, 3}, {150, 1, 50}),
                   strided_weights = strided(kHalf, {2, 50, 3}, {150, 4, 1}),
                   strided_features = strided(kHalf, {2, 20, 9}, {180, 1, 20});
  const std::string own = ", expected memory of its own";

  const BadCall kTable[] = {
      {"null handle", [](auto& c) { c.handle = nullptr; }, kBad, "handle is null"},
      {"null gradient desc", [](auto& c) { c.grad_output_desc = nullptr; }, kBad, "grad_output_desc is null"},
      {"null indices desc", [](auto& c) { c.indices_desc = nullptr; }, kBad, "indices_desc is null"},
      {"null weights desc", [](auto& c) { c.weights_desc = nullptr; }, kBad, "weights_desc is null"},
      {"null features desc", [](auto& c) { c.grad_features_desc = nullptr; }, kBad, "grad_features_desc is null"},
      {"gradient neither half nor float", [&](auto& c) { c.grad_output_desc = int_gradient; }, kBad,
       "grad_output has data type INT32, expected FLOAT or HALF"},
      {"empty descriptor", [&](auto& c) { c.grad_output_desc = empty; }, kBad,
       "grad_output has data type INVALID, expected FLOAT or HALF"},
      {"float gradient of half weights", [&](auto& c) { c.grad_output_desc = float_gradient; }, kBad,
       "weights has data type HALF, expected FLOAT"},
      {"indices dtype", [&](auto& c) { c.indices_desc = long_indices; }, kBad,
       "indices has data type INT64, expected INT32"},
      {"weights dtype", [&](auto& c) { c.weights_desc = float_weights; }, kBad,
       "weights has data type FLOAT, expected HALF"},
      {"features dtype", [&](auto& c) { c.grad_features_desc = float_features; }, kBad,
       "grad_features has data type FLOAT, expected HALF"},
      {"gradient layout", [&](auto& c) { c.grad_output_desc = ncl_gradient; }, kBad,
       "grad_output has layout NCL, expected ARRAY"},
      {"indices layout", [&](auto& c) { c.indices_desc = nlc_indices; }, kBad,
       "indices has layout NLC, expected ARRAY"},
      {"weights layout", [&](auto& c) { c.weights_desc = ncl_weights; }, kBad,
       "weights has layout NCL, expected ARRAY"},
      {"features layout", [&](auto& c) { c.grad_features_desc = ncl_features; }, kBad,
       "grad_features has layout NCL, expected ARRAY"},
      {"gradient dims", [&](auto& c) { c.grad_output_desc = flat_gradient; }, kBad,
       "grad_output has 2 dimensions, expected 3"},
      {"indices dims", [&](auto& c) { c.indices_desc = deep_indices; }, kBad,
       "indices has 4 dimensions, expected 3"},
      {"weights dims", [&](auto& c) { c.weights_desc = flat_weights; }, kBad,
       "weights has 2 dimensions, expected 3"},
      {"features dims", [&](auto& c) { c.grad_features_desc = deep_features; }, kBad,
       "grad_features has 4 dimensions, expected 3"},
      {"indices batch", [&](auto& c) { c.indices_desc = batch_indices; }, kBad, "indices dim 0 is 3, expected 2"},
      {"indices points", [&](auto& c) { c.indices_desc = points_indices; }, kBad,
       "indices dim 1 is 49, expected 50"},
      {"not three indices", [&](auto& c) { c.indices_desc = four_indices; }, kBad,
       "indices dim 2 is 4, expected 3"},
      {"weights batch", [&](auto& c) { c.weights_desc = batch_weights; }, kBad, "weights dim 0 is 1, expected 2"},
      {"weights points", [&](auto& c) { c.weights_desc = points_weights; }, kBad,
       "weights dim 1 is 51, expected 50"},
      {"not three weights", [&](auto& c) { c.weights_desc = two_weights; }, kBad,
       "weights dim 2 is 2, expected 3"},
      {"features batch", [&](auto& c) { c.grad_features_desc = batch_features; }, kBad,
       "grad_features dim 0 is 3, expected 2"},
      {"features channels", [&](auto& c) { c.grad_features_desc = channel_features; }, kBad,
       "grad_features dim 1 is 21, expected 20"},
      {"gradient strides", [&](auto& c) { c.grad_output_desc = strided_gradient; }, kBad,
       "grad_output has strides [1001, 50, 1], expected a contiguous tensor of shape [2, 20, 50]"},
      {"indices strides", [&](auto& c) { c.indices_desc = strided_indices; }, kBad,
       "indices has strides [150, 1, 50], expected a contiguous tensor of shape [2, 50, 3]"},
      {"weights strides", [&](auto& c) { c.weights_desc = strided_weights; }, kBad,
       "weights has strides [150, 4, 1], expected a contiguous tensor of shape [2, 50, 3]"},
      {"features strides", [&](auto& c) { c.grad_features_desc = strided_features; }, kBad,
       "grad_features has strides [180, 1, 20], expected a contiguous tensor of shape [2, 20, 9]"},
      {"null gradient", [](auto& c) { c.grad_output = nullptr; }, kBad,
       "grad_output is null, expected the data of a tensor [2, 20, 50]"},
      {"null indices", [](auto& c) { c.indices = nullptr; }, kBad,
       "indices is null, expected the data of a tensor [2, 50, 3]"},
      {"null weights", [](auto& c) { c.weights = nullptr; }, kBad,
       "weights is null, expected the data of a tensor [2, 50, 3]"},
      {"null features", [](auto& c) { c.grad_features = nullptr; }, kBad,
       "grad_features is null, expected the data of a tensor [2, 20, 9]"},
      {"in place", [](auto& c) { c.grad_features = c.grad_output_buffer.data(); }, kBad,
       "grad_features overlaps grad_output" + own},
      {"output ends in indices", [](auto& c) { c.indices = c.grad_features_buffer.data() + 358; }, kBad,
       "grad_features overlaps indices" + own},
      {"output in weights", [](auto& c) { c.weights = c.grad_features_buffer.data(); }, kBad,
       "grad_features overlaps weights" + own},
  };
  const Handle handle;
  for (const BadCall& bad : kTable) expect_refused(bad, handle);
}

// The sizes without elements of section 3.6 of the design document, and each dimension alone.
TEST(OpsThreeInterpolateBackwardErrors, NoElements) {
  struct Shapes {
    std::vector<int64_t> grad_output, indices, weights, grad_features;
    const char* message;
  };
  const Shapes kTable[] = {
      {{0, 128, 128}, {0, 128, 3}, {0, 128, 3}, {0, 128, 128}, "grad_output dim 0 is 0, expected at least 1"},
      {{16, 0, 128}, {16, 128, 3}, {16, 128, 3}, {16, 128, 0}, "grad_features dim 1 is 128, expected 0"},
      {{16, 128, 128}, {16, 128, 3}, {16, 128, 3}, {16, 128, 0}, "grad_features dim 2 is 0, expected at least 1"},
      {{16, 128, 0}, {16, 0, 3}, {16, 0, 3}, {16, 128, 128}, "grad_output dim 2 is 0, expected at least 1"},
      {{0, 0, 0}, {0, 0, 3}, {0, 0, 3}, {0, 0, 0}, "grad_output dim 0 is 0, expected at least 1"},
      {{16, 0, 128}, {16, 128, 3}, {16, 128, 3}, {16, 0, 128}, "grad_output dim 1 is 0, expected at least 1"},
  };
  const Handle handle;
  for (const Shapes& shapes : kTable) {
    const Descriptor gradient(MLUOP_DTYPE_HALF, shapes.grad_output), indices(MLUOP_DTYPE_INT32, shapes.indices),
        weights(MLUOP_DTYPE_HALF, shapes.weights), features(MLUOP_DTYPE_HALF, shapes.grad_features);
    const auto spoil = [&](Call& c) {
      c.grad_output_desc = gradient;
      c.indices_desc = indices;
      c.weights_desc = weights;
      c.grad_features_desc = features;
    };
    expect_refused({shapes.message, spoil, MLUOP_STATUS_BAD_PARAM, shapes.message}, handle);
  }
}

// The first bad index is named, whichever task meets one first.
TEST(OpsThreeInterpolateBackwardErrors, IndicesOutOfRange) {
  // Not grouped, and grouped.
  constexpr ThreeInterpolateSizes kMany[] = {{3, 17, 5000, 9}, {3, 50, 5000, 9}};
  const auto put = [](int64_t place, int32_t index) {
    return [=](Call& c) { c.indices_buffer[static_cast<size_t>(place)] = index; };
  };
  const auto kBad = MLUOP_STATUS_BAD_PARAM;
  const BadCall kTable[] = {
      {"one too large", put(0, 9), kBad, "indices[0, 0, 0] is 9, expected 0 to 8"},
      {"negative", put(5000 * 3 + 4, -1), kBad, "indices[1, 1, 1] is -1, expected 0 to 8"},
      {"least", put(3 * 5000 * 3 - 1, INT_MIN), kBad, "indices[2, 4999, 2] is -2147483648, expected 0 to 8"},
      {"most", put(4095, INT_MAX), kBad, "indices[0, 1365, 0] is 2147483647, expected 0 to 8"},
      {"several",
       [&](Call& c) {
         for (const int64_t place : {40000, 30001, 20002, 44999}) put(place, static_cast<int32_t>(place))(c);
       },
       kBad, "indices[1, 1667, 1] is 20002, expected 0 to 8"},
  };
  for (const int count : {1, 2, 3, 7, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    const Handle handle;
    for (const ThreeInterpolateSizes& sizes : kMany) {
      for (const BadCall& bad : kTable) expect_refused(bad, handle, sizes);
    }
  }
}

// 2^23 features are allowed everywhere, one more not on the 200 series. Without memory: what is refused is not
// read.
TEST(OpsThreeInterpolateBackwardErrors, FeaturesOfThe200Series) {
  const int64_t most = int64_t{1} << 23;
  const Descriptor allowed(MLUOP_DTYPE_HALF, {2, 20, most}), larger(MLUOP_DTYPE_HALF, {2, 20, most + 1});
  for (const std::string device : {"mlu270", "mlu290", "mlu370", "mlu590"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device.c_str());
    const Handle handle;
    const auto with = [](const Descriptor& features) {
      return [&](Call& c) {
        c.grad_features_desc = features;
        c.weights = nullptr;
      };
    };
    const std::string no_weights = "weights is null, expected the data of a tensor [2, 50, 3]";
    expect_refused({"2^23", with(allowed), MLUOP_STATUS_BAD_PARAM, no_weights}, handle);
    if (device == "mlu270" || device == "mlu290") {
      expect_refused({"2^23 + 1", with(larger), MLUOP_STATUS_NOT_SUPPORTED,
                      "grad_features dim 2 is 8388609, expected at most 2^23 on " + device},
                     handle);
    } else {
      expect_refused({"2^23 + 1", with(larger), MLUOP_STATUS_BAD_PARAM, no_weights}, handle);
    }
  }
}

TEST(OpsThreeInterpolateBackwardErrors, ScratchTooSmall) {
  const ScopedEnvironment environment("MLUOP_OMP_NRAM_KB", "1");
  const Handle handle;
  auto random = seeded_random();
  const Call call(handle, random_three_interpolate<Half>(kSizes, random));
  const auto before = call.output();
  EXPECT_EQ(call.run(), MLUOP_STATUS_ALLOC_FAILED);
  EXPECT_EQ(
      std::string(mluOpOmpGetLastError()).find("[mluOpThreeInterpolateBackward] MLUOP_OMP_NRAM_KB is 1, expected"),
      0U);
  EXPECT_EQ(call.output(), before);
}

// Tensors that touch without sharing a byte are apart.
TEST(OpsThreeInterpolateBackwardErrors, AdjacentTensorsAreAccepted) {
  const Handle handle;
  auto random = seeded_random();
  Call call(handle, random_three_interpolate<Half>(kSizes, random));
  std::vector<Half> both(2000 + 360);
  call.grad_output = both.data();
  call.grad_features = both.data() + 2000;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

}  // namespace
}  // namespace mluop::test
