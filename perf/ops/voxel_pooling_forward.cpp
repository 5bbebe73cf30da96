// Voxel pooling forward at the size of BEVDepth, with the geometry of its cameras and with uniform coordinates.
#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "perf/bounds/voxel_pooling_forward.h"
#include "perf/ops/catalogue.h"
#include "perf/support/buffer.h"
#include "perf/support/npy_folder.h"
#include "perf/support/verify.h"
#include "reference/voxel_pooling_forward.h"
#include "support/api.h"
#include "support/camera_rig.h"
#include "support/element.h"

namespace mluop::perf {
namespace {

using Sizes = reference::VoxelPoolingForwardSizes;

constexpr double kDeviceTolerance = 3e-3;
constexpr uint32_t kSeed = 1;

// Scales the number of depth bins over the same range.
int depth_bins(double size) { return static_cast<int>(scaled(test::kBevDepthBins, size)); }

Sizes sizes_of(int depths) {
  Sizes sizes = test::kBevDepthSizes;
  sizes.num_points = sizes.num_points / test::kBevDepthBins * depths;
  return sizes;
}

std::span<const float> bits(const Buffer<float>& buffer) { return buffer.values(); }
std::span<const uint16_t> bits(const Buffer<test::Half>& buffer) {
  return {&buffer.data()->bits, buffer.values().size()};
}

template <class T>
std::vector<float> floats(const Buffer<T>& buffer) {
  std::vector<float> values;
  for (const T value : buffer.values()) values.push_back(test::to_f32(value));
  return values;
}

template <class T>
struct Outputs {
  explicit Outputs(const Sizes& sizes) : features(sizes.output_count()), memo(sizes.geom_count()) {}
  Buffer<T> features;
  Buffer<int32_t> memo;
};

// T: float or Half.
template <class T>
class VoxelPoolingForward : public Case {
 public:
  VoxelPoolingForward(const Sizes& sizes, mluOpOmpAlgorithm_t algorithm, const std::vector<int32_t>& geometry)
      : Case(algorithm), sizes_(sizes) {
    std::copy(geometry.begin(), geometry.end(), geometry_.data());
    fill_uniform(input_, kSeed);
  }

  Work work() const override {
    const int64_t used = points_in_range() * sizes_.num_channels;
    const int64_t geom_bytes = sizes_.geom_count() * int64_t{sizeof(int32_t)};
    return {used * kElementBytes + geom_bytes, sizes_.output_count() * kElementBytes + geom_bytes, used};
  }

  std::span<const std::byte> largest_input() const override { return std::as_bytes(input_.values()); }

  void write_inputs(const NpyFolder& folder) const override {
    folder.write("geom_xyz", {sizes_.batch_size, sizes_.num_points, 3}, geometry_.values());
    folder.write("input_features", {sizes_.batch_size, sizes_.num_points, sizes_.num_channels}, input_.values());
    folder.write("num_voxel", {sizes_.num_voxel_x, sizes_.num_voxel_y, sizes_.num_voxel_z});
  }

  void run() override {
    test::require(mluOpVoxelPoolingForward(
        handle(), sizes_.batch_size, sizes_.num_points, sizes_.num_channels, sizes_.num_voxel_x,
        sizes_.num_voxel_y, sizes_.num_voxel_z, points_desc_, geometry_.data(), input_desc_, input_.data(),
        output_desc_, outputs_.features.data(), points_desc_, outputs_.memo.data()));
  }

  std::vector<Baseline> baselines() override {
    return {{"serial", [this] { run_serial(); }}};
  }

  std::function<void()> algorithmic_bound() override {
    if (!is_native()) return {};
    return voxel_pooling_forward_bound(sizes_, sizeof(T) == 2, geometry_.data(), input_.data(),
                                       expected_.features.data(), expected_.memo.data(), thread_count());
  }

  std::string verify() override {
    outputs_.features.set_bytes(0xFF);
    outputs_.memo.set_bytes(0x7F);
    run();
    run_serial();
    const std::string problem =
        is_native() ? differing_bits("output_features", bits(outputs_.features), bits(expected_.features))
                    : too_different("output_features", floats(outputs_.features), floats(expected_.features),
                                    kDeviceTolerance);
    return problem.empty() ? differing_bits("pos_memo", outputs_.memo.values(), expected_.memo.values()) : problem;
  }

  uint64_t checksum() const override {
    return checksum_bytes(std::as_bytes(outputs_.memo.values()),
                          checksum_bytes(std::as_bytes(outputs_.features.values())));
  }

 private:
  static constexpr auto kElementBytes = static_cast<int64_t>(sizeof(T));

  void run_serial() {
    reference::voxel_pooling_forward(sizes_, geometry_.data(), input_.data(), expected_.features.data(),
                                     expected_.memo.data());
  }

  int64_t points_in_range() const {
    const auto inside = [](int32_t coordinate, int32_t bound) { return 0 <= coordinate && coordinate < bound; };
    int64_t count = 0;
    for (int64_t i = 0; i < sizes_.geom_count(); i += 3) {
      const int32_t* point = geometry_.data() + i;
      count += inside(point[0], sizes_.num_voxel_x) && inside(point[1], sizes_.num_voxel_y) &&
               inside(point[2], sizes_.num_voxel_z);
    }
    return count;
  }

  Sizes sizes_;
  test::Descriptor points_desc_{MLUOP_DTYPE_INT32, {sizes_.batch_size, sizes_.num_points, 3}};
  test::Descriptor input_desc_{test::kDtype<T>, {sizes_.batch_size, sizes_.num_points, sizes_.num_channels}};
  test::Descriptor output_desc_{test::kDtype<T>,
                                {sizes_.batch_size, sizes_.num_voxel_y, sizes_.num_voxel_x, sizes_.num_channels}};
  Buffer<int32_t> geometry_{sizes_.geom_count()};
  Buffer<T> input_{sizes_.input_count()};
  Outputs<T> outputs_{sizes_}, expected_{sizes_};
};

std::vector<int32_t> camera(int depths) { return test::camera_geometry(test::kBevDepthSizes.batch_size, depths); }
std::vector<int32_t> uniform(int depths) { return test::uniform_geometry(sizes_of(depths), kSeed); }

// One batch, so that the points of one cell can be all points.
Sizes one_batch(int depths) {
  Sizes sizes = sizes_of(depths);
  sizes.num_points *= sizes.batch_size;
  sizes.batch_size = 1;
  return sizes;
}

// Every point is in range: anywhere, or in the cell x, y = 1, 1.
std::vector<int32_t> in_range(const Sizes& sizes, bool one_cell) {
  std::mt19937 random(kSeed);
  const auto below = [&](int32_t bound) {
    return one_cell ? 1 : std::uniform_int_distribution<int32_t>(0, bound - 1)(random);
  };
  std::vector<int32_t> geometry;
  for (int64_t point = 0; point < sizes.points(); ++point) {
    geometry.push_back(below(sizes.num_voxel_x));
    geometry.push_back(below(sizes.num_voxel_y));
    geometry.push_back(0);
  }
  return geometry;
}

template <class T>
void append_cases(std::vector<CaseSpec>& specs, mluOpOmpAlgorithm_t algorithm, const char* algorithm_name) {
  constexpr struct {
    const char* name;
    std::vector<int32_t> (*geometry)(int depths);
  } kCases[] = {{"camera", camera}, {"uniform", uniform}};
  for (const auto& [name, geometry] : kCases) {
    specs.push_back({"voxel_pooling_forward", name, sizeof(T) == 2 ? "half" : "float", algorithm_name,
                     [algorithm, geometry = geometry](double size) {
                       const int depths = depth_bins(size);
                       return std::make_unique<VoxelPoolingForward<T>>(sizes_of(depths), algorithm,
                                                                       geometry(depths));
                     }});
  }
}

}  // namespace

std::vector<CaseSpec> voxel_pooling_forward_cliffs() {
  std::vector<CaseSpec> specs;
  for (const auto& [algorithm, algorithm_name] : kAlgorithms) {
    for (const bool one_cell : {false, true}) {
      specs.push_back({kCliffs, one_cell ? "voxel_pooling one_cell" : "voxel_pooling uniform", "float",
                       algorithm_name, [=, algorithm = algorithm](double size) {
                         const Sizes sizes = one_batch(depth_bins(size));
                         return std::make_unique<VoxelPoolingForward<float>>(sizes, algorithm,
                                                                             in_range(sizes, one_cell));
                       }});
    }
  }
  return specs;
}

std::vector<CaseSpec> voxel_pooling_forward_cases() {
  std::vector<CaseSpec> specs;
  for (const auto& [algorithm, algorithm_name] : kAlgorithms) {
    append_cases<float>(specs, algorithm, algorithm_name);
    append_cases<test::Half>(specs, algorithm, algorithm_name);
  }
  return specs;
}

}  // namespace mluop::perf
