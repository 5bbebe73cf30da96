// The step from camera to bird's-eye view at the size of BEVDepth, with the geometry of its cameras.
#include "networks/bev_depth.h"

#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "networks/bev_depth_library.h"
#include "networks/bev_depth_reference.h"
#include "perf/networks/network_case.h"
#include "perf/networks/parallel_layers.h"
#include "perf/support/npy_folder.h"
#include "support/camera_rig.h"

namespace mluop::perf {
namespace {

namespace network = test::bev_depth;
using Matrix = test::Matrix<float>;
using network::Cell;
using network::Sizes;

constexpr uint32_t kSeed = 1;
constexpr int32_t kCameras = 6;

// Scales the number of depth bins over the same range.
Sizes sizes_of(double size) {
  const auto& whole = test::kBevDepthSizes;
  const auto depths = static_cast<int32_t>(scaled(test::kBevDepthBins, size));
  const auto pixels = static_cast<int32_t>(whole.num_points / kCameras / test::kBevDepthBins);
  return {static_cast<int32_t>(whole.batch_size),
          kCameras,
          depths,
          pixels,
          static_cast<int32_t>(whole.num_channels),
          static_cast<int32_t>(whole.num_voxel_x),
          static_cast<int32_t>(whole.num_voxel_y),
          static_cast<int32_t>(whole.num_voxel_z)};
}

network::View view_of(const Sizes& sizes) {
  const std::vector<int32_t> geometry = test::camera_geometry(sizes.batches, sizes.depths);
  std::vector<Cell> cells(geometry.size() / 3);
  std::memcpy(cells.data(), geometry.data(), geometry.size() * sizeof(int32_t));
  std::mt19937 random(kSeed);
  return {sizes, test::random_matrix(sizes.images() * sizes.depths, sizes.pixels, 2, random),
          test::random_matrix(sizes.images() * sizes.pixels, sizes.channels, 1, random), cells,
          test::random_matrix(sizes.output_rows(), sizes.channels, 1, random)};
}

class TimedLibrary : public network::Library {
 public:
  TimedLibrary(mluOpHandle_t of_case, StepTimes& times) : Library{of_case}, times_(times) {}

  Matrix pool(const Sizes& sizes, const std::vector<Cell>& cells, const Matrix& features,
              test::Values<Cell>& memo) const {
    return times_.time("voxel_pooling_forward", [&] { return Library::pool(sizes, cells, features, memo); });
  }
  Matrix pool_grad(const Sizes& sizes, const test::Values<Cell>& memo, const Matrix& grad) const {
    return times_.time("voxel_pooling_backward", [&] { return Library::pool_grad(sizes, memo, grad); });
  }

 private:
  StepTimes& times_;
};

class BevDepth : public NetworkCase {
 public:
  BevDepth(double size, Passes passes) : NetworkCase(passes), view_(view_of(sizes_of(size))) {}

  Work work() const override {
    const int64_t inputs = bytes_of(view_.depths) + bytes_of(view_.context);
    Work work{inputs + static_cast<int64_t>(view_.cells.size() * sizeof(Cell)), bytes_of(view_.grad_output), 0};
    if (trains()) {
      work.read_bytes += bytes_of(view_.grad_output);
      work.write_bytes += inputs;
    }
    return work;
  }
  std::span<const std::byte> largest_input() const override {
    return std::as_bytes(std::span<const float>(view_.grad_output.values));
  }

  void write_inputs(const NpyFolder& folder) const override {
    const Sizes& s = view_.sizes;
    const auto write = [&folder](const char* name, const std::vector<int64_t>& shape, const Matrix& matrix) {
      folder.write(name, shape, std::span<const float>(matrix.values));
    };
    write("depths", {s.images(), s.depths, s.pixels}, view_.depths);
    write("context", {s.images(), s.pixels, s.channels}, view_.context);
    write("grad_output", {s.batches, s.cells_y, s.cells_x, s.channels}, view_.grad_output);
    std::vector<int32_t> cells;
    for (const Cell& cell : view_.cells) cells.insert(cells.end(), cell.begin(), cell.end());
    folder.write("geom_xyz", {s.batches, s.points(), 3}, std::span<const int32_t>(cells));
    folder.write("cells_z", {s.cells_z});
    folder.write("training", {trains() ? 1 : 0});
  }

  void run() override {
    times().begin_call();
    activations_.reset();
    gradients_ = {};
    const TimedLibrary library(handle(), times());
    activations_.emplace(network::forward(view_, library, ParallelLayers{}));
    if (trains()) gradients_ = network::backward(view_, *activations_, library, ParallelLayers{});
  }

  std::string verify() override {
    activations_.reset();
    gradients_ = {};
    invalidate_memory();
    run();
    const network::Reference reference;
    const auto expected = network::forward(view_, reference);
    if (activations_->memo != expected.memo) return "pos_memo differs";
    std::vector<std::string> differences = {difference("output", activations_->output, expected.output)};
    if (trains()) {
      const auto gradients = network::backward(view_, expected, reference);
      differences.push_back(difference("grad_depths", gradients_.depths, gradients.depths));
      differences.push_back(difference("grad_context", gradients_.context, gradients.context));
    }
    return first_of(differences);
  }

  uint64_t checksum() const override {
    return checksum_bytes(std::as_bytes(std::span(activations_->output.values)),
                          checksum_bytes(std::as_bytes(std::span(gradients_.context.values))));
  }

 private:
  network::View view_;
  std::optional<network::Activations<float>> activations_;
  network::Gradients<float> gradients_;
};

}  // namespace

std::vector<CaseSpec> bev_depth_cases() { return forward_and_training<BevDepth>("bev_depth"); }

}  // namespace mluop::perf
