// mluOpDynamicScatterBackward with feats of more than 2^31 elements, few of whose points have voxels: every
// element against the oracle for these points.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "large/large_memory.h"
#include "ops/dynamic_scatter_backward/call.h"
#include "support/environment.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

struct Scatter {
  // `points` x channels of feats; the points of `inputs` are the points `place`.
  Scatter(const DynamicScatterInputs& with, int64_t point_count, const std::vector<int64_t>& places)
      : inputs(with),
        points(point_count),
        channels(inputs.sizes.channels),
        place(places),
        feats(points * channels, Pages::kSparse),
        map(points, Pages::kDense),
        grad_feats(points * channels, Pages::kDense) {
    std::fill_n(map.data(), points, -1);
    for (size_t i = 0; i < place.size(); ++i) {
      std::copy_n(inputs.feats.begin() + static_cast<int64_t>(i) * channels, channels,
                  feats.data() + place[i] * channels);
      map[place[i]] = inputs.point2voxel_map[i];
    }
  }

  mluOpStatus_t run(mluOpOmpAlgorithm_t algorithm) const {
    const Handle handle(algorithm);
    const size_t bytes = dynamic_scatter_workspace(handle, points, channels);
    const LargeMemory workspace(bytes, Pages::kSparse);
    const Descriptor voxel_desc(MLUOP_DTYPE_FLOAT, {inputs.sizes.voxels, channels});
    const Descriptor feats_desc(MLUOP_DTYPE_FLOAT, {points, channels});
    const Descriptor map_desc(MLUOP_DTYPE_INT32, {points});
    const Descriptor count_desc(MLUOP_DTYPE_INT32, {inputs.sizes.voxels});
    const Descriptor num_desc(MLUOP_DTYPE_INT32, {1});
    auto voxel_num = static_cast<int32_t>(inputs.sizes.voxel_num);
    return mluOpDynamicScatterBackward(handle, MLUOP_REDUCEMODE_MAX, voxel_desc, inputs.grad_voxel_feats.data(),
                                       feats_desc, feats.data(), voxel_desc, inputs.voxel_feats.data(), map_desc,
                                       map.data(), count_desc, inputs.voxel_points_count.data(), num_desc,
                                       &voxel_num, workspace.bytes(), bytes, feats_desc, grad_feats.data());
  }

  bool holds(int64_t point, const std::vector<float>& expected) const {
    const float* row = grad_feats.data() + point * channels;
    if (map[point] == -1) return all_zero(row, static_cast<size_t>(channels) * sizeof(float));
    const int64_t i = std::lower_bound(place.begin(), place.end(), point) - place.begin();
    return std::equal(row, row + channels, expected.begin() + i * channels);
  }

  DynamicScatterInputs inputs;
  int64_t points, channels;
  std::vector<int64_t> place;  // ascending
  LargeBuffer<float> feats;
  LargeBuffer<int32_t> map;
  LargeBuffer<float> grad_feats;
};

TEST(LargeDynamicScatterBackward, Feats) {
  MLUOP_REQUIRE_MEMORY(9);
  auto random = seeded_random();
  const ScopedThreads threads(2);
  constexpr int64_t kPointCount = (int64_t{1} << 25) + 101, kChannelCount = 64;
  static_assert(kPointCount * kChannelCount > kLimit);
  const DynamicScatterInputs inputs = random_dynamic_scatter({3000, 900, kChannelCount, 900}, random);
  // The last points and others.
  std::set<int64_t> places;
  while (places.size() < 100) places.insert(kPointCount - 1 - static_cast<int64_t>(places.size()));
  while (places.size() < 3000) places.insert(static_cast<int64_t>(random()) % kPointCount);
  const Scatter call(inputs, kPointCount, {places.begin(), places.end()});
  const auto expected = dynamic_scatter_reference(inputs);
  for (const auto algorithm : kAlgorithms) {
    SCOPED_TRACE(text_of(algorithm));
    call.grad_feats.poison();
    ASSERT_EQ(call.run(algorithm), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(first_violation(kPointCount, [&](int64_t point) { return call.holds(point, expected); }),
              kPointCount);
  }
}

}  // namespace
}  // namespace mluop::test
