// Dynamic point to voxel forward, called as by mmcv with as many voxel rows as points, and its backward operator:
// at the sizes of MVX-Net, and on a sensor of 128 rings.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "case/scenes/lidar_map.h"
#include "perf/support/operator_case.h"

namespace mluop::perf::dynamic_scatter {
namespace {

// Scales the number of columns of a turn of the sensor.
int scaled_count(int count, double size) { return static_cast<int>(scaled(count, size)); }

// `count` numbers extent * u^power for uniform u in [0, 1): the higher the power, the more numbers are equal.
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

// The voxels come from a scan, or from random numbers of a power: one per point (backward), or coordinates below
// an extent (forward).
struct Row {
  const char* name;
  mluOpReduceMode_t reduce_type;
  int64_t channels;
  Scan scan;
  double power = 0, extent = 0;
};
constexpr auto kMax = MLUOP_REDUCE_DMAX, kMean = MLUOP_REDUCE_DMEAN, kSum = MLUOP_REDUCE_DSUM;
constexpr Scan kTurn = {17563, 13757, 64}, kMvxNet = {17176, 13743, 64}, kRings128 = {500000, 100000, 128};
constexpr Scan kCliff = {200000, 40000, 0};

constexpr Row kForward[] = {{"mvx_net_mean", kMean, 4, kTurn},
                            {"mvx_net_max", kMax, 64, kTurn},
                            {"rings_128_max", kMax, 64, kRings128},
                            {"rings_128_mean", kMean, 64, kRings128}};
constexpr Row kForwardCliffs[] = {{"point_to_voxel uniform", kMax, 64, kCliff, 1, 35},
                                  {"point_to_voxel distinct", kMax, 64, kCliff, 1, 1e9},
                                  {"point_to_voxel uneven", kMax, 64, kCliff, 20, 1000},
                                  {"point_to_voxel one_voxel", kMax, 64, kCliff, 1e9, 35},
                                  {"point_to_voxel one_voxel_mean", kMean, 64, kCliff, 1e9, 35}};
constexpr Row kBackwardMax[] = {{"mvx_net", kMax, 128, kMvxNet}, {"rings_128", kMax, 64, kRings128}};
constexpr Row kBackwardSums[] = {{"mvx_net_mean", kMean, 128, kMvxNet},
                                 {"rings_128_mean", kMean, 64, kRings128},
                                 {"rings_128_sum", kSum, 64, kRings128}};
constexpr Row kBackwardCliffs[] = {{"dynamic_scatter uniform", kMax, 64, kCliff, 1},
                                   {"dynamic_scatter uneven", kMax, 64, kCliff, 20},
                                   {"dynamic_scatter one_voxel", kMax, 64, kCliff, 1e9}};

std::unique_ptr<Case> make_forward(const Row& row, const Variant& variant, double size) {
  const int N = scaled_count(row.scan.points, size), V = scaled_count(row.scan.voxels, size);
  const int64_t C = row.channels;
  auto made = make_case("dynamic_point_to_voxel_forward", variant, {{"reduce_type", row.reduce_type}},
                        {{"feats", MLUOP_DTYPE_FLOAT, {N, C}},
                         {"coors", MLUOP_DTYPE_INT32, {N, 3}},
                         {"voxel_feats", MLUOP_DTYPE_FLOAT, {N, C}},
                         {"voxel_coors", MLUOP_DTYPE_INT32, {N, 3}},
                         {"point2voxel_map", MLUOP_DTYPE_INT32, {N}},
                         {"voxel_points_count", MLUOP_DTYPE_INT32, {N}},
                         {"voxel_num", MLUOP_DTYPE_INT32, {1}}});
  made->fill_uniform("feats", 1);
  made->set("coors", row.power == 0 ? scenes::lidar_coors(N, V, row.scan.rings)
                                    : skewed(int64_t{N} * 3, row.extent, row.power, 2));
  // The work and the checksum depend on the number of voxels.
  made->run();
  const auto voxels = static_cast<size_t>(made->values<int32_t>("voxel_num")[0]);
  made->options.checksummed = {made->bytes("point2voxel_map"),
                               made->bytes("voxel_feats").first(voxels * static_cast<size_t>(C) * sizeof(float))};
  made->dump("reduce_type", {row.reduce_type});
  return made;
}

// Computes the results of the forward operator: the maximum and the number of points of each voxel.
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

std::unique_ptr<Case> make_backward(const Row& row, const Variant& variant, double size) {
  const int N = scaled_count(row.scan.points, size), V = scaled_count(row.scan.voxels, size);
  const int64_t C = row.channels;
  auto made = make_case("dynamic_point_to_voxel_backward", variant, {{"reduce_type", row.reduce_type}},
                        {{"grad_voxel_feats", variant.dtype, {V, C}},
                         {"feats", variant.dtype, {N, C}},
                         {"voxel_feats", variant.dtype, {V, C}},
                         {"point2voxel_map", MLUOP_DTYPE_INT32, {N}},
                         {"voxel_points_count", MLUOP_DTYPE_INT32, {V}},
                         {"voxel_num", MLUOP_DTYPE_INT32, {1}},
                         {"grad_feats", variant.dtype, {N, C}}});
  made->fill_uniform("feats", 1);
  made->fill_uniform("grad_voxel_feats", 2);
  made->set("point2voxel_map",
            row.power == 0 ? scenes::lidar_map(N, V, row.scan.rings) : skewed(N, V, row.power, 1));
  scatter_forward(*made, C);
  made->values<int32_t>("voxel_num")[0] = V;
  // Sum and mean do not read feats.
  if (row.reduce_type != kMax) made->options.largest_input = made->bytes("grad_voxel_feats");
  made->dump("reduce_type", {row.reduce_type});
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "dynamic_point_to_voxel_forward", kNativeFloat, kForward, make_forward);
  append_cases(specs, "dynamic_scatter_backward", kNativeFloat, kBackwardMax, make_backward);
  append_cases(specs, "dynamic_scatter_backward_sum", kNativeFloat, kBackwardSums, make_backward);
  // The device algorithm supports only the maximum.
  append_cases(specs, "dynamic_scatter_backward", kDeviceFloat, kBackwardMax, make_backward);
  append_cases(specs, kCliffs, kNativeFloat, kForwardCliffs, make_forward);
  append_cases(specs, kCliffs, kNativeAndDeviceFloat, kBackwardCliffs, make_backward);
  return specs;
}

}  // namespace mluop::perf::dynamic_scatter
