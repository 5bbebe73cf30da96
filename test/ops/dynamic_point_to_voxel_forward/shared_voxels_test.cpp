// mluOpDynamicPointToVoxelForward where few voxels have most points: tasks share the points of a voxel (maximum)
// or its channels (sum, mean).
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "support/call_statistics.h"
#include "support/environment.h"
#include "support/operator_call.h"
#include "support/special_values.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

using cases::Case;

// Three voxels have a half, a quarter and an eighth of the points; the others have a few.
Case crowded(int64_t channels, mluOpReduceMode_t reduce_type, std::mt19937& random) {
  Case made = make_case("dynamic_point_to_voxel_forward", MLUOP_DTYPE_FLOAT,
                        {{"n", 50000}, {"c", channels}, {"grid", 40}, {"reduce_type", reduce_type}});
  std::vector<int32_t> coors = int32s_of(made, "coors");
  for (auto point = coors.begin(); point != coors.end(); point += 3) {
    const uint32_t choice = random() % 8;
    if (choice < 7) std::fill_n(point, 3, choice < 4 ? 30 : choice < 6 ? 7 : 12);
  }
  set_values(made, "coors", coors);
  return made;
}

void expect_shared(const Oracle& oracle, const std::string& shared_kernel) {
  for (const int count : {1, 2, 3, 7, 64}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    const Handle handle(MLUOP_OMP_ALGORITHM_NATIVE);
    require(mluOpOmpSetStatistics(handle, 1));
    const OperatorCall call(handle, oracle.made());
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(oracle.agrees(call, MLUOP_OMP_ALGORITHM_NATIVE));
    EXPECT_TRUE(call.intact());
    const int task_dim = launch_of(handle, "reduce").task_dim;
    if (task_dim > 1) {
      EXPECT_EQ(launch_of(handle, shared_kernel).task_dim, task_dim);
    } else {
      EXPECT_THROW(launch_of(handle, shared_kernel), std::runtime_error);
    }
  }
}

TEST(OpsDynamicPointToVoxelForwardSharedVoxels, PointsOrChannels) {
  auto random = seeded_random();
  for (const auto reduce_type : {MLUOP_REDUCE_DSUM, MLUOP_REDUCE_DMEAN, MLUOP_REDUCE_DMAX}) {
    for (const int channels : {1, 21, 64}) {
      SCOPED_TRACE(product_text({channels, reduce_type}));
      const Case made = crowded(channels, reduce_type, random);
      expect_shared(made, reduce_type == MLUOP_REDUCE_DMAX ? "reduce_pieces" : "reduce_lines");
    }
  }
}

// Equal maxima, zeros of either sign and NaN in several pieces.
TEST(OpsDynamicPointToVoxelForwardSharedVoxels, SpecialMaxima) {
  auto random = seeded_random();
  constexpr float kValues[] = {kNan, -kNan, -kInfinity, 0.0F, -0.0F, -1.0F, -1e-42F};
  Case made = crowded(5, MLUOP_REDUCE_DMAX, random);
  std::vector<float> feats = floats_of(made, "feats");
  for (float& value : feats) value = kValues[random() % std::size(kValues)];
  set_values(made, "feats", feats);
  expect_shared(made, "reduce_pieces");
}

}  // namespace
}  // namespace mluop::test
