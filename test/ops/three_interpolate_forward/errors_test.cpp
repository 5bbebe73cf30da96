// Every rule that mluOpThreeInterpolateForward checks.
#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <vector>

#include "ops/three_interpolate_forward/call.h"
#include "support/environment.h"
#include "support/error_table.h"

namespace mluop::test {
namespace {

using Call = ThreeInterpolateForwardCall<Half>;
using Table = ErrorTable<Call>;

ThreeInterpolateForwardInputs<Half> valid_inputs(const ThreeInterpolateForwardSizes& sizes = {2, 20, 9, 50}) {
  auto random = seeded_random();
  return random_three_interpolate_forward<Half>(sizes, random);
}

TEST(OpsThreeInterpolateForwardErrors, Rules) {
  const auto kHalf = MLUOP_DTYPE_HALF;
  const std::string own = ", expected memory of its own";

  const Table::Rows rows = {
      {"null handle", set(&Call::handle, nullptr), "handle is null"},
      {"null features desc", set(&Call::features_desc, nullptr), "features_desc is null"},
      {"null indices desc", set(&Call::indices_desc, nullptr), "indices_desc is null"},
      {"null weights desc", set(&Call::weights_desc, nullptr), "weights_desc is null"},
      {"null output desc", set(&Call::output_desc, nullptr), "output_desc is null"},
      {"features neither half nor float", set(&Call::features_desc, Descriptor(MLUOP_DTYPE_INT32, {2, 20, 9})),
       "features has data type INT32, expected FLOAT or HALF"},
      {"empty descriptor", set(&Call::features_desc, Descriptor()),
       "features has data type INVALID, expected FLOAT or HALF"},
      {"float features of half weights", set(&Call::features_desc, Descriptor(MLUOP_DTYPE_FLOAT, {2, 20, 9})),
       "weights has data type HALF, expected FLOAT"},
      {"indices dtype", set(&Call::indices_desc, Descriptor(MLUOP_DTYPE_INT64, {2, 50, 3})),
       "indices has data type INT64, expected INT32"},
      {"weights dtype", set(&Call::weights_desc, Descriptor(MLUOP_DTYPE_FLOAT, {2, 50, 3})),
       "weights has data type FLOAT, expected HALF"},
      {"output dtype", set(&Call::output_desc, Descriptor(MLUOP_DTYPE_FLOAT, {2, 20, 50})),
       "output has data type FLOAT, expected HALF"},
      {"features layout", set(&Call::features_desc, Descriptor(kHalf, {2, 20, 9}, MLUOP_LAYOUT_NCL)),
       "features has layout NCL, expected ARRAY"},
      {"indices layout", set(&Call::indices_desc, Descriptor(MLUOP_DTYPE_INT32, {2, 50, 3}, MLUOP_LAYOUT_NLC)),
       "indices has layout NLC, expected ARRAY"},
      {"weights layout", set(&Call::weights_desc, Descriptor(kHalf, {2, 50, 3}, MLUOP_LAYOUT_NCL)),
       "weights has layout NCL, expected ARRAY"},
      {"output layout", set(&Call::output_desc, Descriptor(kHalf, {2, 20, 50}, MLUOP_LAYOUT_NCL)),
       "output has layout NCL, expected ARRAY"},
      {"features dims", set(&Call::features_desc, Descriptor(kHalf, {40, 9})),
       "features has 2 dimensions, expected 3"},
      {"indices dims", set(&Call::indices_desc, Descriptor(MLUOP_DTYPE_INT32, {2, 50, 3, 1})),
       "indices has 4 dimensions, expected 3"},
      {"weights dims", set(&Call::weights_desc, Descriptor(kHalf, {100, 3})),
       "weights has 2 dimensions, expected 3"},
      {"output dims", set(&Call::output_desc, Descriptor(kHalf, {2, 20, 50, 1})),
       "output has 4 dimensions, expected 3"},
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
      {"output batch", set(&Call::output_desc, Descriptor(kHalf, {3, 20, 50})), "output dim 0 is 3, expected 2"},
      {"output channels", set(&Call::output_desc, Descriptor(kHalf, {2, 21, 50})),
       "output dim 1 is 21, expected 20"},
      {"features strides", set(&Call::features_desc, Descriptor::with_strides(kHalf, {2, 20, 9}, {181, 9, 1})),
       "features has strides [181, 9, 1], expected a contiguous tensor of shape [2, 20, 9]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"indices strides",
       set(&Call::indices_desc, Descriptor::with_strides(MLUOP_DTYPE_INT32, {2, 50, 3}, {150, 1, 50})),
       "indices has strides [150, 1, 50], expected a contiguous tensor of shape [2, 50, 3]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"weights strides", set(&Call::weights_desc, Descriptor::with_strides(kHalf, {2, 50, 3}, {150, 4, 1})),
       "weights has strides [150, 4, 1], expected a contiguous tensor of shape [2, 50, 3]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"output strides", set(&Call::output_desc, Descriptor::with_strides(kHalf, {2, 20, 50}, {1000, 1, 20})),
       "output has strides [1000, 1, 20], expected a contiguous tensor of shape [2, 20, 50]",
       MLUOP_STATUS_NOT_SUPPORTED},
      {"null features", set(&Call::features, nullptr),
       "features is null, expected the data of a tensor [2, 20, 9]"},
      {"null indices", set(&Call::indices, nullptr), "indices is null, expected the data of a tensor [2, 50, 3]"},
      {"null weights", set(&Call::weights, nullptr), "weights is null, expected the data of a tensor [2, 50, 3]"},
      {"null output", set(&Call::output, nullptr), "output is null, expected the data of a tensor [2, 20, 50]"},
      {"output in features", [](auto& c) { c.features = c.output_buffer.data() + 100; },
       "output overlaps features" + own},
      {"output ends in indices", [](auto& c) { c.indices = c.output_buffer.data() + 1998; },
       "output overlaps indices" + own},
      {"output in weights", [](auto& c) { c.weights = c.output_buffer.data(); }, "output overlaps weights" + own},
  };
  expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
}

TEST(OpsThreeInterpolateForwardErrors, NoElements) {
  struct Shapes {
    std::vector<int64_t> features, indices, weights, output;
    const char* message;
  };
  const Shapes kShapes[] = {
      {{0, 20, 9}, {0, 50, 3}, {0, 50, 3}, {0, 20, 50}, "features dim 0 is 0, expected at least 1"},
      {{2, 0, 9}, {2, 50, 3}, {2, 50, 3}, {2, 0, 50}, "features dim 1 is 0, expected at least 1"},
      {{2, 20, 0}, {2, 50, 3}, {2, 50, 3}, {2, 20, 50}, "features dim 2 is 0, expected at least 1"},
      {{2, 20, 9}, {2, 0, 3}, {2, 0, 3}, {2, 20, 0}, "output dim 2 is 0, expected at least 1"},
      {{0, 0, 0}, {0, 0, 3}, {0, 0, 3}, {0, 0, 0}, "features dim 0 is 0, expected at least 1"},
  };
  Table::Rows rows;
  for (const Shapes& shapes : kShapes) {
    rows.push_back({shapes.message,
                    set_all(set(&Call::features_desc, Descriptor(MLUOP_DTYPE_HALF, shapes.features)),
                            set(&Call::indices_desc, Descriptor(MLUOP_DTYPE_INT32, shapes.indices)),
                            set(&Call::weights_desc, Descriptor(MLUOP_DTYPE_HALF, shapes.weights)),
                            set(&Call::output_desc, Descriptor(MLUOP_DTYPE_HALF, shapes.output))),
                    shapes.message});
  }
  expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
}

// The message names the first index out of range, independent of the task that finds one first.
TEST(OpsThreeInterpolateForwardErrors, IndicesOutOfRange) {
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
    // Without and with packed features.
    for (const int64_t channels : {1, 17}) {
      expect_errors(Table{.inputs = valid_inputs({3, channels, 9, 5000}), .rows = rows});
    }
  }
}

// Every device accepts 2^23 features; the 200 series does not support more. An invalid type of the weights, which
// is checked later, ends an accepted call before it reads data.
TEST(OpsThreeInterpolateForwardErrors, FeaturesOfThe200Series) {
  for (const std::string device : {"mlu270", "mlu290", "mlu370", "mlu590"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device.c_str());
    const auto features = [](int64_t count) {
      return set_all(set(&Call::features_desc, Descriptor(MLUOP_DTYPE_HALF, {2, 20, count})),
                     set(&Call::weights_desc, Descriptor(MLUOP_DTYPE_INT64, {2, 50, 3})));
    };
    const std::string other_weights = "weights has data type INT64, expected HALF";
    const int64_t limit = int64_t{1} << 23;
    Table::Rows rows = {{"2^23", features(limit), other_weights}};
    if (device == "mlu270" || device == "mlu290") {
      rows.push_back({"2^23 + 1", features(limit + 1),
                      "features dim 2 is 8388609, expected at most 2^23 on " + device,
                      MLUOP_STATUS_NOT_SUPPORTED});
    } else {
      rows.push_back({"2^23 + 1", features(limit + 1), other_weights});
    }
    expect_errors(Table{.inputs = valid_inputs(), .rows = rows});
  }
}

// Each tensor fits int64_t, their sum does not. The data of none is read.
TEST(OpsThreeInterpolateForwardErrors, BytesExceedInt64) {
  constexpr int64_t kPoints = int64_t{1} << 60;
  const auto change =
      set_all(set(&Call::features_desc, Descriptor(MLUOP_DTYPE_HALF, {1, 2, 9})),
              set(&Call::indices_desc, Descriptor(MLUOP_DTYPE_INT32, {1, kPoints / 2, 3})),
              set(&Call::weights_desc, Descriptor(MLUOP_DTYPE_HALF, {1, kPoints / 2, 3})),
              set(&Call::output_desc, Descriptor(MLUOP_DTYPE_HALF, {1, 2, kPoints / 2})), [](Call& c) {
                // Far apart: addresses are compared only.
                c.output = reinterpret_cast<void*>(uintptr_t{1} << 63);
                c.indices = reinterpret_cast<const void*>(uintptr_t{1} << 46);
                c.weights = reinterpret_cast<const void*>(uintptr_t{1} << 45);
              });
  expect_errors(Table{.inputs = valid_inputs(),
                      .rows = {{"more than 2^63", change, "the size in bytes of all tensors exceeds 2^63 - 1"}}});
}

// Tensors that are adjacent in memory do not overlap.
TEST(OpsThreeInterpolateForwardErrors, AdjacentTensorsAreAccepted) {
  const Handle handle;
  Call call(handle, valid_inputs());
  std::vector<Half> both(360 + 2000);
  call.features = both.data();
  call.output = both.data() + 360;
  EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

}  // namespace
}  // namespace mluop::test
