// Dynamic point to voxel forward, as mmcv calls it, with as many rows for voxels as there are points, and its
// backward operator: at the sizes of MVX-Net, and on a sensor of 128 rings.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "perf/ops/catalogue.h"
#include "perf/support/npy_folder.h"
#include "perf/support/operator_case.h"
#include "support/lidar_map.h"

namespace mluop::perf {
namespace {

// Scales the number of columns of a turn of the sensor.
int scaled_count(int count, double size) { return static_cast<int>(scaled(count, size)); }

// `count` numbers extent * u^power for uniform u in [0, 1): the higher the power, the more of them are equal.
std::vector<int32_t> skewed(int64_t count, double extent, double power, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<int32_t> numbers(static_cast<size_t>(count));
  std::ranges::generate(numbers, [&] { return static_cast<int32_t>(extent * std::pow(uniform(random), power)); });
  return numbers;
}

struct Scan {
  int points, voxels, rings;
};

struct Forward {
  const char* name;
  mluOpReduceMode_t reduce_type;
  int64_t channels;
  Scan scan;
};
constexpr Forward kForward[] = {{"mvx_net_mean", MLUOP_REDUCE_DMEAN, 4, {17563, 13757, 64}},
                                {"mvx_net_max", MLUOP_REDUCE_DMAX, 64, {17563, 13757, 64}},
                                {"rings_128_max", MLUOP_REDUCE_DMAX, 64, {500000, 100000, 128}},
                                {"rings_128_mean", MLUOP_REDUCE_DMEAN, 64, {500000, 100000, 128}}};

struct ForwardCliff {
  const char* name;
  mluOpReduceMode_t reduce_type;
  double extent, power;
};
constexpr ForwardCliff kForwardCliffs[] = {{"point_to_voxel uniform", MLUOP_REDUCE_DMAX, 35, 1},
                                           {"point_to_voxel distinct", MLUOP_REDUCE_DMAX, 1e9, 1},
                                           {"point_to_voxel uneven", MLUOP_REDUCE_DMAX, 1000, 20},
                                           {"point_to_voxel one_voxel", MLUOP_REDUCE_DMAX, 35, 1e9},
                                           {"point_to_voxel one_voxel_mean", MLUOP_REDUCE_DMEAN, 35, 1e9}};

std::unique_ptr<Case> forward_case(mluOpReduceMode_t reduce_type, int64_t C, const Variant& variant,
                                   const std::vector<int32_t>& coors) {
  const auto N = static_cast<int64_t>(coors.size()) / 3;
  cases::Parameters parameters;
  parameters.set("reduce_type", reduce_type);
  auto made =
      std::make_unique<OperatorCase>("dynamic_point_to_voxel_forward", variant.algorithm, parameters,
                                     std::vector<TensorShape>{{"feats", MLUOP_DTYPE_FLOAT, {N, C}},
                                                              {"coors", MLUOP_DTYPE_INT32, {N, 3}},
                                                              {"voxel_feats", MLUOP_DTYPE_FLOAT, {N, C}},
                                                              {"voxel_coors", MLUOP_DTYPE_INT32, {N, 3}},
                                                              {"point2voxel_map", MLUOP_DTYPE_INT32, {N}},
                                                              {"voxel_points_count", MLUOP_DTYPE_INT32, {N}},
                                                              {"voxel_num", MLUOP_DTYPE_INT32, {1}}});
  made->fill_uniform("feats", 1);
  made->set("coors", coors);
  // The work and the checksum depend on the number of voxels.
  made->run();
  const auto voxels = static_cast<size_t>(made->values<int32_t>("voxel_num")[0]);
  made->set_checksummed({made->bytes("point2voxel_map"),
                         made->bytes("voxel_feats").first(voxels * static_cast<size_t>(C) * sizeof(float))});
  made->set_parameter_writer(
      [reduce_type](const NpyFolder& folder) { folder.write("reduce_type", {int64_t{reduce_type}}); });
  return made;
}

std::unique_ptr<Case> make_forward(const Forward& row, const Variant& variant, double size) {
  const auto& [points, voxels, rings] = row.scan;
  return forward_case(row.reduce_type, row.channels, variant,
                      test::lidar_coors(scaled_count(points, size), scaled_count(voxels, size), rings));
}

std::unique_ptr<Case> make_forward_cliff(const ForwardCliff& row, const Variant& variant, double size) {
  return forward_case(row.reduce_type, 64, variant, skewed(scaled(200000, size) * 3, row.extent, row.power, 2));
}

struct Backward {
  const char* name;
  mluOpReduceMode_t reduce_type;
  int64_t channels;
  Scan scan;
  double power = 0;  // 0: the map of a scan; else a skewed one
};
constexpr Scan kMvxNet = {17176, 13743, 64}, kRings128 = {500000, 100000, 128}, kCliff = {200000, 40000, 0};
constexpr Backward kBackwardMax[] = {{"mvx_net", MLUOP_REDUCE_DMAX, 128, kMvxNet},
                                     {"rings_128", MLUOP_REDUCE_DMAX, 64, kRings128}};
constexpr Backward kBackwardSums[] = {{"mvx_net_mean", MLUOP_REDUCE_DMEAN, 128, kMvxNet},
                                      {"rings_128_mean", MLUOP_REDUCE_DMEAN, 64, kRings128},
                                      {"rings_128_sum", MLUOP_REDUCE_DSUM, 64, kRings128}};
constexpr Backward kBackwardCliffs[] = {{"dynamic_scatter uniform", MLUOP_REDUCE_DMAX, 64, kCliff, 1},
                                        {"dynamic_scatter uneven", MLUOP_REDUCE_DMAX, 64, kCliff, 20},
                                        {"dynamic_scatter one_voxel", MLUOP_REDUCE_DMAX, 64, kCliff, 1e9}};

// Computes what the forward operator returns: the maximum and the number of points of each voxel.
void scatter_forward(OperatorCase& made, int64_t C) {
  const std::span<float> feats = made.values<float>("feats"), maxima = made.values<float>("voxel_feats");
  const std::span<int32_t> map = made.values<int32_t>("point2voxel_map");
  std::ranges::fill(maxima, -std::numeric_limits<float>::infinity());
  for (size_t n = 0; n < map.size(); ++n) {
    const float* point = feats.data() + static_cast<int64_t>(n) * C;
    float* voxel = maxima.data() + map[n] * C;
    for (int64_t c = 0; c < C; ++c) voxel[c] = std::max(voxel[c], point[c]);
    ++made.values<int32_t>("voxel_points_count")[static_cast<size_t>(map[n])];
  }
}

std::unique_ptr<Case> make_backward(const Backward& row, const Variant& variant, double size) {
  const int N = scaled_count(row.scan.points, size), V = scaled_count(row.scan.voxels, size);
  const int64_t C = row.channels;
  cases::Parameters parameters;
  parameters.set("reduce_type", row.reduce_type);
  auto made =
      std::make_unique<OperatorCase>("dynamic_point_to_voxel_backward", variant.algorithm, parameters,
                                     std::vector<TensorShape>{{"grad_voxel_feats", variant.dtype, {V, C}},
                                                              {"feats", variant.dtype, {N, C}},
                                                              {"voxel_feats", variant.dtype, {V, C}},
                                                              {"point2voxel_map", MLUOP_DTYPE_INT32, {N}},
                                                              {"voxel_points_count", MLUOP_DTYPE_INT32, {V}},
                                                              {"voxel_num", MLUOP_DTYPE_INT32, {1}},
                                                              {"grad_feats", variant.dtype, {N, C}}});
  made->fill_uniform("feats", 1);
  made->fill_uniform("grad_voxel_feats", 2);
  made->set("point2voxel_map",
            row.power == 0 ? test::lidar_map(N, V, row.scan.rings) : skewed(N, V, row.power, 1));
  scatter_forward(*made, C);
  made->values<int32_t>("voxel_num")[0] = V;
  // Sum and mean do not read feats.
  if (row.reduce_type != MLUOP_REDUCE_DMAX) made->set_largest_input("grad_voxel_feats");
  made->set_parameter_writer([reduce_type = row.reduce_type](const NpyFolder& folder) {
    folder.write("reduce_type", {int64_t{reduce_type}});
  });
  return made;
}

}  // namespace

std::vector<CaseSpec> dynamic_scatter_cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "dynamic_point_to_voxel_forward", kNativeFloat, kForward, make_forward);
  append_cases(specs, "dynamic_scatter_backward", kNativeFloat, kBackwardMax, make_backward);
  append_cases(specs, "dynamic_scatter_backward_sum", kNativeFloat, kBackwardSums, make_backward);
  // The device algorithm has the maximum only.
  append_cases(specs, "dynamic_scatter_backward", kDeviceFloat, kBackwardMax, make_backward);
  return specs;
}

std::vector<CaseSpec> dynamic_scatter_cliffs() {
  std::vector<CaseSpec> specs;
  append_cases(specs, kCliffs, kNativeFloat, kForwardCliffs, make_forward_cliff);
  append_cases(specs, kCliffs, kNativeAndDeviceFloat, kBackwardCliffs, make_backward);
  return specs;
}

}  // namespace mluop::perf
