// Every rule of mluOpDynamicScatterBackward and its query: one bad argument, one status, a message that names the
// parameter, and an output that stays as it was.
#include <gtest/gtest.h>

#include <climits>
#include <cstring>
#include <functional>
#include <string>

#include "ops/dynamic_scatter_backward/call.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

constexpr auto kBad = MLUOP_STATUS_BAD_PARAM;
constexpr DynamicScatterSizes kSizes = {50, 20, 6, 18};

struct BadCall {
  const char* rule;
  std::function<void(DynamicScatterCall&)> spoil;
  mluOpStatus_t status;
  std::string message;  // after "[<function>] "
};

Descriptor strided(mluOpDataType_t dtype, const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
  Descriptor desc;
  require(mluOpSetTensorDescriptorEx_v2(desc, MLUOP_LAYOUT_ARRAY, dtype, static_cast<int>(dims.size()),
                                        dims.data(), strides.data()));
  return desc;
}

void expect_refused(const BadCall& bad, const Handle& handle, const DynamicScatterInputs& inputs) {
  SCOPED_TRACE(bad.rule);
  DynamicScatterCall call(handle, inputs);
  const std::vector<float> before = call.output();
  bad.spoil(call);
  EXPECT_EQ(call.run(), bad.status);
  EXPECT_EQ(mluOpOmpGetLastError(), "[mluOpDynamicScatterBackward] " + bad.message);
  EXPECT_EQ(call.run_alias(), bad.status);
  EXPECT_EQ(mluOpOmpGetLastError(), "[mluOpDynamicPointToVoxelBackward] " + bad.message);
  // Bytes, not values: what an output held before may be a NaN.
  const std::vector<float> after = call.output();
  EXPECT_EQ(std::memcmp(after.data(), before.data(), before.size() * sizeof(float)), 0);
}

void expect_refused_in_both_modes(const BadCall& bad) {
  for (const auto mode : {MLUOP_ATOMICS_NOT_ALLOWED, MLUOP_ATOMICS_ALLOWED}) {
    const Handle handle(mode);
    auto random = seeded_random();
    expect_refused(bad, handle, random_dynamic_scatter(kSizes, random));
  }
}

TEST(OpsDynamicScatterBackwardErrors, Descriptors) {
  const Descriptor half_feats(MLUOP_DTYPE_HALF, {50, 6}), int_voxels(MLUOP_DTYPE_INT32, {20, 6}),
      long_map(MLUOP_DTYPE_INT64, {50}), float_count(MLUOP_DTYPE_FLOAT, {20}), float_num(MLUOP_DTYPE_FLOAT, {1}),
      empty;
  const Descriptor nc_feats(MLUOP_DTYPE_FLOAT, {50, 6}, MLUOP_LAYOUT_NC),
      nchw_map(MLUOP_DTYPE_INT32, {50}, MLUOP_LAYOUT_NCHW);
  const Descriptor deep_feats(MLUOP_DTYPE_FLOAT, {50, 6, 1}), flat_voxels(MLUOP_DTYPE_FLOAT, {120}),
      deep_map(MLUOP_DTYPE_INT32, {50, 1}), deep_num(MLUOP_DTYPE_INT32, {1, 1});
  const Descriptor wide_voxels(MLUOP_DTYPE_FLOAT, {20, 7}), more_voxels(MLUOP_DTYPE_FLOAT, {21, 6}),
      short_map(MLUOP_DTYPE_INT32, {49}), long_count(MLUOP_DTYPE_INT32, {21}), two_num(MLUOP_DTYPE_INT32, {2}),
      short_output(MLUOP_DTYPE_FLOAT, {49, 6}), narrow_output(MLUOP_DTYPE_FLOAT, {50, 5}),
      empty_output(MLUOP_DTYPE_FLOAT, {0, 6});
  const Descriptor strided_feats = strided(MLUOP_DTYPE_FLOAT, {50, 6}, {7, 1}),
                   strided_output = strided(MLUOP_DTYPE_FLOAT, {50, 6}, {1, 50});
  const BadCall kTable[] = {
      {"null handle", [](auto& c) { c.handle = nullptr; }, kBad, "handle is null"},
      {"sum", [](auto& c) { c.reduce_type = MLUOP_REDUCEMODE_SUM; }, kBad,
       "reduce_type is 0, expected MLUOP_REDUCE_DMAX (2)"},
      {"mean", [](auto& c) { c.reduce_type = MLUOP_REDUCEMODE_MEAN; }, kBad,
       "reduce_type is 1, expected MLUOP_REDUCE_DMAX (2)"},
      {"null grad_voxel_feats desc", [](auto& c) { c.grad_voxel_feats_desc = nullptr; }, kBad,
       "grad_voxel_feats_desc is null"},
      {"null feats desc", [](auto& c) { c.feats_desc = nullptr; }, kBad, "feats_desc is null"},
      {"null voxel_feats desc", [](auto& c) { c.voxel_feats_desc = nullptr; }, kBad, "voxel_feats_desc is null"},
      {"null map desc", [](auto& c) { c.point2voxel_map_desc = nullptr; }, kBad, "point2voxel_map_desc is null"},
      {"null count desc", [](auto& c) { c.voxel_points_count_desc = nullptr; }, kBad,
       "voxel_points_count_desc is null"},
      {"null num desc", [](auto& c) { c.voxel_num_desc = nullptr; }, kBad, "voxel_num_desc is null"},
      {"null grad_feats desc", [](auto& c) { c.grad_feats_desc = nullptr; }, kBad, "grad_feats_desc is null"},
      {"feats dtype", [&](auto& c) { c.feats_desc = half_feats; }, kBad,
       "feats has data type HALF, expected FLOAT"},
      {"grad_voxel_feats dtype", [&](auto& c) { c.grad_voxel_feats_desc = int_voxels; }, kBad,
       "grad_voxel_feats has data type INT32, expected FLOAT"},
      {"voxel_feats dtype", [&](auto& c) { c.voxel_feats_desc = int_voxels; }, kBad,
       "voxel_feats has data type INT32, expected FLOAT"},
      {"map dtype", [&](auto& c) { c.point2voxel_map_desc = long_map; }, kBad,
       "point2voxel_map has data type INT64, expected INT32"},
      {"count dtype", [&](auto& c) { c.voxel_points_count_desc = float_count; }, kBad,
       "voxel_points_count has data type FLOAT, expected INT32"},
      {"num dtype", [&](auto& c) { c.voxel_num_desc = float_num; }, kBad,
       "voxel_num has data type FLOAT, expected INT32"},
      {"grad_feats dtype", [&](auto& c) { c.grad_feats_desc = half_feats; }, kBad,
       "grad_feats has data type HALF, expected FLOAT"},
      {"empty descriptor", [&](auto& c) { c.feats_desc = empty; }, kBad,
       "feats has data type INVALID, expected FLOAT"},
      {"feats layout", [&](auto& c) { c.feats_desc = nc_feats; }, kBad, "feats has layout NC, expected ARRAY"},
      {"map layout", [&](auto& c) { c.point2voxel_map_desc = nchw_map; }, kBad,
       "point2voxel_map has layout NCHW, expected ARRAY"},
      {"feats dims", [&](auto& c) { c.feats_desc = deep_feats; }, kBad, "feats has 3 dimensions, expected 2"},
      {"voxel_feats dims", [&](auto& c) { c.voxel_feats_desc = flat_voxels; }, kBad,
       "voxel_feats has 1 dimensions, expected 2"},
      {"map dims", [&](auto& c) { c.point2voxel_map_desc = deep_map; }, kBad,
       "point2voxel_map has 2 dimensions, expected 1"},
      {"num dims", [&](auto& c) { c.voxel_num_desc = deep_num; }, kBad, "voxel_num has 2 dimensions, expected 1"},
      {"voxel_feats channels", [&](auto& c) { c.voxel_feats_desc = wide_voxels; }, kBad,
       "voxel_feats dim 1 is 7, expected 6"},
      {"grad_voxel_feats voxels", [&](auto& c) { c.grad_voxel_feats_desc = more_voxels; }, kBad,
       "grad_voxel_feats dim 0 is 21, expected 20"},
      {"map points", [&](auto& c) { c.point2voxel_map_desc = short_map; }, kBad,
       "point2voxel_map dim 0 is 49, expected 50"},
      {"count voxels", [&](auto& c) { c.voxel_points_count_desc = long_count; }, kBad,
       "voxel_points_count dim 0 is 21, expected 20"},
      {"two nums", [&](auto& c) { c.voxel_num_desc = two_num; }, kBad, "voxel_num dim 0 is 2, expected 1"},
      {"grad_feats points", [&](auto& c) { c.grad_feats_desc = short_output; }, kBad,
       "grad_feats dim 0 is 49, expected 50"},
      {"grad_feats channels", [&](auto& c) { c.grad_feats_desc = narrow_output; }, kBad,
       "grad_feats dim 1 is 5, expected 6"},
      {"grad_feats empty, feats not", [&](auto& c) { c.grad_feats_desc = empty_output; }, kBad,
       "grad_feats dim 0 is 0, expected 50"},
      {"feats strides", [&](auto& c) { c.feats_desc = strided_feats; }, kBad,
       "feats has strides [7, 1], expected a contiguous tensor of shape [50, 6]"},
      {"grad_feats strides", [&](auto& c) { c.grad_feats_desc = strided_output; }, kBad,
       "grad_feats has strides [1, 50], expected a contiguous tensor of shape [50, 6]"},
  };
  for (const BadCall& bad : kTable) expect_refused_in_both_modes(bad);
}

TEST(OpsDynamicScatterBackwardErrors, Memory) {
  const auto needed = dynamic_scatter_workspace(Handle(), kSizes.points, kSizes.channels);
  const std::string missing = " is null, expected the data of a tensor ";
  const std::string overlap = ", expected memory of its own";
  const BadCall kTable[] = {
      {"null grad_voxel_feats", [](auto& c) { c.grad_voxel_feats = nullptr; }, kBad,
       "grad_voxel_feats" + missing + "[20, 6]"},
      {"null feats", [](auto& c) { c.feats = nullptr; }, kBad, "feats" + missing + "[50, 6]"},
      {"null voxel_feats", [](auto& c) { c.voxel_feats = nullptr; }, kBad, "voxel_feats" + missing + "[20, 6]"},
      {"null map", [](auto& c) { c.point2voxel_map = nullptr; }, kBad, "point2voxel_map" + missing + "[50]"},
      {"null count", [](auto& c) { c.voxel_points_count = nullptr; }, kBad,
       "voxel_points_count" + missing + "[20]"},
      {"null num", [](auto& c) { c.voxel_num = nullptr; }, kBad, "voxel_num" + missing + "[1]"},
      {"null grad_feats", [](auto& c) { c.grad_feats = nullptr; }, kBad, "grad_feats" + missing + "[50, 6]"},
      {"null workspace", [](auto& c) { c.workspace = nullptr; }, kBad, "workspace is null"},
      {"small workspace", [](auto& c) { --c.workspace_size; }, kBad,
       "workspace_size is " + std::to_string(needed - 1) + ", expected at least " + std::to_string(needed)},
      {"in place", [](auto& c) { c.feats = c.grad_feats; }, kBad, "grad_feats overlaps feats" + overlap},
      {"output ends in voxel_feats", [](auto& c) { c.voxel_feats = c.output_buffer.data() + 299; }, kBad,
       "grad_feats overlaps voxel_feats" + overlap},
      {"output ends in grad_voxel_feats", [](auto& c) { c.grad_voxel_feats = c.output_buffer.data() + 299; }, kBad,
       "grad_feats overlaps grad_voxel_feats" + overlap},
      {"map in output", [](auto& c) { c.point2voxel_map = c.grad_feats; }, kBad,
       "grad_feats overlaps point2voxel_map" + overlap},
      {"count in output", [](auto& c) { c.voxel_points_count = c.grad_feats; }, kBad,
       "grad_feats overlaps voxel_points_count" + overlap},
      {"num in output", [](auto& c) { c.voxel_num = c.grad_feats; }, kBad,
       "grad_feats overlaps voxel_num" + overlap},
      {"output in workspace", [](auto& c) { c.workspace = c.grad_feats; }, kBad,
       "grad_feats overlaps workspace" + overlap},
      {"feats in workspace", [](auto& c) { c.feats = c.workspace; }, kBad, "workspace overlaps feats" + overlap},
      {"map in workspace", [](auto& c) { c.point2voxel_map = c.workspace; }, kBad,
       "workspace overlaps point2voxel_map" + overlap},
  };
  for (const BadCall& bad : kTable) expect_refused_in_both_modes(bad);
}

// Values that only the data show.
TEST(OpsDynamicScatterBackwardErrors, Values) {
  const auto num = [](int32_t value) { return [=](DynamicScatterCall& c) { c.num_buffer[0] = value; }; };
  const auto map = [](size_t point, int32_t value) {
    return [=](DynamicScatterCall& c) { c.map_buffer[point] = value; };
  };
  const std::string bound = ", expected -1 or a voxel below voxel_num[0], which is 18";
  const BadCall kTable[] = {
      {"negative num", num(-1), kBad, "voxel_num[0] is -1, expected 0 to 20"},
      {"num beyond M", num(21), kBad, "voxel_num[0] is 21, expected 0 to 20"},
      {"least num", num(INT_MIN), kBad, "voxel_num[0] is -2147483648, expected 0 to 20"},
      {"first point", map(0, 18), kBad, "point2voxel_map[0] is 18" + bound},
      {"in the middle", map(23, -2), kBad, "point2voxel_map[23] is -2" + bound},
      {"last point", map(49, INT_MAX), kBad, "point2voxel_map[49] is 2147483647" + bound},
      {"least value", map(48, INT_MIN), kBad, "point2voxel_map[48] is -2147483648" + bound},
      {"several",
       [](auto& c) {
         for (const size_t point : {30, 7, 41}) c.map_buffer[point] = 19;
       },
       kBad, "point2voxel_map[7] is 19" + bound},
  };
  for (const BadCall& bad : kTable) expect_refused_in_both_modes(bad);
}

// The first of several bad points is named, whichever task finds which, and the output of any size stays
// untouched.
TEST(OpsDynamicScatterBackwardErrors, FirstBadPointOfManyTasks) {
  auto random = seeded_random();
  auto inputs = random_dynamic_scatter({40000, 900, 16, 900}, random);
  for (const size_t point : {39999, 31111, 12345, 12346, 20000}) inputs.point2voxel_map[point] = 900;
  for (const auto mode : {MLUOP_ATOMICS_NOT_ALLOWED, MLUOP_ATOMICS_ALLOWED}) {
    for (const int count : {1, 2, 7, 64}) {
      const ScopedThreads threads(count);
      expect_refused({"many", [](auto&) {}, kBad,
                      "point2voxel_map[12345] is 900, expected -1 or a voxel below voxel_num[0], which is 900"},
                     Handle(mode), inputs);
    }
  }
}

TEST(OpsDynamicScatterBackwardErrors, MoreVoxelsThanPoints) {
  const Descriptor feats(MLUOP_DTYPE_FLOAT, {19, 6}), map(MLUOP_DTYPE_INT32, {19});
  expect_refused_in_both_modes({"N < M",
                                [&](auto& c) {
                                  c.feats_desc = c.grad_feats_desc = feats;
                                  c.point2voxel_map_desc = map;
                                },
                                kBad, "voxel_feats dim 0 is 20, expected at most feats dim 0, which is 19"});
}

TEST(OpsDynamicScatterBackwardErrors, LargeTensors) {
  const int64_t points = int64_t{1} << 31;
  const Descriptor many_points(MLUOP_DTYPE_FLOAT, {points, 6}),
      long_rows(MLUOP_DTYPE_FLOAT, {1, int64_t{1} << 58});
  expect_refused_in_both_modes({"2^31 points", [&](auto& c) { c.feats_desc = many_points; },
                                MLUOP_STATUS_NOT_SUPPORTED,
                                "feats has 2147483648 points, expected fewer than 2^31"});
  expect_refused_in_both_modes({"2^60 bytes", [&](auto& c) { c.feats_desc = long_rows; }, kBad,
                                "feats has 1152921504606846976 bytes, expected fewer than 2^60"});
}

TEST(OpsDynamicScatterBackwardErrors, Queries) {
  const Handle handle;
  const Descriptor feats(MLUOP_DTYPE_FLOAT, {50, 6}), half(MLUOP_DTYPE_HALF, {50, 6}),
      flat(MLUOP_DTYPE_FLOAT, {300}), many(MLUOP_DTYPE_FLOAT, {int64_t{1} << 31, 1});
  constexpr size_t kUntouched = 12345;
  size_t size = kUntouched;
  const auto expect = [&](mluOpStatus_t found, mluOpStatus_t status, const std::string& message) {
    EXPECT_EQ(found, status);
    EXPECT_EQ(mluOpOmpGetLastError(), message);
    EXPECT_EQ(size, kUntouched);
  };
  const auto query = mluOpGetDynamicScatterBackwardWorkspaceSize;
  const std::string name = "[mluOpGetDynamicScatterBackwardWorkspaceSize] ";
  const auto max = MLUOP_REDUCE_DMAX;
  expect(query(nullptr, max, feats, &size), kBad, name + "handle is null");
  expect(query(handle, MLUOP_REDUCE_DSUM, feats, &size), kBad,
         name + "reduce_type is 0, expected MLUOP_REDUCE_DMAX (2)");
  expect(query(handle, max, nullptr, &size), kBad, name + "feats_desc is null");
  expect(query(handle, max, half, &size), kBad, name + "feats has data type HALF, expected FLOAT");
  expect(query(handle, max, flat, &size), kBad, name + "feats has 1 dimensions, expected 2");
  expect(query(handle, max, many, &size), MLUOP_STATUS_NOT_SUPPORTED,
         name + "feats has 2147483648 points, expected fewer than 2^31");
  expect(query(handle, max, feats, nullptr), kBad, name + "workspace_size is null");

  const Descriptor voxels(MLUOP_DTYPE_FLOAT, {20, 6}), map(MLUOP_DTYPE_INT32, {50}),
      count(MLUOP_DTYPE_INT32, {20}), num(MLUOP_DTYPE_INT32, {1}), long_count(MLUOP_DTYPE_INT32, {21}),
      two_num(MLUOP_DTYPE_INT32, {2}), wide(MLUOP_DTYPE_FLOAT, {20, 7}), more_voxels(MLUOP_DTYPE_FLOAT, {51, 6}),
      more_count(MLUOP_DTYPE_INT32, {51});
  const auto alias = mluOpGetDynamicPointToVoxelBackwardWorkspaceSize;
  const std::string other = "[mluOpGetDynamicPointToVoxelBackwardWorkspaceSize] ";
  expect(alias(nullptr, max, voxels, feats, voxels, map, count, num, &size), kBad, other + "handle is null");
  expect(alias(handle, MLUOP_REDUCE_DMEAN, voxels, feats, voxels, map, count, num, &size), kBad,
         other + "reduce_type is 1, expected MLUOP_REDUCE_DMAX (2)");
  expect(alias(handle, max, wide, feats, voxels, map, count, num, &size), kBad,
         other + "grad_voxel_feats dim 1 is 7, expected 6");
  expect(alias(handle, max, voxels, nullptr, voxels, map, count, num, &size), kBad, other + "feats_desc is null");
  expect(alias(handle, max, voxels, feats, wide, map, count, num, &size), kBad,
         other + "voxel_feats dim 1 is 7, expected 6");
  expect(alias(handle, max, voxels, feats, voxels, count, count, num, &size), kBad,
         other + "point2voxel_map dim 0 is 20, expected 50");
  expect(alias(handle, max, voxels, feats, voxels, map, long_count, num, &size), kBad,
         other + "voxel_points_count dim 0 is 21, expected 20");
  expect(alias(handle, max, voxels, feats, voxels, map, count, two_num, &size), kBad,
         other + "voxel_num dim 0 is 2, expected 1");
  expect(alias(handle, max, more_voxels, feats, more_voxels, map, more_count, num, &size), kBad,
         other + "voxel_feats dim 0 is 51, expected at most feats dim 0, which is 50");
  expect(alias(handle, max, voxels, feats, voxels, map, count, num, nullptr), kBad,
         other + "workspace_size is null");
}

// The operator exists on every device.
TEST(OpsDynamicScatterBackwardErrors, Devices) {
  for (const char* device : {"mlu270", "mlu290", "mlu370", "mlu590"}) {
    const ScopedEnvironment environment("MLUOP_OMP_DEVICE", device);
    const Handle handle;
    auto random = seeded_random();
    const DynamicScatterCall call(handle, random_dynamic_scatter(kSizes, random));
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
  }
}

}  // namespace
}  // namespace mluop::test
