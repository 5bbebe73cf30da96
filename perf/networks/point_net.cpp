// The last feature propagation level of PointRCNN's backbone, a PointNet++.
#include "case/networks/point_net.h"

#include <random>
#include <vector>

#include "perf/networks/network_case.h"

namespace mluop::perf::point_net {
namespace {

namespace network = networks::point_net;

// Scales the batch.
network::Level level_of(double size) {
  std::mt19937 random(kNetworkSeed);
  return network::random_level({scaled(2, size), 16384, 4096, 256, 1}, random);
}

class PointNet : public NetworkCase<network::Level> {
 public:
  PointNet(double size, bool trains) : NetworkCase(level_of(size), trains) {}

  Work work() const override {
    const network::Level& level = network_;
    const int64_t inputs = byte_count(level.unknown) + byte_count(level.known) +
                           byte_count(level.unknown_features) + byte_count(level.known_features);
    return work_of(inputs, byte_count(level.grad_features), byte_count(level.grad_features), 0);
  }
  std::span<const std::byte> largest_input() const override {
    return bytes(trains_ ? network_.grad_features : network_.known_features);
  }

  void write_inputs(const NpyFolder& folder) const override {
    const auto& [sizes, unknown, known, unknown_features, known_features, grad_features] = network_;
    const auto& [B, N, M, C, C2] = sizes;
    write(folder, "unknown", {B, N, 3}, unknown);
    write(folder, "known", {B, M, 3}, known);
    write(folder, "unknown_features", {B, C2, N}, unknown_features);
    write(folder, "known_features", {B, C, M}, known_features);
    write(folder, "grad_features", {B, C + C2, N}, grad_features);
    write_training(folder);
  }
};

}  // namespace

std::vector<CaseSpec> cases() { return forward_and_training<PointNet>("point_net"); }

}  // namespace mluop::perf::point_net
