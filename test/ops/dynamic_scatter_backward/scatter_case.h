// Cases of dynamic scatter backward whose sizes and map a test chooses; the operator's generator takes them from a
// forward pass.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "case/reduce.h"
#include "support/operator_call.h"
#include "support/scenes.h"
#include "support/special_values.h"
#include "support/values.h"

namespace mluop::test {

inline constexpr mluOpReduceMode_t kReduceTypes[] = {MLUOP_REDUCE_DSUM, MLUOP_REDUCE_DMEAN, MLUOP_REDUCE_DMAX};

struct ScatterSizes {
  int64_t points, voxels, channels, voxel_num;
};

// A case of a maximum: voxel_feats and voxel_points_count are the results of the forward operator for map [points]
// and feats [points, channels].
inline cases::Case make_scatter(const ScatterSizes& s, const std::vector<int32_t>& map,
                                const std::vector<float>& feats, Values gradients = Values::kFractions) {
  cases::Case made = make_case("dynamic_scatter_backward", MLUOP_DTYPE_FLOAT, {{"n", 1}, {"c", 1}});
  const cases::Dims shapes[] = {
      {s.voxels, s.channels}, {s.points, s.channels}, {s.voxels, s.channels}, {s.points}, {s.voxels}, {1}};
  for (size_t i = 0; i < made.inputs.size(); ++i) made.inputs[i].dims = shapes[i];
  made.outputs[0].dims = made.inputs[1].dims;
  const auto channels = static_cast<size_t>(s.channels);
  std::vector<float> maxima(static_cast<size_t>(s.voxels) * channels, -kInfinity);
  std::vector<int32_t> counts(static_cast<size_t>(s.voxels));
  for (size_t n = 0; n < map.size(); ++n) {
    if (map[n] == -1) continue;
    const auto voxel = static_cast<size_t>(map[n]);
    ++counts[voxel];
    for (size_t c = 0; c < channels; ++c) {
      float& maximum = maxima[voxel * channels + c];
      maximum = std::max(maximum, feats[n * channels + c]);
    }
  }
  set_values(made, "feats", feats);
  set_values(made, "voxel_feats", maxima);
  set_values(made, "point2voxel_map", map);
  set_values(made, "voxel_points_count", counts);
  set_values(made, "voxel_num", std::vector<int32_t>{static_cast<int32_t>(s.voxel_num)});
  // The gradients are the only input without elements.
  return cases::self_contained(with_values(made, gradients, 1));
}

// One point in eight has no voxel. One in three has the same entry as its predecessor.
inline std::vector<int32_t> random_map(const ScatterSizes& s, std::mt19937& random) {
  std::vector<int32_t> map;
  for (int64_t n = 0; n < s.points; ++n) {
    const auto any = static_cast<int32_t>(random() % static_cast<uint32_t>(std::max<int64_t>(s.voxel_num, 1)));
    const bool none = s.voxel_num == 0 || random() % 8 == 0;
    const bool as_before = n > 0 && random() % 3 == 0;
    map.push_back(as_before ? map.back() : none ? -1 : any);
  }
  return map;
}

// Features with `values` different values: points of a voxel tie.
inline std::vector<float> random_feats(const ScatterSizes& s, std::mt19937& random, uint32_t values = 5) {
  std::vector<float> feats(static_cast<size_t>(s.points * s.channels));
  for (float& feature : feats) feature = static_cast<float>(random() % values) - 2.5F;
  return feats;
}

inline cases::Case random_scatter(const ScatterSizes& s, std::mt19937& random,
                                  Values gradients = Values::kFractions) {
  const std::vector<int32_t> map = random_map(s, random);
  return make_scatter(s, map, random_feats(s, random), gradients);
}

// Every point has a voxel. Points are in the order of the sensor, or shuffled, so that consecutive points have
// different voxels.
inline cases::Case lidar_scatter(const ScatterSizes& s, int rings, std::mt19937& random, bool shuffled = false) {
  auto map = lidar_map(static_cast<int>(s.points), static_cast<int>(s.voxels), rings);
  if (shuffled) std::shuffle(map.begin(), map.end(), random);
  return make_scatter(s, map, random_feats(s, random, 1U << 20));
}

}  // namespace mluop::test
