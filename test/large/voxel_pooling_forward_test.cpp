// mluOpVoxelPoolingForward with tensors of more than 2^31 elements: every element against the definition. The
// device algorithm refuses them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "large/large_memory.h"
#include "mlu_op_omp.h"
#include "ops/voxel_pooling_forward/call.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

struct Forward {
  Forward(const VoxelPoolingSizes& with, std::mt19937& random)
      : sizes(with),
        geometry(sizes.geom_count(), Pages::kDense),
        features(sizes.input_count(), Pages::kSparse),
        memo(sizes.geom_count(), Pages::kDense),
        output(sizes.output_count(), Pages::kDense) {
    const int extents[] = {sizes.num_voxel_x, sizes.num_voxel_y, sizes.num_voxel_z};
    for (int64_t point = 0; point < sizes.points(); ++point) {
      const bool is_last = point == sizes.points() - 1;
      const bool is_in_range = is_last || random() % 4 != 0;
      for (int64_t axis = 0; axis < 3; ++axis) {
        const auto extent = static_cast<uint32_t>(extents[axis]);
        const auto any = static_cast<int32_t>(random() % extent);
        geometry[point * 3 + axis] = is_last ? extents[axis] - 1 : is_in_range ? any : any - extents[axis];
      }
    }
    memo.poison();
    output.poison();
  }

  mluOpStatus_t run(mluOpOmpAlgorithm_t algorithm) const {
    const Handle handle(algorithm);
    const auto& s = sizes;
    const Descriptor points_desc(MLUOP_DTYPE_INT32, {s.batch_size, s.num_points, 3});
    const Descriptor features_desc(MLUOP_DTYPE_HALF, {s.batch_size, s.num_points, s.num_channels});
    const Descriptor output_desc(MLUOP_DTYPE_HALF, {s.batch_size, s.num_voxel_y, s.num_voxel_x, s.num_channels});
    return mluOpVoxelPoolingForward(handle, s.batch_size, s.num_points, s.num_channels, s.num_voxel_x,
                                    s.num_voxel_y, s.num_voxel_z, points_desc, geometry.data(), features_desc,
                                    features.data(), output_desc, output.data(), points_desc, memo.data());
  }

  // The cell of a point, -1 if it is out of range.
  int64_t cell(int64_t point) const {
    const int32_t* p = geometry.data() + point * 3;
    if (p[0] < 0) return -1;
    return (point / sizes.num_points * sizes.num_voxel_y + p[1]) * sizes.num_voxel_x + p[0];
  }

  // Small integers, whose sums are exact, for the features of a point.
  void set_features(int64_t point, std::mt19937& random) {
    Half* row = features.data() + point * sizes.num_channels;
    const int64_t to = cell(point);
    std::vector<float>& sum = sums[to];
    sum.resize(static_cast<size_t>(sizes.num_channels));
    for (size_t c = 0; c < sum.size(); ++c) {
      const auto feature = static_cast<float>(random() % 3) - 1;
      row[c] = to_f16(static_cast<double>(feature));
      sum[c] += feature;
    }
    if (to < 0) sums.erase(to);
  }

  bool cell_holds(int64_t number) const {
    const Half* row = output.data() + number * sizes.num_channels;
    const auto found = sums.find(number);
    if (found == sums.end()) return all_zero(row, static_cast<size_t>(sizes.num_channels) * sizeof(Half));
    return std::equal(found->second.begin(), found->second.end(), row,
                      [](float sum, Half element) { return to_f32(element) == sum; });
  }

  bool memo_holds(int64_t point) const {
    const int32_t *p = geometry.data() + point * 3, *m = memo.data() + point * 3;
    if (cell(point) < 0) return m[0] == -1 && m[1] == -1 && m[2] == -1;
    return m[0] == point / sizes.num_points && m[1] == p[1] && m[2] == p[0];
  }

  VoxelPoolingSizes sizes;
  LargeBuffer<int32_t> geometry;
  LargeBuffer<Half> features;
  LargeBuffer<int32_t> memo;
  LargeBuffer<Half> output;
  std::map<int64_t, std::vector<float>> sums;  // of cells; the others are 0
};

class LargeVoxelPoolingForward : public ::testing::Test {
 protected:
  static void expect_result(const Forward& call, const std::string& large) {
    EXPECT_EQ(call.run(MLUOP_OMP_ALGORITHM_DEVICE), MLUOP_STATUS_NOT_SUPPORTED);
    EXPECT_EQ(
        std::string(mluOpOmpGetLastError()),
        "[mluOpVoxelPoolingForward] " + large + " elements, expected fewer than 2^31 with the device algorithm");
    ASSERT_EQ(call.run(MLUOP_OMP_ALGORITHM_NATIVE), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_EQ(first_violation(call.sizes.points(), [&](int64_t point) { return call.memo_holds(point); }),
              call.sizes.points());
    EXPECT_EQ(first_violation(call.sizes.cells(), [&](int64_t cell) { return call.cell_holds(cell); }),
              call.sizes.cells());
  }

  std::mt19937 random = seeded_random();
  ScopedThreads threads{2};
};

// Few rows of features, the last among them, are not 0.
TEST_F(LargeVoxelPoolingForward, Points) {
  Forward call({2, 262'200, 4096, 5, 4, 1}, random);
  ASSERT_GT(call.sizes.input_count(), kLimit);
  for (int64_t point = call.sizes.points() - 1; point >= 0; point -= 97) call.set_features(point, random);
  expect_result(call, "input_features has " + std::to_string(call.sizes.input_count()));
}

TEST_F(LargeVoxelPoolingForward, Cells) {
  MLUOP_REQUIRE_MEMORY(5);
  Forward call({3, 2000, 77, 3051, 3050, 1}, random);
  ASSERT_GT(call.sizes.output_count(), kLimit);
  for (int64_t point = 0; point < call.sizes.points(); ++point) call.set_features(point, random);
  expect_result(call, "output_features has " + std::to_string(call.sizes.output_count()));
}

}  // namespace
}  // namespace mluop::test
