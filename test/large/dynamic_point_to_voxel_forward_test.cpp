// mluOpDynamicPointToVoxelForward with feats and voxel_feats of more than 2^31 elements: every point has a voxel
// of its own, in another order.
#include <gtest/gtest.h>

#include <cstring>

#include "large/large_memory.h"
#include "ops/dynamic_point_to_voxel_forward/call.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

constexpr int64_t kPoints = (int64_t{1} << 25) + 101, kChannels = 64;
static_assert(kPoints * kChannels > int64_t{1} << 31);

// The point of a voxel. The factor is a prime that does not divide kPoints, so points differ.
int64_t point_of(int64_t voxel) {
  static_assert(kPoints % 7919 != 0);
  return voxel * 7919 % kPoints;
}

// The coordinates of a voxel, in ascending order of voxels.
void write_coors(int64_t voxel, int32_t* coors) {
  coors[0] = static_cast<int32_t>(voxel / 1'000'000);
  coors[1] = static_cast<int32_t>(voxel / 1000 % 1000);
  coors[2] = static_cast<int32_t>(voxel % 1000);
}

struct PointToVoxel {
  PointToVoxel()
      : feats(kPoints * kChannels, Pages::kSparse),
        coors(kPoints * 3, Pages::kDense),
        voxel_feats(kPoints * kChannels, Pages::kDense),
        voxel_coors(kPoints * 3, Pages::kDense),
        map(kPoints, Pages::kDense),
        counts(kPoints, Pages::kDense) {
    for (int64_t voxel = 0; voxel < kPoints; ++voxel) {
      const int64_t point = point_of(voxel);
      write_coors(voxel, coors.data() + point * 3);
      // The features of most points are 0, so that their pages take no memory.
      if (voxel % 10'007 != 0) continue;
      for (int64_t c = 0; c < kChannels; ++c) {
        feats[point * kChannels + c] = static_cast<float>(voxel % 1009 * kChannels + c);
      }
    }
  }

  mluOpStatus_t run(mluOpReduceMode_t reduce_type) {
    const Handle handle;
    const size_t bytes = point_to_voxel_workspace(handle, kPoints, kChannels);
    const LargeMemory workspace(bytes, Pages::kDense);
    const Descriptor feats_desc(MLUOP_DTYPE_FLOAT, {kPoints, kChannels});
    const Descriptor coors_desc(MLUOP_DTYPE_INT32, {kPoints, 3});
    const Descriptor points_desc(MLUOP_DTYPE_INT32, {kPoints});
    const Descriptor num_desc(MLUOP_DTYPE_INT32, {1});
    return mluOpDynamicPointToVoxelForward(handle, reduce_type, feats_desc, feats.data(), coors_desc, coors.data(),
                                           workspace.bytes(), bytes, feats_desc, voxel_feats.data(), coors_desc,
                                           voxel_coors.data(), points_desc, map.data(), points_desc, counts.data(),
                                           num_desc, &voxel_num);
  }

  bool holds(int64_t voxel) const {
    const int64_t point = point_of(voxel);
    int32_t expected[3];
    write_coors(voxel, expected);
    return std::memcmp(voxel_coors.data() + voxel * 3, expected, sizeof expected) == 0 && map[point] == voxel &&
           counts[voxel] == 1 &&
           std::memcmp(voxel_feats.data() + voxel * kChannels, feats.data() + point * kChannels,
                       kChannels * sizeof(float)) == 0;
  }

  LargeBuffer<float> feats;
  LargeBuffer<int32_t> coors;
  LargeBuffer<float> voxel_feats;
  LargeBuffer<int32_t> voxel_coors, map, counts;
  int32_t voxel_num = 0;
};

TEST(LargeDynamicPointToVoxelForward, FeatsAndVoxelFeats) {
  MLUOP_REQUIRE_MEMORY(11);
  const ScopedThreads threads(2);
  PointToVoxel call;
  for (const auto reduce_type : {MLUOP_REDUCE_DMAX, MLUOP_REDUCE_DMEAN}) {
    SCOPED_TRACE(reduce_type);
    call.voxel_feats.poison();
    ASSERT_EQ(call.run(reduce_type), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    ASSERT_EQ(call.voxel_num, kPoints);
    EXPECT_EQ(first_violation(kPoints, [&](int64_t voxel) { return call.holds(voxel); }), kPoints);
  }
}

}  // namespace
}  // namespace mluop::test
