// Every rule that mluOpThreeInterpolateBackward checks.
#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <vector>

#include "ops/three_interpolate_backward/call.h"
#include "support/environment.h"
#include "support/error_table.h"

namespace mluop::test {
namespace {

using Call = ThreeInterpolateCall<Half>;
using Table = ErrorTable<Call>;

ThreeInterpolateInputs<Half> valid_inputs(const ThreeInterpolateSizes& sizes = {2, 20, 50, 9}) {
  auto random = seeded_random();
  return random_three_interpolate<Half>(sizes, random);
}

TEST(OpsThreeInterpolateBackwardErrors, Rules) {
  const auto kHalf = MLUOP_DTYPE_HALF;
  const std::string own = ", expected memory of its own";

  const Table::Rows rows = {
      {"null handle", set(&Call::handle, nullptr), "handle is null"},
      {"null gradient desc", set(&Call::grad_output_desc, nullptr), "grad_output_desc is null"},
      {"null indices desc", set(&Call::indices_desc, nullptr), "indices_desc is null"},
      {"null weights desc", set(&Call::weights_desc, nullptr), "weights_desc is null"},
      {"null features desc", set(&Call::grad_features_desc, nullptr), "grad_features_desc is null"},
      {"gradient neither half nor float", set(&Call::grad_output_desc, Descriptor(MLUOP_DTYPE_INT32, {2, 20, 50})),
       "grad_output has data type INT32, expected FLOAT or HALF"},
      {"empty descriptor", set(&Call::grad_output_desc, Descriptor()),
       "grad_output has data type INVALID, expected FLOAT or HALF"},
      {"float gradient of half weights", set(&Call::grad_output_desc, Descriptor(MLUOP_DTYPE_FLOAT, {2, 20, 50})),
       "weights has data type HALF, expected FLOAT"},
      {"indices dtype", set(&Call::indices_desc, Descriptor(MLUOP_DTYPE_INT64, {2, 50, 3})),
       "indices has data type INT64, expected INT32"},
      {"weights dtype", set(&Call::weights_desc, Descriptor(MLUOP_DTYPE_FLOAT, {2, 50, 3})),
       "weights has data type FLOAT, expected HALF"},
      {"features dtype", set(&Call::grad_features_desc, Descriptor(MLUOP_DTYPE_FLOAT, {2, 20, 9})),
       "grad_features has data type FLOAT, expected HALF"},
      {"gradient layout", set(&Call::grad_output_desc, Descriptor(kHalf, {2, 20, 50}, MLUOP_LAYOUT_NCL)),
       "grad_output has layout NCL, expected ARRAY"},
      {"indices layout", set(&Call::indices_desc, Descriptor(MLUOP_DTYPE_INT32, {2, 50, 3}, MLUOP_LAYOUT_NLC)),
       "indices has layout NLC, expected ARRAY"},
      {"weights layout", set(&Call::weights_desc, Descriptor(kHalf, {2, 50, 3}, MLUOP_LAYOUT_NCL)),
       "weights has layout NCL, expected ARRAY"},
      {"features layout", set(&Call::grad_features_desc, Descriptor(kHalf, {2, 20, 9}, MLUOP_LAYOUT_NCL)),
       "grad_features has layout NCL, expected ARRAY"},
      {"gradient dims", set(&Call::grad_output_desc, Descriptor(kHalf, {40, 50})),
       "grad_output has 2 dimensions, expected 3"},
      {"indices dims", set(&Call::indices_desc, Descriptor(MLUOP_DTYPE_INT32, {2, 50, 3, 1})),
       "indices has 4 dimensions, expected 3"},
      {"weights dims", set(&Call::weights_desc, Descriptor(kHalf, {100, 3})),
       "weights has 2 dimensions, expected 3"},
      {"features dims", set(&Call::grad_features_desc, Descriptor(kHalf, {2, 20, 9, 1})),
       "grad_features has 4 dimensions, expected 3"},
      {"indices batch", set(&Call::indices_desc, Descriptor(MLUOP_DTYPE_INT32, {3, 50, 3})),
       "indices dim 0 is 3, expected 2"},
      {"indices points", set(&Call::indices_desc, Descriptor(MLUOP_DTYPE_INT32, {2, 49, 3})),
       "indices dim 1 is 49, expected 50"},
      {"not three indices", set(&Call::indices_desc, Descriptor(MLUOP_DTYPE_INT32, {2, 50, 4})),
       "indices dim 2 is 4, expected 3"},
      {"weights batch", set(&Call::weights_desc, Descriptor(kHalf, {1, 50, 3})), "weights dim 0 is 1, expected 2"},
      {"weights points", set(&Call::weights_desc, Descriptor(kHalf, {2, 51, 3})),
       "weights dim 1 is 51, expected 50"},
      {"not three weights", set(&Call::weights_desc, Descriptor(kHalf, {2, 50, 2})),
       "weights dim 2 is 2, expected 3"},
      {"features batch", set(&Call::grad_features_desc, Descriptor(kHalf, {3, 20, 9})),
       "grad_features dim 0 is 3, expected 2"},
      {"features channels", set(&Call::grad_features_desc, Descriptor(kHalf, {2, 21, 9})),
       "grad_features dim 1 is 21, expected 20"},
      {"gradient strides",
       set(&Call::grad_output_desc, Descriptor::with_strides(kHalf, {2, 20, 50}, {1001, 50, 1})),
       "grad_output has strides [1001, 50, 1], expected a contiguous tensor of shape [2, 20, 50]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"indices strides",
       set(&Call::indices_desc, Descriptor::with_strides(MLUOP_DTYPE_INT32, {2, 50, 3}, {150, 1, 50})),
       "indices has strides [150, 1, 50], expected a contiguous tensor of shape [2, 50, 3]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"weights strides", set(&Call::weights_desc, Descriptor::with_strides(kHalf, {2, 50, 3}, {150, 4, 1})),
       "weights has strides [150, 4, 1], expected a contiguous tensor of shape [2, 50, 3]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"features strides",
       set(&Call::grad_features_desc, Descriptor::with_strides(kHalf, {2, 20, 9}, {180, 1, 20})),
       "grad_features has strides [180, 1, 20], expected a contiguous tensor of shape [2, 20, 9]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"null gradient", set(&Call::grad_output, nullptr),
       "grad_output is null, expected the data of a tensor [2, 20, 50]"},
      {"null indices", set(&Call::indices, nullptr), "indices is null, expected the data of a tensor [2, 50, 3]"},
      {"null weights", set(&Call::weights, nullptr), "weights is null, expected the data of a tensor [2, 50, 3]"},
      {"null features", set(&Call::grad_features, nullptr),
       "grad_features is null, expected the data of a tensor [2, 20, 9]"},
      {"in place", [](auto& c) { c.grad_features = c.grad_output_buffer.data(); },
       "grad_features overlaps grad_output" + own},
      {"output ends in indices", [](auto& c) { c.indices = c.grad_features_buffer.data() + 358; },
       "grad_features overlaps indices" + own},
      {"output in weights", [](auto& c) { c.weights = c.grad_features_buffer.data(); },
       "grad_features overlaps weights" + own},
  };
  expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
}

// The sizes without elements of section 3.6 of the design document, and each dimension separately.
TEST(OpsThreeInterpolateBackwardErrors, NoElements) {
  struct Shapes {
    std::vector<int64_t> grad_output, indices, weights, grad_features;
    const char* message;
  };
  const Shapes kShapes[] = {
      {{0, 128, 128}, {0, 128, 3}, {0, 128, 3}, {0, 128, 128}, "grad_output dim 0 is 0, expected at least 1"},
      {{16, 0, 128}, {16, 128, 3}, {16, 128, 3}, {16, 128, 0}, "grad_features dim 1 is 128, expected 0"},
      {{16, 128, 128}, {16, 128, 3}, {16, 128, 3}, {16, 128, 0}, "grad_features dim 2 is 0, expected at least 1"},
      {{16, 128, 0}, {16, 0, 3}, {16, 0, 3}, {16, 128, 128}, "grad_output dim 2 is 0, expected at least 1"},
      {{0, 0, 0}, {0, 0, 3}, {0, 0, 3}, {0, 0, 0}, "grad_output dim 0 is 0, expected at least 1"},
      {{16, 0, 128}, {16, 128, 3}, {16, 128, 3}, {16, 0, 128}, "grad_output dim 1 is 0, expected at least 1"},
  };
  Table::Rows rows;
  for (const Shapes& shapes : kShapes) {
    rows.push_back({shapes.message,
                    set_all(set(&Call::grad_output_desc, Descriptor(MLUOP_DTYPE_HALF, shapes.grad_output)),
                            set(&Call::indices_desc, Descriptor(MLUOP_DTYPE_INT32, shapes.indices)),
                            set(&Call::weights_desc, Descriptor(MLUOP_DTYPE_HALF, shapes.weights)),
                            set(&Call::grad_features_desc, Descriptor(MLUOP_DTYPE_HALF, shapes.grad_features))),
                    shapes.message});
  }
  expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
}

// The message names the first index out of range, independent of the task that finds one first.
TEST(OpsThreeInterpolateBackwardErrors, IndicesOutOfRange) {
  // Channels below and above the threshold for grouping.
  constexpr ThreeInterpolateSizes kSizes[] = {{3, 17, 5000, 9}, {3, 50, 5000, 9}};
  const auto put = [](int64_t place, int32_t index) {
    return [=](Call& c) { c.indices_buffer[static_cast<size_t>(place)] = index; };
  };
  const Table::Rows rows = {
      {"one too large", put(0, 9), "indices[0, 0, 0] is 9, expected 0 to 8"},
      {"negative", put(5000 * 3 + 4, -1), "indices[1, 1, 1] is -1, expected 0 to 8"},
      {"smallest", put(3 * 5000 * 3 - 1, INT_MIN), "indices[2, 4999, 2] is -2147483648, expected 0 to 8"},
      {"largest", put(4095, INT_MAX), "indices[0, 1365, 0] is 2147483647, expected 0 to 8"},
      {"several",
       [&](Call& c) {
         for (const int64_t place : {40000, 30001, 20002, 44999}) put(place, static_cast<int32_t>(place))(c);
       },
       "indices[1, 1667, 1] is 20002, expected 0 to 8"},
  };
  for (const int count : {1, 2, 3, 7, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    for (const ThreeInterpolateSizes& sizes : kSizes) {
      expect_errors(Table{.inputs = valid_inputs(sizes), .rows = rows});
    }
  }
}

// Every device accepts 2^23 features; the 200 series does not support more. An invalid type of the weights, which
// is checked later, ends an accepted call before it reads data.
TEST(OpsThreeInterpolateBackwardErrors, FeaturesOfThe200Series) {
  for (const std::string device : {"mlu270", "mlu290", "mlu370", "mlu590"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device.c_str());
    const auto features = [](int64_t count) {
      return set_all(set(&Call::grad_features_desc, Descriptor(MLUOP_DTYPE_HALF, {2, 20, count})),
                     set(&Call::weights_desc, Descriptor(MLUOP_DTYPE_INT64, {2, 50, 3})));
    };
    const std::string other_weights = "weights has data type INT64, expected HALF";
    const int64_t limit = int64_t{1} << 23;
    Table::Rows rows = {{"2^23", features(limit), other_weights}};
    if (device == "mlu270" || device == "mlu290") {
      rows.push_back({"2^23 + 1", features(limit + 1),
                      "grad_features dim 2 is 8388609, expected at most 2^23 on " + device,
                      MLUOP_STATUS_NOT_SUPPORTED});
    } else {
      rows.push_back({"2^23 + 1", features(limit + 1), other_weights});
    }
    expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
  }
}

TEST(OpsThreeInterpolateBackwardErrors, NramTooSmall) {
  const ScopedEnvironment environment("MLUOP_OMP_NRAM_KB", "1");
  expect_errors(Table{.inputs = valid_inputs(),
                      .rows = {{"1 KiB", no_change, "MLUOP_OMP_NRAM_KB is 1, expected ", MLUOP_STATUS_ALLOC_FAILED,
                                Match::kBeginning}}});
}

// Tensors that are adjacent in memory do not overlap.
TEST(OpsThreeInterpolateBackwardErrors, AdjacentTensorsAreAccepted) {
  const Handle handle;
  Call call(handle, valid_inputs());
  std::vector<Half> both(2000 + 360);
  call.grad_output = both.data();
  call.grad_features = both.data() + 2000;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

}  // namespace
}  // namespace mluop::test
