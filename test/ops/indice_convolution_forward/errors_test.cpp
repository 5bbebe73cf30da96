// Every rule of mluOpIndiceConvolutionForward and its query: one bad argument, one status, a message that names
// the parameter, and an output that stays as it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <functional>
#include <string>

#include "ops/indice_convolution_forward/call.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using Call = IndiceConvolutionCall<Half>;

constexpr auto kBad = MLUOP_STATUS_BAD_PARAM;
constexpr auto kUnsupported = MLUOP_STATUS_NOT_SUPPORTED;
constexpr auto kHalf = MLUOP_DTYPE_HALF;
constexpr IndiceConvolutionSizes kSizes = {50, 40, 6, 9, 3, 1, 2};
constexpr size_t kUntouched = 12345;

// Also the query refuses it, or only the operator.
enum class Refuses { kBoth, kOperator };

struct BadCall {
  const char* rule;
  std::function<void(Call&)> spoil;
  mluOpStatus_t status;
  std::string message;  // after "[<function>] "
};

Descriptor strided(mluOpDataType_t dtype, const std::vector<int64_t>& dims, const std::vector<int64_t>& strides,
                   mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY) {
  Descriptor desc;
  require(mluOpSetTensorDescriptorEx_v2(desc, layout, dtype, static_cast<int>(dims.size()), dims.data(),
                                        strides.data()));
  return desc;
}

bool same_bytes(const GuardedBuffer<Half>& buffer, const std::vector<Half>& before) {
  return std::memcmp(buffer.data(), before.data(), before.size() * sizeof(Half)) == 0;
}

void expect_refused(const BadCall& bad, Refuses who, const Handle& handle,
                    const IndiceConvolutionInputs<Half>& inputs) {
  SCOPED_TRACE(bad.rule);
  Call call(handle, inputs);
  const auto before = call.features_out_buffer.values();
  bad.spoil(call);
  EXPECT_EQ(call.run(), bad.status);
  EXPECT_EQ(mluOpOmpGetLastError(), "[mluOpIndiceConvolutionForward] " + bad.message);
  EXPECT_TRUE(same_bytes(call.features_out_buffer, before));
  EXPECT_TRUE(call.features_out_buffer.intact() && call.workspace_buffer.intact());
  size_t size = kUntouched;
  if (who == Refuses::kOperator) {
    EXPECT_EQ(call.query(&size), MLUOP_STATUS_SUCCESS);
    return;
  }
  EXPECT_EQ(call.query(&size), bad.status);
  EXPECT_EQ(mluOpOmpGetLastError(), "[mluOpGetIndiceConvolutionForwardWorkspaceSize] " + bad.message);
  EXPECT_EQ(size, kUntouched);
}

void expect_refused_in_both_modes(const BadCall& bad, Refuses who) {
  for (const auto mode : {MLUOP_ATOMICS_NOT_ALLOWED, MLUOP_ATOMICS_ALLOWED}) {
    auto random = seeded_random();
    expect_refused(bad, who, Handle(mode), random_indice_convolution<Half>(kSizes, FilterLayout::kNdhwc, random));
  }
}

TEST(OpsIndiceConvolutionForwardErrors, Descriptors) {
  const auto kInt = MLUOP_DTYPE_INT32;
  const auto kNdhwc = MLUOP_LAYOUT_NDHWC;
  const Descriptor int_features(kInt, {50, 6}), float_features(MLUOP_DTYPE_FLOAT, {50, 6}),
      float_filters(MLUOP_DTYPE_FLOAT, {9, 3, 1, 2, 6}, kNdhwc), long_pairs(MLUOP_DTYPE_INT64, {6, 2, 50}),
      float_output(MLUOP_DTYPE_FLOAT, {40, 9}), empty;
  const Descriptor nc_features(kHalf, {50, 6}, MLUOP_LAYOUT_NC),
      nhwc_filters(kHalf, {9, 3, 1, 2, 6}, MLUOP_LAYOUT_NHWC), ncl_pairs(kInt, {6, 2, 50}, MLUOP_LAYOUT_NCL),
      nc_output(kHalf, {40, 9}, MLUOP_LAYOUT_NC);
  const Descriptor deep_features(kHalf, {50, 6, 1}), flat_filters(kHalf, {9, 3, 2, 6}, MLUOP_LAYOUT_NHWC),
      deep_filters(kHalf, {1, 9, 3, 1, 2, 6}), flat_pairs(kInt, {12, 50}), deep_output(kHalf, {40, 9, 1});
  const Descriptor wide_features(kHalf, {50, 7}), more_features(kHalf, {51, 6}), pairs_of_seven(kInt, {7, 2, 50}),
      three_of_pair(kInt, {6, 3, 50}), short_pairs(kInt, {6, 2, 49}), narrow_output(kHalf, {40, 8}),
      more_output(kHalf, {41, 9}), ncdhw_filters(kHalf, {9, 3, 1, 2, 6}, MLUOP_LAYOUT_NCDHW),
      array_filters(kHalf, {9, 3, 1, 2, 6});
  const Descriptor no_outputs(kHalf, {0, 3, 1, 2, 6}, kNdhwc), no_depth(kHalf, {9, 0, 1, 2, 6}, kNdhwc),
      no_inputs(kHalf, {9, 3, 1, 2, 0}, kNdhwc);
  const Descriptor strided_features = strided(kHalf, {50, 6}, {7, 1}),
                   strided_filters = strided(kHalf, {9, 3, 1, 2, 6}, {1, 108, 108, 54, 9}, kNdhwc),
                   strided_pairs = strided(kInt, {6, 2, 50}, {100, 1, 2}),
                   strided_output = strided(kHalf, {40, 9}, {1, 40});
  const BadCall kTable[] = {
      {"null handle", [](auto& c) { c.handle = nullptr; }, kBad, "handle is null"},
      {"null features desc", [](auto& c) { c.features_desc = nullptr; }, kBad, "features_desc is null"},
      {"null filters desc", [](auto& c) { c.filters_desc = nullptr; }, kBad, "filters_desc is null"},
      {"null pairs desc", [](auto& c) { c.indice_pairs_desc = nullptr; }, kBad, "indice_pairs_desc is null"},
      {"null output desc", [](auto& c) { c.features_out_desc = nullptr; }, kBad, "features_out_desc is null"},
      {"features neither half nor float", [&](auto& c) { c.features_desc = int_features; }, kBad,
       "features has data type INT32, expected FLOAT or HALF"},
      {"empty descriptor", [&](auto& c) { c.features_desc = empty; }, kBad,
       "features has data type INVALID, expected FLOAT or HALF"},
      {"float features, half filters", [&](auto& c) { c.features_desc = float_features; }, kBad,
       "filters has data type HALF, expected FLOAT"},
      {"filters dtype", [&](auto& c) { c.filters_desc = float_filters; }, kBad,
       "filters has data type FLOAT, expected HALF"},
      {"pairs dtype", [&](auto& c) { c.indice_pairs_desc = long_pairs; }, kBad,
       "indice_pairs has data type INT64, expected INT32"},
      {"output dtype", [&](auto& c) { c.features_out_desc = float_output; }, kBad,
       "features_out has data type FLOAT, expected HALF"},
      {"features layout", [&](auto& c) { c.features_desc = nc_features; }, kBad,
       "features has layout NC, expected ARRAY"},
      {"filters layout", [&](auto& c) { c.filters_desc = nhwc_filters; }, kUnsupported,
       "filters has layout NHWC, expected NDHWC, NCDHW or ARRAY"},
      {"pairs layout", [&](auto& c) { c.indice_pairs_desc = ncl_pairs; }, kBad,
       "indice_pairs has layout NCL, expected ARRAY"},
      {"output layout", [&](auto& c) { c.features_out_desc = nc_output; }, kBad,
       "features_out has layout NC, expected ARRAY"},
      {"features dims", [&](auto& c) { c.features_desc = deep_features; }, kBad,
       "features has 3 dimensions, expected 2"},
      {"two-dimensional filters", [&](auto& c) { c.filters_desc = flat_filters; }, kUnsupported,
       "filters has 4 dimensions, expected 5"},
      {"four-dimensional filters", [&](auto& c) { c.filters_desc = deep_filters; }, kUnsupported,
       "filters has 6 dimensions, expected 5"},
      {"pairs dims", [&](auto& c) { c.indice_pairs_desc = flat_pairs; }, kBad,
       "indice_pairs has 2 dimensions, expected 3"},
      {"output dims", [&](auto& c) { c.features_out_desc = deep_output; }, kBad,
       "features_out has 3 dimensions, expected 2"},
      {"filters without output channels", [&](auto& c) { c.filters_desc = no_outputs; }, kBad,
       "filters has shape [0, 3, 1, 2, 6], expected no dimension 0"},
      {"filters without depth", [&](auto& c) { c.filters_desc = no_depth; }, kBad,
       "filters has shape [9, 0, 1, 2, 6], expected no dimension 0"},
      {"filters without input channels", [&](auto& c) { c.filters_desc = no_inputs; }, kBad,
       "filters has shape [9, 3, 1, 2, 0], expected no dimension 0"},
      {"features channels", [&](auto& c) { c.features_desc = wide_features; }, kBad,
       "features dim 1 is 7, expected 6"},
      {"features rows", [&](auto& c) { c.features_desc = more_features; }, kBad,
       "indice_pairs dim 2 is 50, expected 51"},
      {"the filters' shape in NCDHW", [&](auto& c) { c.filters_desc = ncdhw_filters; }, kBad,
       "features dim 1 is 6, expected 3"},
      {"the filters' shape in ARRAY", [&](auto& c) { c.filters_desc = array_filters; }, kBad,
       "features dim 1 is 6, expected 2"},
      {"pairs offsets", [&](auto& c) { c.indice_pairs_desc = pairs_of_seven; }, kBad,
       "indice_pairs dim 0 is 7, expected 6"},
      {"not two of a pair", [&](auto& c) { c.indice_pairs_desc = three_of_pair; }, kBad,
       "indice_pairs dim 1 is 3, expected 2"},
      {"pairs rows", [&](auto& c) { c.indice_pairs_desc = short_pairs; }, kBad,
       "indice_pairs dim 2 is 49, expected 50"},
      {"output channels", [&](auto& c) { c.features_out_desc = narrow_output; }, kBad,
       "features_out dim 1 is 8, expected 9"},
      {"output rows", [&](auto& c) { c.features_out_desc = more_output; }, kBad,
       "num_act_out is 40, expected features_out dim 0, which is 41"},
      {"features strides", [&](auto& c) { c.features_desc = strided_features; }, kBad,
       "features has strides [7, 1], expected a contiguous tensor of shape [50, 6]"},
      {"filters strides", [&](auto& c) { c.filters_desc = strided_filters; }, kBad,
       "filters has strides [1, 108, 108, 54, 9], expected a contiguous tensor of shape [9, 3, 1, 2, 6]"},
      {"pairs strides", [&](auto& c) { c.indice_pairs_desc = strided_pairs; }, kBad,
       "indice_pairs has strides [100, 1, 2], expected a contiguous tensor of shape [6, 2, 50]"},
      {"output strides", [&](auto& c) { c.features_out_desc = strided_output; }, kBad,
       "features_out has strides [1, 40], expected a contiguous tensor of shape [40, 9]"},
  };
  for (const BadCall& bad : kTable) expect_refused_in_both_modes(bad, Refuses::kBoth);
}

TEST(OpsIndiceConvolutionForwardErrors, Scalars) {
  const auto num = [](size_t k, int64_t value) { return [=](Call& c) { c.num[k] = value; }; };
  const BadCall kTable[] = {
      {"num_act_out", [](auto& c) { c.num_act_out = 39; }, kBad,
       "num_act_out is 39, expected features_out dim 0, which is 40"},
      {"negative num_act_out", [](auto& c) { c.num_act_out = -1; }, kBad,
       "num_act_out is -1, expected features_out dim 0, which is 40"},
      {"inverse", [](auto& c) { c.inverse = 1; }, kUnsupported, "inverse is 1, expected 0"},
      {"inverse 2", [](auto& c) { c.inverse = 2; }, kBad, "inverse is 2, expected 0"},
      {"inverse -1", [](auto& c) { c.inverse = -1; }, kBad, "inverse is -1, expected 0"},
      {"sub_m 2", [](auto& c) { c.sub_m = 2; }, kBad, "sub_m is 2, expected 0 or 1"},
      {"sub_m -1", [](auto& c) { c.sub_m = -1; }, kBad, "sub_m is -1, expected 0 or 1"},
      {"null indice_num", [](auto& c) { c.indice_num = nullptr; }, kBad, "indice_num is null"},
      {"negative indice_num", num(0, -1), kBad, "indice_num[0] is -1, expected 0 to 50"},
      {"last indice_num", num(5, 51), kBad, "indice_num[5] is 51, expected 0 to 50"},
      {"least indice_num", num(3, INT64_MIN), kBad, "indice_num[3] is -9223372036854775808, expected 0 to 50"},
      {"most indice_num", num(3, INT64_MAX), kBad, "indice_num[3] is 9223372036854775807, expected 0 to 50"},
  };
  for (const BadCall& bad : kTable) expect_refused_in_both_modes(bad, Refuses::kBoth);
}

TEST(OpsIndiceConvolutionForwardErrors, Memory) {
  const std::string missing = " is null, expected the data of a tensor ";
  const std::string own = ", expected memory of its own";
  const BadCall kTable[] = {
      {"null features", [](auto& c) { c.features = nullptr; }, kBad, "features" + missing + "[50, 6]"},
      {"null filters", [](auto& c) { c.filters = nullptr; }, kBad, "filters" + missing + "[9, 3, 1, 2, 6]"},
      {"null pairs", [](auto& c) { c.indice_pairs = nullptr; }, kBad, "indice_pairs" + missing + "[6, 2, 50]"},
      {"null output", [](auto& c) { c.features_out = nullptr; }, kBad, "features_out" + missing + "[40, 9]"},
      {"null workspace", [](auto& c) { c.workspace = nullptr; }, kBad, "workspace is null"},
      {"in place", [](auto& c) { c.features_out = c.features_buffer.data(); }, kBad,
       "features_out overlaps features" + own},
      {"output ends in filters", [](auto& c) { c.filters = c.features_out_buffer.data() + 359; }, kBad,
       "features_out overlaps filters" + own},
      {"output begins in pairs", [](auto& c) { c.indice_pairs = c.features_out_buffer.data() - 598 * 2 - 2; },
       kBad, "features_out overlaps indice_pairs" + own},
      {"output in workspace", [](auto& c) { c.workspace = c.features_out; }, kBad,
       "features_out overlaps workspace" + own},
      {"features in workspace", [](auto& c) { c.features = c.workspace; }, kBad,
       "workspace overlaps features" + own},
      {"filters in workspace", [](auto& c) { c.filters = c.workspace; }, kBad, "workspace overlaps filters" + own},
      {"pairs in workspace", [](auto& c) { c.indice_pairs = c.workspace; }, kBad,
       "workspace overlaps indice_pairs" + own},
  };
  for (const BadCall& bad : kTable) expect_refused_in_both_modes(bad, Refuses::kOperator);
}

TEST(OpsIndiceConvolutionForwardErrors, SmallWorkspace) {
  auto random = seeded_random();
  const auto inputs = random_indice_convolution<Half>(kSizes, FilterLayout::kNdhwc, random);
  for (const auto mode : {MLUOP_ATOMICS_NOT_ALLOWED, MLUOP_ATOMICS_ALLOWED}) {
    const Handle handle(mode);
    const size_t needed = Call(handle, inputs).workspace_size;
    for (const size_t size : {needed - 1, size_t{0}}) {
      expect_refused(
          {"small", [=](auto& c) { c.workspace_size = size; }, kBad,
           "workspace_size is " + std::to_string(size) + ", expected at least " + std::to_string(needed)},
          Refuses::kOperator, handle, inputs);
    }
  }
}

// A workspace that the query measured for the deterministic mode is refused where the other one needs more.
TEST(OpsIndiceConvolutionForwardErrors, QueryIsOfTheMode) {
  auto random = seeded_random();
  const auto inputs = random_indice_convolution<Half>(kSizes, FilterLayout::kNdhwc, random);
  size_t bytes[2] = {0, 0};
  const Handle handle;
  const Call call(handle, inputs);
  for (const auto mode : {MLUOP_ATOMICS_NOT_ALLOWED, MLUOP_ATOMICS_ALLOWED}) {
    require(mluOpSetAtomicsMode(handle, mode));
    require(call.query(&bytes[mode == MLUOP_ATOMICS_ALLOWED]));
  }
  EXPECT_NE(bytes[0], bytes[1]);
  require(mluOpSetAtomicsMode(handle, bytes[0] < bytes[1] ? MLUOP_ATOMICS_ALLOWED : MLUOP_ATOMICS_NOT_ALLOWED));
  Call small(handle, inputs);
  small.workspace_size = std::min(bytes[0], bytes[1]);
  EXPECT_EQ(small.run(), kBad);
  require(mluOpSetAtomicsMode(handle, bytes[0] < bytes[1] ? MLUOP_ATOMICS_NOT_ALLOWED : MLUOP_ATOMICS_ALLOWED));
  EXPECT_EQ(small.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
}

TEST(OpsIndiceConvolutionForwardErrors, NullQuery) {
  auto random = seeded_random();
  const Handle handle;
  const Call call(handle, random_indice_convolution<Half>(kSizes, FilterLayout::kNdhwc, random));
  EXPECT_EQ(call.query(nullptr), kBad);
  EXPECT_STREQ(mluOpOmpGetLastError(), "[mluOpGetIndiceConvolutionForwardWorkspaceSize] workspace_size is null");
}

// Indices that only the data show.
TEST(OpsIndiceConvolutionForwardErrors, Indices) {
  // All positions count and are in range, until one is not.
  const auto index = [](size_t k, size_t side, size_t l, int32_t value) {
    return [=](Call& c) {
      c.pairs_buffer[(k * 2 + side) * 50 + l] = value;
      c.pairs_buffer[(k * 2 + 1 - side) * 50 + l] = 0;
    };
  };
  const std::string input = ", expected less than 50, the rows of features";
  const std::string output = ", expected less than 40, the rows of features_out";
  const BadCall kTable[] = {
      {"first input", index(0, 0, 0, 50), kBad, "indice_pairs[0, 0, 0] is 50" + input},
      {"input in the middle", index(3, 0, 23, 51), kBad, "indice_pairs[3, 0, 23] is 51" + input},
      {"last input", index(5, 0, 49, INT_MAX), kBad, "indice_pairs[5, 0, 49] is 2147483647" + input},
      {"first output", index(0, 1, 0, 40), kBad, "indice_pairs[0, 1, 0] is 40" + output},
      {"output in the middle", index(2, 1, 31, 49), kBad, "indice_pairs[2, 1, 31] is 49" + output},
      {"last output", index(5, 1, 49, INT_MAX), kBad, "indice_pairs[5, 1, 49] is 2147483647" + output},
      {"several",
       [&](auto& c) {
         index(4, 0, 2, 60)(c);
         index(1, 1, 30, 40)(c);
         index(1, 0, 31, 50)(c);
       },
       kBad, "indice_pairs[1, 1, 30] is 40" + output},
  };
  for (const auto mode : {MLUOP_ATOMICS_NOT_ALLOWED, MLUOP_ATOMICS_ALLOWED}) {
    auto random = seeded_random();
    auto inputs = random_indice_convolution<Half>(kSizes, FilterLayout::kNdhwc, random);
    inputs.indice_num.assign(6, 50);
    for (size_t i = 0; i < inputs.indice_pairs.size(); ++i) inputs.indice_pairs[i] = static_cast<int32_t>(i % 40);
    for (const BadCall& bad : kTable) expect_refused(bad, Refuses::kOperator, Handle(mode), inputs);
  }
}

// The first of several bad indices is named, whichever task finds which, and the output of any size stays
// untouched.
TEST(OpsIndiceConvolutionForwardErrors, FirstBadIndexOfManyTasks) {
  const IndiceConvolutionSizes sizes{30000, 28000, 4, 8, 1, 1, 3};
  auto random = seeded_random();
  auto inputs = random_indice_convolution<Half>(sizes, FilterLayout::kNdhwc, random);
  inputs.indice_num.assign(3, 30000);
  for (int32_t& index : inputs.indice_pairs) index = static_cast<int32_t>(random() % 28000);
  for (const size_t place : {29999, 29000, 28001}) inputs.indice_pairs[2 * 60000 + place] = 30000;
  for (const size_t place : {25000, 17003, 17004}) inputs.indice_pairs[60000 + 30000 + place] = 28000;
  for (const auto mode : {MLUOP_ATOMICS_NOT_ALLOWED, MLUOP_ATOMICS_ALLOWED}) {
    for (const int count : {1, 2, 7, 64}) {
      const ScopedThreads threads(count);
      expect_refused({"many", [](auto&) {}, kBad,
                      "indice_pairs[1, 1, 17003] is 28000, expected less than 28000, the rows of features_out"},
                     Refuses::kOperator, Handle(mode), inputs);
    }
  }
}

TEST(OpsIndiceConvolutionForwardErrors, LargeTensors) {
  constexpr int64_t kMany = int64_t{1} << 31;
  const Descriptor many_features(kHalf, {kMany, 6}), many_pairs(MLUOP_DTYPE_INT32, {6, 2, kMany}),
      many_outputs(kHalf, {kMany, 9});
  const Descriptor most_features(kHalf, {kMany - 1, 6}), most_pairs(MLUOP_DTYPE_INT32, {6, 2, kMany - 1}),
      huge_features(kHalf, {50, int64_t{1} << 56}),
      huge_filters(kHalf, {9, 3, 1, 2, int64_t{1} << 56}, MLUOP_LAYOUT_NDHWC);
  const BadCall kTable[] = {
      {"2^31 inputs",
       [&](auto& c) {
         c.features_desc = many_features;
         c.indice_pairs_desc = many_pairs;
       },
       kUnsupported, "features has 2147483648 rows, expected fewer than 2^31"},
      {"2^31 outputs",
       [&](auto& c) {
         c.features_out_desc = many_outputs;
         c.num_act_out = kMany;
       },
       kUnsupported, "features_out has 2147483648 rows, expected fewer than 2^31"},
      {"2^31 pairs",
       [&](auto& c) {
         c.features_desc = most_features;
         c.indice_pairs_desc = most_pairs;
         c.num.assign(6, kMany - 1);
         c.indice_num = c.num.data();
       },
       kUnsupported, "indice_num counts 2^31 pairs or more, expected fewer"},
      {"2^62 bytes of filters",
       [&](auto& c) {
         c.features_desc = huge_features;
         c.filters_desc = huge_filters;
       },
       kBad, "filters has 7782220156096217088 bytes, expected fewer than 2^56"},
  };
  for (const BadCall& bad : kTable) expect_refused_in_both_modes(bad, Refuses::kBoth);
}

TEST(OpsIndiceConvolutionForwardErrors, DevicesWithoutTheOperator) {
  auto random = seeded_random();
  const auto inputs = random_indice_convolution<Half>(kSizes, FilterLayout::kNdhwc, random);
  const Handle mlu370;
  Call call(mlu370, inputs);
  for (const char* device : {"mlu270", "mlu290"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device);
    const Handle handle;
    call.handle = handle;
    const auto before = call.features_out_buffer.values();
    size_t size = kUntouched;
    const std::string message = std::string("device is ") + device + ", expected mlu370 or mlu590";
    EXPECT_EQ(call.run(), MLUOP_STATUS_ARCH_MISMATCH);
    EXPECT_EQ(mluOpOmpGetLastError(), "[mluOpIndiceConvolutionForward] " + message);
    EXPECT_TRUE(same_bytes(call.features_out_buffer, before));
    EXPECT_EQ(call.query(&size), MLUOP_STATUS_ARCH_MISMATCH);
    EXPECT_EQ(mluOpOmpGetLastError(), "[mluOpGetIndiceConvolutionForwardWorkspaceSize] " + message);
    EXPECT_EQ(size, kUntouched);
  }
  const ScopedEnvironment environment("MLUOP_OMP_DEVICE", "mlu590");
  const Handle handle;
  EXPECT_EQ(Call(handle, inputs).run(), MLUOP_STATUS_SUCCESS);
}

// What is empty succeeds with bad data pointers and workspace, but not with bad descriptors or scalars.
TEST(OpsIndiceConvolutionForwardErrors, EmptyTensorsAreCheckedToo) {
  const Handle handle;
  IndiceConvolutionInputs<Half> inputs{{0, 40, 6, 9, 3, 1, 2}, FilterLayout::kNdhwc, {}, {}, {}, {}};
  inputs.indice_num.assign(6, 0);
  const BadCall kTable[] = {
      {"inverse", [](auto& c) { c.inverse = 1; }, kUnsupported, "inverse is 1, expected 0"},
      {"indice_num", [](auto& c) { c.num[1] = 1; }, kBad, "indice_num[1] is 1, expected 0 to 0"},
  };
  for (const BadCall& bad : kTable) expect_refused(bad, Refuses::kBoth, handle, inputs);
  expect_refused({"null output", [](auto& c) { c.features_out = nullptr; }, kBad,
                  "features_out is null, expected the data of a tensor [40, 9]"},
                 Refuses::kOperator, handle, inputs);
}

}  // namespace
}  // namespace mluop::test
