// Requirements of mluOpRoiPointPool3d and its workspace query on their scalars.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <utility>

#include "support/api_errors.h"
#include "support/call_errors.h"

namespace mluop::test {
namespace {

// points [2, 40, 3], boxes3d [2, 5, 7], pooled_features [2, 5, 6, 7].
cases::Case make(const std::map<std::string, int64_t>& sizes = {}) {
  std::map<std::string, int64_t> all = {{"b", 2}, {"n", 40}, {"m", 5}, {"c", 4}, {"s", 6}};
  for (const auto& [name, value] : sizes) all[name] = value;
  return make_case("roipoint_pool3d", MLUOP_DTYPE_FLOAT, all);
}

// Sizes of 0 are errors.
TEST(OpsRoipointPool3dErrors, EmptyTensors) {
  const std::pair<const char*, const char*> rows[] = {{"b", "points dim 0"},
                                                      {"n", "points dim 1"},
                                                      {"m", "boxes3d dim 1"},
                                                      {"c", "point_features dim 2"},
                                                      {"s", "pooled_features dim 2"}};
  for (const auto& [size, name] : rows) {
    expect_errors(make({{size, 0}}), {{no_change, std::string(name) + " is 0, expected at least 1"}},
                  {.query = Query::kFails});
  }
}

// Scalars that also follow from the descriptors: operator and query.
TEST(OpsRoipointPool3dErrors, Scalars) {
  const Handle handle;
  OperatorCall call(handle, make());
  const cases::Arguments& a = call.arguments;
  struct {
    std::array<int, 5> sizes;
    const char* message;
  } const rows[] = {
      {{3, 40, 5, 4, 6}, "points dim 0 is 2, expected 3"},
      {{2, 41, 5, 4, 6}, "points dim 1 is 40, expected 41"},
      {{2, 40, 6, 4, 6}, "boxes3d dim 1 is 5, expected 6"},
      {{2, 40, 5, 3, 6}, "point_features dim 2 is 4, expected 3"},
      {{2, 40, 5, 4, 7}, "pooled_features dim 2 is 6, expected 7"},
      {{-1, 40, 5, 4, 6}, "batch_size is -1, expected at least 1"},
      {{2, 40, 5, 4, -1}, "sampled_pts_num is -1, expected at least 1"},
  };
  for (const auto& row : rows) {
    const auto& s = row.sizes;
    const auto before = call.contents();
    expect_failure(
        [&] {
          return mluOpRoiPointPool3d(handle, s[0], s[1], s[2], s[3], s[4], a[0].desc, a[0].data, a[1].desc,
                                     a[1].data, a[2].desc, a[2].data, a.workspace, a.workspace_size, a[3].desc,
                                     a[3].data, a[4].desc, a[4].data);
        },
        MLUOP_STATUS_BAD_PARAM, std::string("[mluOpRoiPointPool3d] ") + row.message);
    size_t bytes = 1;
    expect_failure(
        [&] {
          return mluOpGetRoiPointPool3dWorkspaceSize(handle, s[0], s[1], s[2], s[3], s[4], a[0].desc, a[1].desc,
                                                     a[2].desc, a[3].desc, a[4].desc, &bytes);
        },
        MLUOP_STATUS_BAD_PARAM, std::string("[mluOpGetRoiPointPool3dWorkspaceSize] ") + row.message);
    EXPECT_EQ(bytes, 1U);
    EXPECT_TRUE(call.contents() == before);
  }
}

}  // namespace
}  // namespace mluop::test
