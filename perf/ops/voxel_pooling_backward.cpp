// Voxel pooling backward at the size of BEVDepth, with the geometry of its cameras and with uniform coordinates.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "mlu_op_omp.h"
#include "perf/ops/catalogue.h"
#include "perf/support/buffer.h"
#include "perf/support/npy_folder.h"
#include "perf/support/verify.h"
#include "reference/voxel_pooling_backward.h"
#include "support/api.h"
#include "support/camera_rig.h"

namespace mluop::perf {
namespace {

using Sizes = reference::VoxelPoolingBackwardSizes;
using ForwardSizes = reference::VoxelPoolingForwardSizes;

constexpr uint32_t kSeed = 1;

// Scales the number of depth bins over the same range.
int depth_bins(double size) { return static_cast<int>(scaled(test::kBevDepthBins, size)); }

ForwardSizes forward_sizes(int depths) {
  ForwardSizes sizes = test::kBevDepthSizes;
  sizes.num_points = sizes.num_points / test::kBevDepthBins * depths;
  return sizes;
}

// What voxel pooling forward writes for a geometry of one layer of voxels.
std::vector<int32_t> memo_of(const ForwardSizes& sizes, const std::vector<int32_t>& geometry) {
  std::vector<int32_t> memo(geometry.size(), -1);
  for (size_t i = 0; i < geometry.size(); i += 3) {
    const int32_t x = geometry[i], y = geometry[i + 1], z = geometry[i + 2];
    if (x < 0 || x >= sizes.num_voxel_x || y < 0 || y >= sizes.num_voxel_y || z < 0 || z >= sizes.num_voxel_z) {
      continue;
    }
    memo[i] = static_cast<int32_t>(i / 3 / static_cast<size_t>(sizes.num_points));
    memo[i + 1] = y;
    memo[i + 2] = x;
  }
  return memo;
}

std::vector<int32_t> camera(const ForwardSizes& sizes, int depths) {
  return memo_of(sizes, test::camera_geometry(sizes.batch_size, depths));
}
std::vector<int32_t> uniform(const ForwardSizes& sizes, int) {
  return memo_of(sizes, test::uniform_geometry(sizes, kSeed));
}

// Every point has a cell: any, or that at x, y = 1, 1.
std::vector<int32_t> any_cell(const ForwardSizes& sizes, int) {
  std::mt19937 random(kSeed);
  std::vector<int32_t> memo;
  for (int64_t point = 0; point < sizes.points(); ++point) {
    for (const int extent : {sizes.batch_size, sizes.num_voxel_y, sizes.num_voxel_x}) {
      memo.push_back(std::uniform_int_distribution<int32_t>(0, extent - 1)(random));
    }
  }
  return memo;
}
std::vector<int32_t> one_cell(const ForwardSizes& sizes, int) {
  return std::vector<int32_t>(static_cast<size_t>(sizes.geom_count()), 1);
}

// T: uint16_t for half, uint32_t for float.
template <class T>
class VoxelPoolingBackward : public Case {
 public:
  VoxelPoolingBackward(const Sizes& sizes, const std::vector<int32_t>& memo)
      : Case(MLUOP_OMP_ALGORITHM_NATIVE), sizes_(sizes) {
    std::mt19937 random(kSeed);
    std::generate_n(grad_output_.data(), sizes.output_count(), [&] { return static_cast<T>(random()); });
    std::copy(memo.begin(), memo.end(), memo_.data());
  }

  // The bytes read of grad_output are the rows of cells that have points.
  Work work() const override {
    return {cells_with_points() * sizes_.num_channels * kElementBytes + sizes_.memo_count() * int64_t{4},
            sizes_.input_count() * kElementBytes, 0};
  }

  std::span<const std::byte> largest_input() const override { return std::as_bytes(memo_.values()); }

  void write_inputs(const NpyFolder& folder) const override {
    folder.write("grad_output_features",
                 {sizes_.batch_size, sizes_.num_voxel_y, sizes_.num_voxel_x, sizes_.num_channels},
                 grad_output_.values());
    folder.write("pos_memo", {sizes_.batch_size, sizes_.num_points, 3}, memo_.values());
  }

  void run() override {
    test::require(mluOpOmpVoxelPoolingBackward(handle(), grad_output_desc_, grad_output_.data(), memo_desc_,
                                               memo_.data(), grad_input_desc_, grad_input_.data()));
  }

  std::vector<Baseline> baselines() override {
    return {{"serial", [this] { run_serial(); }}};
  }

  std::string verify() override {
    grad_input_.set_bytes(0x7F);
    run();
    run_serial();
    return differing_bits("grad_input_features", grad_input_.values(), expected_.values());
  }

  uint64_t checksum() const override { return checksum_bytes(std::as_bytes(grad_input_.values())); }

 private:
  static constexpr auto kElementBytes = static_cast<int64_t>(sizeof(T));
  static constexpr auto kDtype = sizeof(T) == 2 ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT;

  void run_serial() {
    reference::voxel_pooling_backward(sizes_, grad_output_.data(), memo_.data(), expected_.data());
  }

  int64_t cells_with_points() const {
    std::vector<bool> has_points(static_cast<size_t>(sizes_.output_count() / sizes_.num_channels));
    for (int64_t i = 0; i < sizes_.memo_count(); i += 3) {
      const int32_t* memo = memo_.data() + i;
      if (memo[0] < 0) continue;
      has_points[static_cast<size_t>((memo[0] * sizes_.num_voxel_y + memo[1]) * sizes_.num_voxel_x + memo[2])] =
          true;
    }
    return std::count(has_points.begin(), has_points.end(), true);
  }

  Sizes sizes_;
  test::Descriptor grad_output_desc_{
      kDtype, {sizes_.batch_size, sizes_.num_voxel_y, sizes_.num_voxel_x, sizes_.num_channels}};
  test::Descriptor memo_desc_{MLUOP_DTYPE_INT32, {sizes_.batch_size, sizes_.num_points, 3}};
  test::Descriptor grad_input_desc_{kDtype, {sizes_.batch_size, sizes_.num_points, sizes_.num_channels}};
  Buffer<T> grad_output_{sizes_.output_count()};
  Buffer<int32_t> memo_{sizes_.memo_count()};
  Buffer<T> grad_input_{sizes_.input_count()}, expected_{sizes_.input_count()};
};

using MakeMemo = std::vector<int32_t> (*)(const ForwardSizes& sizes, int depths);

template <class T>
CaseSpec case_of(const char* op, const char* name, MakeMemo make_memo) {
  return {op, name, sizeof(T) == 2 ? "half" : "float", "native", [make_memo](double size) {
            const int depths = depth_bins(size);
            const ForwardSizes s = forward_sizes(depths);
            return std::make_unique<VoxelPoolingBackward<T>>(
                Sizes{s.batch_size, s.num_points, s.num_channels, s.num_voxel_x, s.num_voxel_y},
                make_memo(s, depths));
          }};
}

}  // namespace

std::vector<CaseSpec> voxel_pooling_backward_cases() {
  constexpr auto kOp = "voxel_pooling_backward";
  return {case_of<uint32_t>(kOp, "camera", camera), case_of<uint32_t>(kOp, "uniform", uniform),
          case_of<uint16_t>(kOp, "camera", camera), case_of<uint16_t>(kOp, "uniform", uniform)};
}

std::vector<CaseSpec> voxel_pooling_backward_cliffs() {
  return {case_of<uint32_t>(kCliffs, "voxel_pooling_backward uniform", any_cell),
          case_of<uint32_t>(kCliffs, "voxel_pooling_backward one_cell", one_cell)};
}

}  // namespace mluop::perf
