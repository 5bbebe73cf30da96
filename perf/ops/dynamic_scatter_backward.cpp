// Dynamic scatter backward at the size of MVX-Net, and on a sensor of 128 rings, for each reduction.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "perf/ops/catalogue.h"
#include "perf/support/buffer.h"
#include "perf/support/npy_folder.h"
#include "perf/support/verify.h"
#include "reference/dynamic_scatter_backward.h"
#include "support/api.h"
#include "support/lidar_map.h"

namespace mluop::perf {
namespace {

using Sizes = reference::DynamicScatterBackwardSizes;

// Scales the number of columns of a turn of the sensor.
Sizes scaled(const Sizes& sizes, double size) {
  const auto of = [=](int extent) { return static_cast<int>(perf::scaled(extent, size)); };
  return {of(sizes.points), of(sizes.voxels), sizes.channels, of(sizes.voxel_num)};
}

constexpr Sizes kMvxNet = {17176, 13743, 128, 13743};
constexpr Sizes kRings128 = {500000, 100000, 64, 100000};
constexpr uint32_t kFeatsSeed = 1, kGradSeed = 2;

class DynamicScatterBackward : public Case {
 public:
  DynamicScatterBackward(const Sizes& sizes, mluOpReduceMode_t reduce_type, mluOpOmpAlgorithm_t algorithm,
                         const std::vector<int32_t>& map)
      : Case(algorithm), sizes_(sizes), reduce_type_(reduce_type) {
    fill_uniform(feats_, kFeatsSeed);
    fill_uniform(grad_voxel_feats_, kGradSeed);
    std::copy(map.begin(), map.end(), map_.data());
    scatter_forward();
    voxel_num_.data()[0] = sizes.voxel_num;
    size_t bytes = 0;
    test::require(mluOpGetDynamicScatterBackwardWorkspaceSize(handle(), reduce_type, feats_desc_, &bytes));
    workspace_.emplace(static_cast<int64_t>(bytes));
  }

  Work work() const override {
    const auto bytes = [](int64_t count) { return count * int64_t{sizeof(float)}; };
    // Sum and mean read the gradients only.
    const int64_t features = is_max() ? sizes_.feats_count() + sizes_.voxel_feats_count() : 0;
    return {bytes(features + sizes_.voxel_feats_count() + sizes_.points), bytes(sizes_.feats_count()), 0};
  }

  std::span<const std::byte> largest_input() const override {
    return std::as_bytes(is_max() ? feats_.values() : grad_voxel_feats_.values());
  }

  void write_inputs(const NpyFolder& folder) const override {
    folder.write("grad_voxel_feats", {sizes_.voxels, sizes_.channels}, grad_voxel_feats_.values());
    folder.write("feats", {sizes_.points, sizes_.channels}, feats_.values());
    folder.write("voxel_feats", {sizes_.voxels, sizes_.channels}, voxel_feats_.values());
    folder.write("point2voxel_map", {sizes_.points}, map_.values());
    folder.write("voxel_points_count", {sizes_.voxels}, voxel_points_count_.values());
    folder.write("voxel_num", {1}, voxel_num_.values());
    folder.write("reduce_type", {int64_t{reduce_type_}});
  }

  void run() override {
    test::require(mluOpDynamicScatterBackward(handle(), reduce_type_, voxel_feats_desc_, grad_voxel_feats_.data(),
                                              feats_desc_, feats_.data(), voxel_feats_desc_, voxel_feats_.data(),
                                              map_desc_, map_.data(), count_desc_, voxel_points_count_.data(),
                                              num_desc_, voxel_num_.data(), workspace_->data(),
                                              workspace_->values().size(), feats_desc_, grad_feats_.data()));
  }

  std::vector<Baseline> baselines() override {
    return {{"serial", [this] { run_serial(); }}};
  }

  std::string verify() override {
    grad_feats_.set_bytes(0xFF);
    run();
    run_serial();
    return differing_bits("grad_feats", grad_feats_.values(), expected_.values());
  }

  uint64_t checksum() const override { return checksum_bytes(std::as_bytes(grad_feats_.values())); }

 private:
  bool is_max() const { return reduce_type_ == MLUOP_REDUCE_DMAX; }

  void run_serial() {
    if (!is_max()) {
      reference::dynamic_scatter_backward_of_sums(
          sizes_, grad_voxel_feats_.data(), map_.data(),
          reduce_type_ == MLUOP_REDUCE_DMEAN ? voxel_points_count_.data() : nullptr, expected_.data());
      return;
    }
    reference::dynamic_scatter_backward(sizes_, grad_voxel_feats_.data(), feats_.data(), voxel_feats_.data(),
                                        map_.data(), reduce_from_.data(), expected_.data());
  }

  // Computes what the forward operator returns: the maximum and the number of points of each voxel.
  void scatter_forward() {
    std::fill_n(voxel_feats_.data(), sizes_.voxel_feats_count(), -std::numeric_limits<float>::infinity());
    for (int64_t n = 0; n < sizes_.points; ++n) {
      const float* feats = feats_.data() + n * sizes_.channels;
      float* voxel = voxel_feats_.data() + map_.data()[n] * int64_t{sizes_.channels};
      for (int64_t c = 0; c < sizes_.channels; ++c) voxel[c] = std::max(voxel[c], feats[c]);
      ++voxel_points_count_.data()[map_.data()[n]];
    }
  }

  Sizes sizes_;
  mluOpReduceMode_t reduce_type_;
  test::Descriptor feats_desc_{MLUOP_DTYPE_FLOAT, {sizes_.points, sizes_.channels}};
  test::Descriptor voxel_feats_desc_{MLUOP_DTYPE_FLOAT, {sizes_.voxels, sizes_.channels}};
  test::Descriptor map_desc_{MLUOP_DTYPE_INT32, {sizes_.points}};
  test::Descriptor count_desc_{MLUOP_DTYPE_INT32, {sizes_.voxels}};
  test::Descriptor num_desc_{MLUOP_DTYPE_INT32, {1}};
  Buffer<float> feats_{sizes_.feats_count()}, grad_feats_{sizes_.feats_count()}, expected_{sizes_.feats_count()};
  Buffer<float> voxel_feats_{sizes_.voxel_feats_count()}, grad_voxel_feats_{sizes_.voxel_feats_count()};
  Buffer<int32_t> map_{sizes_.points}, voxel_points_count_{sizes_.voxels}, voxel_num_{1};
  Buffer<int32_t> reduce_from_{sizes_.voxel_feats_count()};
  std::optional<Buffer<std::byte>> workspace_;
};

CaseSpec spec(const char* name, const Sizes& sizes, int rings, mluOpReduceMode_t reduce_type,
              mluOpOmpAlgorithm_t algorithm, const char* algorithm_name) {
  const char* const op =
      reduce_type == MLUOP_REDUCE_DMAX ? "dynamic_scatter_backward" : "dynamic_scatter_backward_sum";
  return {op, name, "float", algorithm_name, [=](double size) {
            const Sizes s = scaled(sizes, size);
            return std::make_unique<DynamicScatterBackward>(s, reduce_type, algorithm,
                                                            test::lidar_map(s.points, s.voxels, rings));
          }};
}

constexpr Sizes kCliff = {200000, 40000, 64, 40000};

// Voxel V * u^power for uniform u in [0, 1): the higher the power, the more points have the first voxels.
std::vector<int32_t> skewed_map(const Sizes& sizes, double power) {
  std::mt19937 random(kFeatsSeed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<int32_t> map(static_cast<size_t>(sizes.points));
  std::ranges::generate(map,
                        [&] { return static_cast<int32_t>(sizes.voxels * std::pow(uniform(random), power)); });
  return map;
}

}  // namespace

std::vector<CaseSpec> dynamic_scatter_backward_cliffs() {
  constexpr struct {
    const char* name;
    double power;
  } kMaps[] = {{"dynamic_scatter uniform", 1}, {"dynamic_scatter uneven", 20}, {"dynamic_scatter one_voxel", 1e9}};
  std::vector<CaseSpec> specs;
  for (const auto& [algorithm, algorithm_name] : kAlgorithms) {
    for (const auto& [name, power] : kMaps) {
      specs.push_back(
          {kCliffs, name, "float", algorithm_name, [algorithm = algorithm, power = power](double size) {
             const Sizes sizes = scaled(kCliff, size);
             return std::make_unique<DynamicScatterBackward>(sizes, MLUOP_REDUCE_DMAX, algorithm,
                                                             skewed_map(sizes, power));
           }});
    }
  }
  return specs;
}

std::vector<CaseSpec> dynamic_scatter_backward_cases() {
  std::vector<CaseSpec> specs;
  for (const auto& [algorithm, name] : kAlgorithms) {
    specs.push_back(spec("mvx_net", kMvxNet, 64, MLUOP_REDUCE_DMAX, algorithm, name));
    specs.push_back(spec("rings_128", kRings128, 128, MLUOP_REDUCE_DMAX, algorithm, name));
    // The device algorithm has the maximum only.
    if (algorithm == MLUOP_OMP_ALGORITHM_DEVICE) continue;
    specs.push_back(spec("mvx_net_mean", kMvxNet, 64, MLUOP_REDUCE_DMEAN, algorithm, name));
    specs.push_back(spec("rings_128_mean", kRings128, 128, MLUOP_REDUCE_DMEAN, algorithm, name));
    specs.push_back(spec("rings_128_sum", kRings128, 128, MLUOP_REDUCE_DSUM, algorithm, name));
  }
  return specs;
}

}  // namespace mluop::perf
