// CenterPoint's sparse middle encoder on four LiDAR scans: an input layer, four levels of four submanifold layers
// in residual blocks, and a strided layer after each level.
#include "case/networks/center_point.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "case/scenes/center_point.h"
#include "perf/networks/network_case.h"

namespace mluop::perf::center_point {
namespace {

namespace network = networks::center_point;
using network::Encoder;
using network::Layer;
using network::Window;

constexpr int64_t kInputChannels = 5;
// The verified outputs: part of the first scan, 3 m in front of the car and to its side.
constexpr int32_t kSampleDistance = 5, kSampleExtent = 4;

std::vector<Layer> layers() {
  const auto cube = scenes::submanifold({3, 3, 3});
  std::vector<Layer> all = {{kInputChannels, 16, cube}};
  for (int64_t level = 0; level < 4; ++level) {
    const int64_t channels = int64_t{16} << level;
    for (int block = 0; block < 2; ++block) {
      all.push_back({channels, channels, cube});
      all.push_back({channels, channels, cube, true});
    }
    all.push_back({channels, std::min<int64_t>(channels * 2, 128), scenes::kCenterPointSteps[level]});
  }
  return all;
}

// Scales the number of scans, because the number of sites of a scan is limited.
Encoder encoder_of_scans(double size) {
  scenes::CenterPointInput input = scenes::kCenterPointInputs[0];
  input.sites = scaled(input.sites, size);
  input.scans = static_cast<int>(std::ceil(input.scans * size));
  const scenes::SparseTensor tensor = scenes::center_point_tensor(input);
  std::mt19937 random(kNetworkSeed);
  return network::random_encoder(tensor.grid, layers(), tensor.sites, random);
}

Window sample_of(const Encoder& encoder) {
  scenes::Site grid = encoder.grid;
  for (const Layer& layer : encoder.layers) grid = scenes::output_grid(grid, layer.sparse);
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

// Keeps the rows whose sites are in the window.
void select(const Window& window, const std::vector<scenes::Site>& sites, networks::Matrix& matrix) {
  int64_t kept = 0;
  for (size_t i = 0; i < sites.size(); ++i) {
    if (window.contains(sites[i])) {
      std::copy_n(matrix[static_cast<int64_t>(i)], matrix.columns, matrix[kept++]);
    }
  }
  matrix.rows = kept;
  matrix.values.resize(static_cast<size_t>(kept * matrix.columns));
}

// Keeps the outputs at sites in the window. The result then has no other indices than their sites.
void select_outputs(const Window& window, networks::Result& result) {
  networks::Values<int32_t>& coordinates = result.indices[0];
  std::vector<scenes::Site> sites(coordinates.size() / std::tuple_size_v<scenes::Site>);
  std::memcpy(sites.data(), coordinates.data(), sites.size() * sizeof(scenes::Site));
  select(window, sites, result.output);
  std::erase_if(sites, [&](const scenes::Site& site) { return !window.contains(site); });
  coordinates.clear();
  for (const scenes::Site& site : sites) coordinates.insert(coordinates.end(), site.begin(), site.end());
  result.indices.resize(1);
}

class CenterPoint : public NetworkCase<Encoder> {
 public:
  CenterPoint(double size, bool trains) : NetworkCase(encoder_of_scans(size), trains) {}

  Work work() const override {
    constexpr int64_t kSiteBytes = sizeof(scenes::Site);
    const Encoder& encoder = network_;
    const networks::Matrix& output = result_.output;
    int64_t ops = 0, inputs = byte_count(encoder.features) + encoder.features.rows * kSiteBytes;
    for (size_t i = 0; i < encoder.layers.size(); ++i) {
      const Layer& layer = encoder.layers[i];
      ops += 2 * int64_t{result_.indices[1][i]} * layer.Ci * layer.Co;
      inputs += byte_count(encoder.filters[i]);
    }
    return work_of(inputs, byte_count(output) + output.rows * kSiteBytes, 0, ops);  // the gradient is a constant
  }
  std::span<const std::byte> largest_input() const override { return bytes(network_.features); }

  // A row of `layers`: channels, kernel, stride, padding, submanifold, residual.
  void write_inputs(const NpyFolder& folder) const override {
    const Encoder& encoder = network_;
    std::vector<int64_t> rows;
    for (size_t i = 0; i < encoder.layers.size(); ++i) {
      const Layer& layer = encoder.layers[i];
      rows.insert(rows.end(), {layer.Ci, layer.Co});
      for (const scenes::Extent& extent : {layer.sparse.kernel, layer.sparse.stride, layer.sparse.padding}) {
        rows.insert(rows.end(), extent.begin(), extent.end());
      }
      rows.insert(rows.end(), {layer.sparse.submanifold ? 1 : 0, layer.residual ? 1 : 0});
      const auto& [depth, height, width] = layer.sparse.kernel;
      write(folder, "filters" + std::to_string(i), {depth, height, width, layer.Ci, layer.Co}, encoder.filters[i]);
    }
    folder.write("layers", rows);
    folder.write("grid", {encoder.grid.begin(), encoder.grid.end()});
    std::vector<int32_t> indices;
    for (const scenes::Site& site : encoder.sites) indices.insert(indices.end(), site.begin(), site.end());
    folder.write("indices", {encoder.features.rows, 4}, std::span<const int32_t>(indices));
    write(folder, "features", {encoder.features.rows, kInputChannels}, encoder.features);
    write_training(folder);
  }

  // Compares a sample of the outputs and, for a loss over the sample, all gradients. Both depend only on the
  // inputs in the receptive field of the sample.
  std::string verify() override {
    Encoder& encoder = network_;
    encoder.loss = sample_of(encoder);
    run_on_invalid_memory();
    const Window field = receptive_field(encoder.layers, encoder.loss);
    Encoder part = encoder;
    select(field, encoder.sites, part.features);
    std::erase_if(part.sites, [&](const scenes::Site& site) { return !field.contains(site); });
    auto expected = compute(part, networks::Oracles(), trains_);
    networks::Result found = std::move(result_);
    select_outputs(encoder.loss, found);
    select_outputs(encoder.loss, expected);
    if (trains_) select(field, encoder.sites, found.gradients.front().second);
    encoder.loss = network::kEverywhere;
    run();
    return found.output.rows == 0 ? "the sample has no sites" : difference(found, expected);
  }
};

}  // namespace

std::vector<CaseSpec> cases() { return forward_and_training<CenterPoint>("center_point"); }

}  // namespace mluop::perf::center_point
