// The dynamic voxel feature encoder of MVX-Net on the points of a LiDAR turn.
#include "case/networks/mvx_net.h"

#include <random>
#include <vector>

#include "case/scenes/lidar_map.h"
#include "perf/networks/network_case.h"

namespace mluop::perf::mvx_net {
namespace {

namespace network = networks::mvx_net;

constexpr int kPoints = 17563, kVoxels = 13757, kRings = 64;
constexpr int64_t kPointChannels = 4, kChannels = 64;

// Scales the number of columns of a turn of the sensor.
network::Encoder encoder_of_turn(double size) {
  const auto points = static_cast<int>(scaled(kPoints, size));
  const auto voxels = static_cast<int>(scaled(kVoxels, size));
  std::mt19937 random(kNetworkSeed);
  return {networks::random_matrix(points, kPointChannels, 1, random), scenes::lidar_coors(points, voxels, kRings),
          networks::random_matrix(kPointChannels + network::kOffsets, kChannels, 0.7F, random),
          networks::random_matrix(2 * kChannels, kChannels, 0.2F, random),
          networks::random_matrix(points, kChannels, 1, random)};
}

class MvxNet : public NetworkCase<network::Encoder> {
 public:
  MvxNet(double size, bool trains) : NetworkCase(encoder_of_turn(size), trains) {}

  Work work() const override {
    const auto& [points, voxels, first, second, grad_output] = network_;
    const networks::Matrix& output = result_.output;
    const int64_t products = (first.rows + second.rows) * kChannels, voxel_bytes = 3 * int64_t{sizeof(int32_t)};
    const int64_t inputs = byte_count(points) + points.rows * voxel_bytes + byte_count(first) + byte_count(second);
    return work_of(inputs, byte_count(output) + output.rows * voxel_bytes, byte_count(output),
                   2 * points.rows * products);
  }
  std::span<const std::byte> largest_input() const override { return bytes(network_.grad_output); }

  void write_inputs(const NpyFolder& folder) const override {
    const auto& [points, voxels, first, second, grad_output] = network_;
    write(folder, "points", {points.rows, points.columns}, points);
    write(folder, "first", {first.rows, first.columns}, first);
    write(folder, "second", {second.rows, second.columns}, second);
    write(folder, "grad_output", {grad_output.rows, grad_output.columns}, grad_output);
    folder.write("coors", {points.rows, 3}, std::span(voxels));
    write_training(folder);
  }
};

}  // namespace

std::vector<CaseSpec> cases() { return forward_and_training<MvxNet>("mvx_net"); }

}  // namespace mluop::perf::mvx_net
