// The dynamic voxel feature encoder of MVX-Net on the points of a LiDAR turn.
#include "networks/mvx_net.h"

#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "networks/mvx_net_library.h"
#include "networks/mvx_net_reference.h"
#include "perf/networks/network_case.h"
#include "perf/networks/parallel_layers.h"
#include "perf/support/npy_folder.h"
#include "support/lidar_map.h"

namespace mluop::perf {
namespace {

namespace network = test::mvx_net;
using Matrix = test::Matrix<float>;
using Scatter = network::Scatter<float>;

constexpr uint32_t kSeed = 1;
constexpr int kPoints = 17563, kVoxels = 13757, kRings = 64;
constexpr int64_t kPointChannels = 4, kChannels = 64;

// Scales the number of columns of a turn of the sensor.
network::Encoder encoder_of_turn(double size) {
  const auto points = static_cast<int>(scaled(kPoints, size));
  const auto voxels = static_cast<int>(scaled(kVoxels, size));
  const std::vector<int32_t> coors = test::lidar_coors(points, voxels, kRings);
  std::vector<network::Voxel> of_points(static_cast<size_t>(points));
  std::memcpy(of_points.data(), coors.data(), coors.size() * sizeof(int32_t));
  std::mt19937 random(kSeed);
  return {test::random_matrix(points, kPointChannels, 1, random), of_points,
          test::random_matrix(kPointChannels + network::kOffsets, kChannels, 0.7F, random),
          test::random_matrix(2 * kChannels, kChannels, 0.2F, random),
          test::random_matrix(points, kChannels, 1, random)};
}

class TimedLibrary : public network::Library {
 public:
  TimedLibrary(mluOpHandle_t of_case, StepTimes& times) : Library{of_case}, times_(times) {}

  Scatter scatter(mluOpReduceMode_t mode, const Matrix& features,
                  const std::vector<network::Voxel>& voxels) const {
    return times_.time("dynamic_point_to_voxel_forward", [&] { return Library::scatter(mode, features, voxels); });
  }
  Matrix scatter_grad(mluOpReduceMode_t mode, const Matrix& features, const Scatter& scattered,
                      const Matrix& grad) const {
    return times_.time("dynamic_point_to_voxel_backward",
                       [&] { return Library::scatter_grad(mode, features, scattered, grad); });
  }

 private:
  StepTimes& times_;
};

class MvxNet : public NetworkCase {
 public:
  MvxNet(double size, Passes passes) : NetworkCase(passes), encoder_(encoder_of_turn(size)) {
    run();
    voxels_ = activations_->output.features.rows;
  }

  Work work() const override {
    const int64_t N = encoder_.points.rows, voxel_row = kChannels * int64_t{sizeof(float)};
    const int64_t parameters = bytes_of(encoder_.first) + bytes_of(encoder_.second);
    const int64_t products = (kPointChannels + network::kOffsets + 2 * kChannels) * kChannels;
    Work work{bytes_of(encoder_.points) + N * int64_t{sizeof(network::Voxel)} + parameters,
              voxels_ * (voxel_row + int64_t{sizeof(network::Voxel)}), 2 * N * products};
    if (trains()) {
      work.read_bytes += voxels_ * voxel_row;
      work.write_bytes += bytes_of(encoder_.points) + parameters;
      work.ops *= 3;
    }
    return work;
  }
  std::span<const std::byte> largest_input() const override {
    return std::as_bytes(std::span<const float>(encoder_.grad_output.values));
  }

  void write_inputs(const NpyFolder& folder) const override {
    const auto write = [&folder](const char* name, const Matrix& matrix) {
      folder.write(name, {matrix.rows, matrix.columns}, std::span<const float>(matrix.values));
    };
    write("points", encoder_.points);
    write("first", encoder_.first);
    write("second", encoder_.second);
    write("grad_output", encoder_.grad_output);
    std::vector<int32_t> coors;
    for (const network::Voxel& voxel : encoder_.voxels) coors.insert(coors.end(), voxel.begin(), voxel.end());
    folder.write("coors", {encoder_.points.rows, 3}, std::span<const int32_t>(coors));
    folder.write("training", {trains() ? 1 : 0});
  }

  void run() override {
    times().begin_call();
    activations_.reset();
    gradients_ = {};
    const TimedLibrary library(handle(), times());
    activations_.emplace(network::forward(encoder_, library, ParallelLayers{}));
    if (trains()) gradients_ = network::backward(encoder_, *activations_, library, ParallelLayers{});
  }

  std::string verify() override {
    activations_.reset();
    gradients_ = {};
    invalidate_memory();
    run();
    const network::Reference reference;
    const auto expected = network::forward(encoder_, reference);
    const Scatter& found = activations_->output;
    if (found.voxels != expected.output.voxels) return "voxels differ";
    if (found.voxel_of != expected.output.voxel_of) return "point2voxel_map differs";
    std::vector<std::string> differences = {difference("output", found.features, expected.output.features)};
    if (trains()) {
      const auto gradients = network::backward(encoder_, expected, reference);
      differences.push_back(difference("grad_points", gradients_.points, gradients.points));
      differences.push_back(difference("grad_first", gradients_.first, gradients.first));
      differences.push_back(difference("grad_second", gradients_.second, gradients.second));
    }
    return first_of(differences);
  }

  uint64_t checksum() const override {
    return checksum_bytes(std::as_bytes(std::span(activations_->output.features.values)),
                          checksum_bytes(std::as_bytes(std::span(gradients_.points.values))));
  }

 private:
  network::Encoder encoder_;
  int64_t voxels_ = 0;
  std::optional<network::Activations<float>> activations_;
  network::Gradients<float> gradients_;
};

}  // namespace

std::vector<CaseSpec> mvx_net_cases() { return forward_and_training<MvxNet>("mvx_net"); }

}  // namespace mluop::perf
