// The last feature propagation level of PointRCNN's backbone, a PointNet++.
#include "networks/point_net.h"

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "networks/point_net_library.h"
#include "networks/point_net_reference.h"
#include "perf/networks/network_case.h"
#include "perf/networks/parallel_layers.h"
#include "perf/support/npy_folder.h"

namespace mluop::perf {
namespace {

namespace network = test::point_net;
using Matrix = test::Matrix<float>;
using network::Sizes;
using Neighbors = network::Neighbors<float>;

constexpr uint32_t kSeed = 1;

// Scales the batch.
Sizes sizes_of(double size) { return {scaled(2, size), 16384, 4096, 256, 1}; }

class TimedLibrary : public network::Library {
 public:
  TimedLibrary(mluOpHandle_t of_case, StepTimes& times) : Library{of_case}, times_(times) {}

  Neighbors nearest(const network::Level& level) const {
    return times_.time("three_nn_forward", [&] { return Library::nearest(level); });
  }
  Matrix interpolate(const Sizes& sizes, const Matrix& features, const Neighbors& neighbors,
                     const Matrix& weights) const {
    return times_.time("three_interpolate_forward",
                       [&] { return Library::interpolate(sizes, features, neighbors, weights); });
  }
  Matrix interpolate_grad(const Sizes& sizes, const Matrix& grad, const Neighbors& neighbors,
                          const Matrix& weights) const {
    return times_.time("three_interpolate_backward",
                       [&] { return Library::interpolate_grad(sizes, grad, neighbors, weights); });
  }

 private:
  StepTimes& times_;
};

class PointNet : public NetworkCase {
 public:
  PointNet(double size, Passes passes) : NetworkCase(passes) {
    std::mt19937 random(kSeed);
    const Sizes sizes = sizes_of(size);
    level_ = network::random_level(sizes, random);
    grad_ = test::random_matrix(sizes.batches * sizes.all_channels(), sizes.unknown, 1, random);
  }

  Work work() const override {
    const int64_t features = bytes_of(level_.unknown_features) + bytes_of(level_.known_features);
    const int64_t points = bytes_of(level_.unknown) + bytes_of(level_.known);
    Work work{points + features, bytes_of(grad_), 0};
    if (trains()) {
      work.read_bytes += bytes_of(grad_);
      work.write_bytes += features;
    }
    return work;
  }
  std::span<const std::byte> largest_input() const override {
    return std::as_bytes(std::span<const float>(trains() ? grad_.values : level_.known_features.values));
  }

  void write_inputs(const NpyFolder& folder) const override {
    const auto& [B, N, M, C, C2] = level_.sizes;
    const auto write = [&folder](const char* name, const std::vector<int64_t>& shape, const Matrix& matrix) {
      folder.write(name, shape, std::span<const float>(matrix.values));
    };
    write("unknown", {B, N, 3}, level_.unknown);
    write("known", {B, M, 3}, level_.known);
    write("unknown_features", {B, C2, N}, level_.unknown_features);
    write("known_features", {B, C, M}, level_.known_features);
    write("grad_features", {B, C + C2, N}, grad_);
    folder.write("training", {trains() ? 1 : 0});
  }

  void run() override {
    times().begin_call();
    propagation_.reset();
    gradients_ = {};
    const TimedLibrary library(handle(), times());
    propagation_.emplace(network::forward(level_, library, ParallelLayers{}));
    if (trains()) gradients_ = network::backward(level_, *propagation_, grad_, library, ParallelLayers{});
  }

  std::string verify() override {
    propagation_.reset();
    gradients_ = {};
    invalidate_memory();
    run();
    const network::Reference reference;
    const auto expected = network::forward(level_, reference);
    std::vector<std::string> differences = {difference("features", propagation_->features, expected.features)};
    if (trains()) {
      const auto gradients = network::backward(level_, expected, test::Matrix<double>(grad_), reference);
      differences.push_back(
          difference("grad_known_features", gradients_.known_features, gradients.known_features));
      differences.push_back(
          difference("grad_unknown_features", gradients_.unknown_features, gradients.unknown_features));
    }
    return first_of(differences);
  }

  uint64_t checksum() const override {
    return checksum_bytes(std::as_bytes(std::span(propagation_->features.values)),
                          checksum_bytes(std::as_bytes(std::span(gradients_.known_features.values))));
  }

 private:
  network::Level level_;
  Matrix grad_;
  std::optional<network::Propagation<float>> propagation_;
  network::Gradients<float> gradients_;
};

}  // namespace

std::vector<CaseSpec> point_net_cases() { return forward_and_training<PointNet>("point_net"); }

}  // namespace mluop::perf
