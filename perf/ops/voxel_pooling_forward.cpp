// Voxel pooling forward at the size of BEVDepth, on the geometry of its cameras and on a uniform one.
#include <algorithm>
#include <vector>

#include "perf/ops/catalogue.h"
#include "perf/support/buffer.h"
#include "perf/support/npy_folder.h"
#include "perf/support/verify.h"
#include "reference/voxel_pooling_forward.h"
#include "support/api.h"
#include "support/camera_rig.h"

namespace mluop::perf {
namespace {

constexpr reference::VoxelPoolingForwardSizes kSizes = test::kBevDepthSizes;
constexpr double kAtomicsTolerance = 3e-3;
constexpr uint32_t kSeed = 1;

struct Outputs {
  Buffer<float> features{kSizes.output_count()};
  Buffer<int32_t> memo{kSizes.geom_count()};
};

class VoxelPoolingForward : public Case {
 public:
  VoxelPoolingForward(mluOpAtomicsMode_t mode, const std::vector<int32_t>& geometry) : mode_(mode), handle_(mode) {
    std::copy(geometry.begin(), geometry.end(), geometry_.data());
    fill_uniform(input_, kSeed);
  }

  Work work() const override {
    const auto bytes = [](int64_t count) { return count * int64_t{sizeof(float)}; };
    const int64_t used = points_in_range() * kSizes.num_channels;
    return {bytes(used + kSizes.geom_count()), bytes(kSizes.output_count() + kSizes.geom_count()), used};
  }

  std::span<const std::byte> largest_input() const override { return std::as_bytes(input_.values()); }

  void write_inputs(const NpyFolder& folder) const override {
    folder.write("geom_xyz", {kSizes.batch_size, kSizes.num_points, 3}, geometry_.values());
    folder.write("input_features", {kSizes.batch_size, kSizes.num_points, kSizes.num_channels}, input_.values());
    folder.write("num_voxel", {kSizes.num_voxel_x, kSizes.num_voxel_y, kSizes.num_voxel_z});
  }

  void run() override {
    test::require(mluOpVoxelPoolingForward(
        handle_, kSizes.batch_size, kSizes.num_points, kSizes.num_channels, kSizes.num_voxel_x, kSizes.num_voxel_y,
        kSizes.num_voxel_z, points_desc_, geometry_.data(), input_desc_, input_.data(), output_desc_,
        outputs_.features.data(), points_desc_, outputs_.memo.data()));
  }

  std::vector<Baseline> baselines() override {
    return {{"serial", [this] { run_serial(); }}};
  }

  std::string verify() override {
    outputs_.features.set_bytes(0xFF);
    outputs_.memo.set_bytes(0x7F);
    run();
    run_serial();
    const auto features = outputs_.features.values();
    const auto expected = expected_.features.values();
    const std::string problem = mode_ == MLUOP_ATOMICS_NOT_ALLOWED
                                    ? differing_bits("output_features", features, expected)
                                    : too_different("output_features", features, expected, kAtomicsTolerance);
    return problem.empty() ? differing_bits("pos_memo", outputs_.memo.values(), expected_.memo.values()) : problem;
  }

  uint64_t checksum() const override {
    return checksum_bytes(std::as_bytes(outputs_.memo.values()),
                          checksum_bytes(std::as_bytes(outputs_.features.values())));
  }

 private:
  void run_serial() {
    reference::voxel_pooling_forward(kSizes, geometry_.data(), input_.data(), expected_.features.data(),
                                     expected_.memo.data());
  }

  int64_t points_in_range() const {
    const auto inside = [](int32_t coordinate, int32_t bound) { return 0 <= coordinate && coordinate < bound; };
    int64_t count = 0;
    for (int64_t i = 0; i < kSizes.geom_count(); i += 3) {
      const int32_t* point = geometry_.data() + i;
      count += inside(point[0], kSizes.num_voxel_x) && inside(point[1], kSizes.num_voxel_y) &&
               inside(point[2], kSizes.num_voxel_z);
    }
    return count;
  }

  mluOpAtomicsMode_t mode_;
  test::Handle handle_;
  test::Descriptor points_desc_{MLUOP_DTYPE_INT32, {kSizes.batch_size, kSizes.num_points, 3}};
  test::Descriptor input_desc_{MLUOP_DTYPE_FLOAT, {kSizes.batch_size, kSizes.num_points, kSizes.num_channels}};
  test::Descriptor output_desc_{MLUOP_DTYPE_FLOAT,
                                {kSizes.batch_size, kSizes.num_voxel_y, kSizes.num_voxel_x, kSizes.num_channels}};
  Buffer<int32_t> geometry_{kSizes.geom_count()};
  Buffer<float> input_{kSizes.input_count()};
  Outputs outputs_, expected_;
};

std::vector<int32_t> camera() { return test::camera_geometry(kSizes.batch_size); }
std::vector<int32_t> uniform() { return test::uniform_geometry(kSizes, kSeed); }

CaseSpec spec(const char* name, std::vector<int32_t> (*geometry)(), const char* mode_name,
              mluOpAtomicsMode_t mode) {
  return {"voxel_pooling_forward", name, "float", mode_name,
          [=] { return std::make_unique<VoxelPoolingForward>(mode, geometry()); }};
}

}  // namespace

std::vector<CaseSpec> voxel_pooling_forward_cases() {
  return {spec("camera", camera, "deterministic", MLUOP_ATOMICS_NOT_ALLOWED),
          spec("uniform", uniform, "deterministic", MLUOP_ATOMICS_NOT_ALLOWED),
          spec("camera", camera, "atomics", MLUOP_ATOMICS_ALLOWED),
          spec("uniform", uniform, "atomics", MLUOP_ATOMICS_ALLOWED)};
}

}  // namespace mluop::perf
