// CenterPoint's sparse middle encoder on four LiDAR scans: an input layer, four levels of four submanifold layers
// in residual blocks, and a strided layer after each level.
#include "networks/center_point.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "networks/center_point_library.h"
#include "networks/center_point_reference.h"
#include "perf/networks/network_case.h"
#include "perf/networks/parallel_layers.h"
#include "perf/support/npy_folder.h"
#include "support/center_point.h"

namespace mluop::perf {
namespace {

namespace network = test::center_point;
using network::Encoder;
using network::Layer;
using network::Window;
using Matrix = test::Matrix<float>;

constexpr uint32_t kSeed = 1;
constexpr int64_t kInputChannels = 5;
// The outputs that are verified: some of the first scan, 3 m in front of the car and to its side.
constexpr int32_t kSampleDistance = 5, kSampleExtent = 4;

std::vector<Layer> layers() {
  const auto cube = test::submanifold({3, 3, 3});
  std::vector<Layer> all = {{kInputChannels, 16, cube}};
  for (int64_t level = 0; level < 4; ++level) {
    const int64_t channels = int64_t{16} << level;
    for (int block = 0; block < 2; ++block) {
      all.push_back({channels, channels, cube});
      all.push_back({channels, channels, cube, true});
    }
    all.push_back({channels, std::min<int64_t>(channels * 2, 128), test::kCenterPointSteps[level]});
  }
  return all;
}

// Scales the number of scans, as the number of sites of a scan is limited.
Encoder encoder_of_scans(double size) {
  test::CenterPointInput input = test::kCenterPointInputs[0];
  input.sites = scaled(input.sites, size);
  input.scans = static_cast<int>(std::ceil(input.scans * size));
  const test::SparseTensor tensor = test::center_point_tensor(input);
  std::mt19937 random(kSeed);
  return network::random_encoder(tensor.grid, layers(), tensor.sites, random);
}

Window sample_of(const Encoder& encoder) {
  test::Site grid = encoder.grid;
  for (const Layer& layer : encoder.layers) grid = test::output_grid(grid, layer.sparse);
  const int32_t y = grid[2] / 2 + kSampleDistance, x = grid[3] / 2 + kSampleDistance;
  return {{0, 0, y, x}, {1, grid[1], y + kSampleExtent, x + kSampleExtent}};
}

// The inputs that the outputs in the window depend on.
Window receptive_field(const std::vector<Layer>& layers, Window window) {
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    for (size_t axis = 0; axis < 3; ++axis) {
      const int32_t stride = layer->sparse.stride[axis], padding = layer->sparse.padding[axis];
      window.first[axis + 1] = window.first[axis + 1] * stride - padding;
      window.last[axis + 1] = (window.last[axis + 1] - 1) * stride - padding + layer->sparse.kernel[axis];
    }
  }
  return window;
}

template <class F>
struct Selection {
  std::vector<test::Site> sites;
  test::Matrix<F> rows;
};

template <class F>
Selection<F> select(const Window& window, const std::vector<test::Site>& sites, const test::Matrix<F>& rows) {
  Selection<F> result{{}, {rows.rows, rows.columns}};
  for (size_t i = 0; i < sites.size(); ++i) {
    if (!window.contains(sites[i])) continue;
    std::copy_n(rows[static_cast<int64_t>(i)], rows.columns,
                result.rows[static_cast<int64_t>(result.sites.size())]);
    result.sites.push_back(sites[i]);
  }
  result.rows.rows = static_cast<int64_t>(result.sites.size());
  result.rows.values.resize(result.sites.size() * static_cast<size_t>(rows.columns));
  return result;
}

class TimedLibrary : public network::Library {
 public:
  TimedLibrary(mluOpHandle_t of_case, StepTimes& times) : Library{of_case}, times_(times) {}

  Pairs find_pairs(const Layer& layer, const test::Site& grid, std::vector<test::Site>& sites) const {
    return times_.time("get_indice_pairs", [&] { return Library::find_pairs(layer, grid, sites); });
  }
  Matrix convolve(const Layer& layer, const Pairs& pairs, const Matrix& features, const Matrix& filters,
                  int64_t outputs) const {
    return times_.time("indice_convolution_forward",
                       [&] { return Library::convolve(layer, pairs, features, filters, outputs); });
  }
  Matrix grad_features(const Layer& layer, const Pairs& pairs, const Matrix& grad, const Matrix& filters) const {
    return times_.time("indice_convolution_backward_data",
                       [&] { return Library::grad_features(layer, pairs, grad, filters); });
  }
  Matrix grad_filters(const Layer& layer, const Pairs& pairs, const Matrix& features, const Matrix& grad) const {
    return times_.time("indice_convolution_backward_filter",
                       [&] { return Library::grad_filters(layer, pairs, features, grad); });
  }

 private:
  StepTimes& times_;
};

class CenterPoint : public NetworkCase {
 public:
  CenterPoint(double size, Passes passes) : NetworkCase(passes), encoder_(encoder_of_scans(size)) {
    run();
    work_ = work_of_last_run();
  }

  Work work() const override { return work_; }
  std::span<const std::byte> largest_input() const override {
    return std::as_bytes(std::span<const float>(encoder_.features.values));
  }

  // A row of `layers`: channels, kernel, stride, padding, submanifold, residual.
  void write_inputs(const NpyFolder& folder) const override {
    std::vector<int64_t> rows;
    for (size_t i = 0; i < encoder_.layers.size(); ++i) {
      const Layer& layer = encoder_.layers[i];
      rows.insert(rows.end(), {layer.Ci, layer.Co});
      for (const test::Extent& extent : {layer.sparse.kernel, layer.sparse.stride, layer.sparse.padding}) {
        rows.insert(rows.end(), extent.begin(), extent.end());
      }
      rows.insert(rows.end(), {layer.sparse.submanifold ? 1 : 0, layer.residual ? 1 : 0});
      const auto& [depth, height, width] = layer.sparse.kernel;
      folder.write("filters" + std::to_string(i), {depth, height, width, layer.Ci, layer.Co},
                   std::span<const float>(encoder_.filters[i].values));
    }
    folder.write("layers", rows);
    folder.write("grid", {encoder_.grid.begin(), encoder_.grid.end()});
    std::vector<int32_t> indices;
    for (const test::Site& site : encoder_.sites) indices.insert(indices.end(), site.begin(), site.end());
    folder.write("indices", {encoder_.features.rows, 4}, std::span<const int32_t>(indices));
    folder.write("features", {encoder_.features.rows, kInputChannels},
                 std::span<const float>(encoder_.features.values));
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

  // A sample of the outputs and, for a loss of them, all gradients. They depend on the inputs in their receptive
  // field only.
  std::string verify() override {
    encoder_.loss = sample_of(encoder_);
    activations_.reset();
    gradients_ = {};
    invalidate_memory();
    run();
    const std::string result = difference_from_reference();
    encoder_.loss = network::kEverywhere;
    run();
    return result;
  }

  uint64_t checksum() const override {
    return checksum_bytes(std::as_bytes(std::span(activations_->output().values)),
                          checksum_bytes(std::as_bytes(std::span(gradients_.features.values))));
  }

 private:
  Work work_of_last_run() const {
    Work work{0, 0, 0};
    const int passes = trains() ? 3 : 1;
    for (size_t i = 0; i < encoder_.layers.size(); ++i) {
      const Layer& layer = encoder_.layers[i];
      for (const int64_t pairs : activations_->pairs[activations_->pairs_of[i]].counts) {
        work.ops += 2 * pairs * layer.Ci * layer.Co * passes;
      }
      work.read_bytes += bytes_of(encoder_.filters[i]);
    }
    constexpr int64_t kSiteBytes = sizeof(test::Site);
    const int64_t filters_bytes = work.read_bytes, features_bytes = bytes_of(encoder_.features);
    work.read_bytes += features_bytes + encoder_.features.rows * kSiteBytes;
    work.write_bytes = bytes_of(activations_->output()) + activations_->output().rows * kSiteBytes;
    if (trains()) work.write_bytes += filters_bytes + features_bytes;
    return work;
  }

  std::string difference_from_reference() const {
    const Window field = receptive_field(encoder_.layers, encoder_.loss);
    Encoder part = encoder_;
    const auto [sites, features] = select(field, encoder_.sites, encoder_.features);
    part.sites = sites;
    part.features = features;
    const network::Reference reference;
    const auto expected_activations = network::forward(part, reference);
    const auto expected = select(encoder_.loss, expected_activations.sites, expected_activations.output());
    const auto found = select(encoder_.loss, activations_->sites, activations_->output());
    if (found.sites.empty()) return "the sample has no sites";
    if (found.sites != expected.sites) return "the sites of the output differ";
    std::vector<std::string> differences = {difference("output", found.rows, expected.rows)};
    if (trains()) {
      const auto gradients = network::backward(part, expected_activations, reference);
      differences.push_back(difference("grad_features", select(field, encoder_.sites, gradients_.features).rows,
                                       gradients.features));
      for (size_t i = 0; i < gradients.filters.size(); ++i) {
        differences.push_back(
            difference("grad_filters" + std::to_string(i), gradients_.filters[i], gradients.filters[i]));
      }
    }
    return first_of(differences);
  }

  Encoder encoder_;
  Work work_{};
  std::optional<network::Activations<float, network::Library::Pairs>> activations_;
  network::Gradients<float> gradients_;
};

}  // namespace

std::vector<CaseSpec> center_point_cases() { return forward_and_training<CenterPoint>("center_point"); }

}  // namespace mluop::perf
