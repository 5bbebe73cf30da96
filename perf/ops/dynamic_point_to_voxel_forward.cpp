// Dynamic point to voxel forward at the sizes of MVX-Net, and on a sensor of 128 rings. As mmcv calls it, with as
// many rows for voxels as there are points.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "perf/ops/catalogue.h"
#include "perf/support/buffer.h"
#include "perf/support/npy_folder.h"
#include "perf/support/verify.h"
#include "reference/dynamic_point_to_voxel_forward.h"
#include "support/api.h"
#include "support/lidar_map.h"

namespace mluop::perf {
namespace {

constexpr uint32_t kFeatsSeed = 1, kCoorsSeed = 2;

mluOpReduceMode_t enumerator(reference::Reduction reduction) {
  switch (reduction) {
    case reference::Reduction::kSum: return MLUOP_REDUCE_DSUM;
    case reference::Reduction::kMean: return MLUOP_REDUCE_DMEAN;
    case reference::Reduction::kMax: break;
  }
  return MLUOP_REDUCE_DMAX;
}

class DynamicPointToVoxelForward : public Case {
 public:
  DynamicPointToVoxelForward(reference::Reduction reduction, int64_t channels, const std::vector<int32_t>& coors)
      : Case(MLUOP_OMP_ALGORITHM_NATIVE),
        reduction_(reduction),
        points_(static_cast<int64_t>(coors.size()) / 3),
        channels_(channels) {
    fill_uniform(feats_, kFeatsSeed);
    std::copy(coors.begin(), coors.end(), coors_.data());
    size_t bytes = 0;
    test::require(mluOpGetDynamicPointToVoxelForwardWorkspaceSize(handle(), feats_desc_, coors_desc_, &bytes));
    workspace_.emplace(static_cast<int64_t>(bytes));
    run();
    voxels_ = voxel_num_.data()[0];
  }

  Work work() const override {
    const auto bytes = [](int64_t count) { return count * int64_t{sizeof(float)}; };
    return {bytes(points_ * (channels_ + 3)), bytes(voxels_ * (channels_ + 4) + points_ + 1), 0};
  }

  std::span<const std::byte> largest_input() const override { return std::as_bytes(feats_.values()); }

  void write_inputs(const NpyFolder& folder) const override {
    folder.write("feats", {points_, channels_}, feats_.values());
    folder.write("coors", {points_, 3}, coors_.values());
    folder.write("reduce_type", {int64_t{enumerator(reduction_)}});
  }

  void run() override {
    test::require(mluOpDynamicPointToVoxelForward(
        handle(), enumerator(reduction_), feats_desc_, feats_.data(), coors_desc_, coors_.data(),
        workspace_->data(), workspace_->values().size(), feats_desc_, voxel_feats_.data(), coors_desc_,
        voxel_coors_.data(), point_desc_, map_.data(), point_desc_, counts_.data(), num_desc_, voxel_num_.data()));
  }

  std::vector<Baseline> baselines() override {
    return {{"serial", [this] { run_serial(); }}};
  }

  std::string verify() override {
    voxel_feats_.set_bytes(0xFF);
    for (Buffer<int32_t>* buffer : {&voxel_coors_, &map_, &counts_, &voxel_num_}) buffer->set_bytes(0xFF);
    run();
    run_serial();
    if (voxel_num_.data()[0] != expected_.voxel_num) return "voxel_num differs";
    const auto first = [](const auto& buffer, const auto& expected) {
      return buffer.values().first(expected.size());
    };
    std::string difference =
        differing_bits("voxel_feats", first(voxel_feats_, expected_.voxel_feats), expected_.voxel_feats);
    difference += differing_bits("voxel_coors", first(voxel_coors_, expected_.voxel_coors), expected_.voxel_coors);
    difference += differing_bits("voxel_points_count", first(counts_, expected_.voxel_points_count),
                                 expected_.voxel_points_count);
    return difference + differing_bits("point2voxel_map", map_.values(), expected_.point2voxel_map);
  }

  uint64_t checksum() const override {
    const auto rows = static_cast<size_t>(voxels_);
    return checksum_bytes(std::as_bytes(voxel_feats_.values().first(rows * static_cast<size_t>(channels_))),
                          checksum_bytes(std::as_bytes(map_.values())));
  }

 private:
  void run_serial() {
    expected_ =
        reference::dynamic_point_to_voxel_forward(reduction_, points_, channels_, feats_.data(), coors_.data());
  }

  reference::Reduction reduction_;
  int64_t points_, channels_, voxels_ = 0;
  test::Descriptor feats_desc_{MLUOP_DTYPE_FLOAT, {points_, channels_}};
  test::Descriptor coors_desc_{MLUOP_DTYPE_INT32, {points_, 3}};
  test::Descriptor point_desc_{MLUOP_DTYPE_INT32, {points_}}, num_desc_{MLUOP_DTYPE_INT32, {1}};
  Buffer<float> feats_{points_ * channels_}, voxel_feats_{points_ * channels_};
  Buffer<int32_t> coors_{points_ * 3}, voxel_coors_{points_ * 3};
  Buffer<int32_t> map_{points_}, counts_{points_}, voxel_num_{1};
  std::optional<Buffer<std::byte>> workspace_;
  reference::DynamicPointToVoxelResult expected_;
};

// Scales the number of columns of a turn of the sensor.
std::vector<int32_t> scaled_coors(int points, int voxels, int rings, double size) {
  const auto of = [=](int extent) { return static_cast<int>(scaled(extent, size)); };
  return test::lidar_coors(of(points), of(voxels), rings);
}

// Coordinates extent * u^power for uniform u in [0, 1): the higher the power, the more points share a voxel.
std::vector<int32_t> skewed_coors(int64_t points, double extent, double power) {
  std::mt19937 random(kCoorsSeed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<int32_t> coors(static_cast<size_t>(points) * 3);
  std::ranges::generate(coors, [&] { return static_cast<int32_t>(extent * std::pow(uniform(random), power)); });
  return coors;
}

}  // namespace

std::vector<CaseSpec> dynamic_point_to_voxel_forward_cliffs() {
  constexpr struct {
    const char* name;
    reference::Reduction reduction;
    double extent, power;
  } kCoors[] = {{"point_to_voxel uniform", reference::Reduction::kMax, 35, 1},
                {"point_to_voxel distinct", reference::Reduction::kMax, 1e9, 1},
                {"point_to_voxel uneven", reference::Reduction::kMax, 1000, 20},
                {"point_to_voxel one_voxel", reference::Reduction::kMax, 35, 1e9},
                {"point_to_voxel one_voxel_mean", reference::Reduction::kMean, 35, 1e9}};
  std::vector<CaseSpec> specs;
  for (const auto& each : kCoors) {
    specs.push_back({kCliffs, each.name, "float", "native", [each](double size) {
                       return std::make_unique<DynamicPointToVoxelForward>(
                           each.reduction, 64, skewed_coors(scaled(200000, size), each.extent, each.power));
                     }});
  }
  return specs;
}

std::vector<CaseSpec> dynamic_point_to_voxel_forward_cases() {
  using reference::Reduction;
  constexpr struct {
    const char* name;
    Reduction reduction;
    int points, voxels, rings;
    int64_t channels;
  } kCases[] = {{"mvx_net_mean", Reduction::kMean, 17563, 13757, 64, 4},
                {"mvx_net_max", Reduction::kMax, 17563, 13757, 64, 64},
                {"rings_128_max", Reduction::kMax, 500000, 100000, 128, 64},
                {"rings_128_mean", Reduction::kMean, 500000, 100000, 128, 64}};
  std::vector<CaseSpec> specs;
  for (const auto& each : kCases) {
    specs.push_back({"dynamic_point_to_voxel_forward", each.name, "float", "native", [each](double size) {
                       return std::make_unique<DynamicPointToVoxelForward>(
                           each.reduction, each.channels,
                           scaled_coors(each.points, each.voxels, each.rings, size));
                     }});
  }
  return specs;
}

}  // namespace mluop::perf
