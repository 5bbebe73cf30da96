// The step from camera to bird's-eye view at the size of BEVDepth, with the geometry of its cameras.
#include "case/networks/bev_depth.h"

#include <random>
#include <vector>

#include "case/scenes/camera_rig.h"
#include "perf/networks/network_case.h"

namespace mluop::perf::bev_depth {
namespace {

namespace network = networks::bev_depth;
using network::Sizes;

network::View view_of(const Sizes& sizes) {
  std::mt19937 random(kNetworkSeed);
  return {sizes, networks::random_matrix(sizes.images() * sizes.depths, sizes.pixels, 2, random),
          networks::random_matrix(sizes.images() * sizes.pixels, sizes.channels, 1, random),
          scenes::camera_geometry(sizes.batches, sizes.depths),
          networks::random_matrix(sizes.output_rows(), sizes.channels, 1, random)};
}

class BevDepth : public NetworkCase<network::View> {
 public:
  BevDepth(double size, bool trains)
      : NetworkCase(view_of(network::network_sizes(static_cast<int32_t>(scaled(scenes::kBevDepthBins, size)))),
                    trains) {}

  Work work() const override {
    const auto& [sizes, depths, context, cells, grad_output] = network_;
    const int64_t inputs = byte_count(depths) + byte_count(context) + std::ssize(std::as_bytes(std::span(cells)));
    return work_of(inputs, byte_count(grad_output), byte_count(grad_output), 0);
  }
  std::span<const std::byte> largest_input() const override { return bytes(network_.grad_output); }

  void write_inputs(const NpyFolder& folder) const override {
    const auto& [s, depths, context, cells, grad_output] = network_;
    write(folder, "depths", {s.images(), s.depths, s.pixels}, depths);
    write(folder, "context", {s.images(), s.pixels, s.channels}, context);
    write(folder, "grad_output", {s.batches, s.cells_y, s.cells_x, s.channels}, grad_output);
    folder.write("geom_xyz", {s.batches, s.points(), 3}, std::span(cells));
    folder.write("cells_z", {s.cells_z});
    write_training(folder);
  }
};

}  // namespace

std::vector<CaseSpec> cases() { return forward_and_training<BevDepth>("bev_depth"); }

}  // namespace mluop::perf::bev_depth
