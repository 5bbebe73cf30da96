// Fuzzer of mluOpVoxelization and its workspace query.
#include "reference/voxelization.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "fuzz/fuzzer.h"
#include "fuzz/operator_fuzzer.h"
#include "fuzz/values.h"

namespace mluop::fuzz {
namespace {

using Problem = reference::VoxelizationProblem;

Problem decode_problem(Decoder& decoder) {
  constexpr float kSizes[] = {0.25F, 0.1F, 1, 3, 0x1p-15F, 0.7F, 1.0e-20F};
  constexpr float kLimits[] = {-1, 1, 0, 0.5F, -3, 100, -1.0e30F};
  // One call in 16 has several chunks, of 4096 points.
  const int64_t max_points = decoder.one_in(16) ? 5000 : 500;
  Problem problem{
      decoder.number(1, max_points), decoder.number(3, 10), decoder.number(0, 9), decoder.number(0, 300), {}, {}};
  // Few elements, so that an execution is fast.
  limit_product({&problem.max_voxels, &problem.max_points}, 256);
  for (float& size : problem.voxel_size) size = decoder.pick(kSizes);
  for (float& limit : problem.coors_range) limit = decoder.pick(kLimits);
  // Mostly a valid range.
  if (decoder.one_in(4)) return problem;
  std::fill_n(problem.coors_range, 3, -1.0F);
  std::fill_n(problem.coors_range + 3, 3, 1.0F);
  return problem;
}

// Whether the numbers of cells are supported.
bool is_supported(const Problem& problem) {
  double cells = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const float of_axis = (problem.coors_range[axis + 3] - problem.coors_range[axis]) / problem.voxel_size[axis];
    if (std::round(of_axis) > 0x1p31F) return false;
    cells *= std::max(std::round(of_axis), 0.0F);
  }
  return cells <= 0x1p62;
}

class Fuzzer : public OperatorFuzzer {
 public:
  explicit Fuzzer(Decoder& bytes)
      : OperatorFuzzer(bytes, "mluOpVoxelization", {MLUOP_STATUS_ARCH_MISMATCH}),
        problem_(decode_problem(bytes)),
        points_(input(
            {.dtype = MLUOP_DTYPE_FLOAT, .dims = {problem_.N, problem_.F}, .any_layout = true, .free_dims = 1})),
        voxel_size_(input({.dtype = MLUOP_DTYPE_FLOAT, .dims = {3}, .any_layout = true})),
        coors_range_(input({.dtype = MLUOP_DTYPE_FLOAT, .dims = {6}, .any_layout = true})),
        voxels_(output({.dtype = MLUOP_DTYPE_FLOAT,
                        .dims = {problem_.max_voxels, problem_.max_points, problem_.F},
                        .any_layout = true})),
        coors_(output({.dtype = MLUOP_DTYPE_INT32, .dims = {problem_.max_voxels, 3}, .any_layout = true})),
        num_points_(output({.dtype = MLUOP_DTYPE_INT32, .dims = {problem_.max_voxels}, .any_layout = true})),
        voxel_num_(output({.dtype = MLUOP_DTYPE_INT32, .dims = {1}, .any_layout = true})) {
    Values values(decoder(), true);
    values.fill(points_.data<float>(), points_.count());
    // Points that repeat.
    const size_t distinct = decoder().flag() ? points_.count() : decoder().index(points_.count()) + 1;
    for (size_t i = distinct; i < points_.count(); ++i) {
      points_.data<float>()[i] = points_.data<float>()[i - distinct];
    }
    std::copy_n(problem_.voxel_size, 3, voxel_size_.data<float>());
    std::copy_n(problem_.coors_range, 6, coors_range_.data<float>());
  }

 private:
  mluOpStatus_t execute(mluOpHandle_t handle) override {
    return mluOpVoxelization(handle, points_.desc(), points_.pointer(), voxel_size_.desc(), voxel_size_.pointer(),
                             coors_range_.desc(), coors_range_.pointer(), max_points_, max_voxels_, NDim_,
                             deterministic_, workspace(), workspace_size(), voxels_.desc(), voxels_.pointer(),
                             coors_.desc(), coors_.pointer(), num_points_.desc(), num_points_.pointer(),
                             voxel_num_.desc(), voxel_num_.pointer());
  }
  std::optional<mluOpStatus_t> query(mluOpHandle_t handle, size_t* bytes) override {
    return mluOpGetVoxelizationWorkspaceSize(handle, points_.desc(), voxel_size_.desc(), coors_range_.desc(),
                                             max_points_, max_voxels_, NDim_, deterministic_, voxels_.desc(),
                                             coors_.desc(), num_points_.desc(), voxel_num_.desc(), bytes);
  }
  bool reads_nothing() const override { return problem_.max_voxels == 0; }
  mluOpStatus_t status_of_valid_call() const override {
    if (settings().is_200_series()) return MLUOP_STATUS_ARCH_MISMATCH;
    return reads_nothing() || is_supported(problem_) ? MLUOP_STATUS_SUCCESS : MLUOP_STATUS_NOT_SUPPORTED;
  }

  Fault apply_own_fault() override {
    constexpr float kBad[] = {0, -1, std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::infinity()};
    switch (decoder().number(0, 4)) {
      case 0: NDim_ = decoder().flag() ? 2 : 4; return Fault::kHarmful;
      case 1: deterministic_ = false; return Fault::kHarmful;
      case 2:
        max_points_ = static_cast<int32_t>(decoder().any_number());
        return changed(max_points_, problem_.max_points);
      case 3:
        max_voxels_ = static_cast<int32_t>(decoder().any_number());
        return changed(max_voxels_, problem_.max_voxels);
      default: {
        const size_t at = decoder().index(9);
        float* elements = at < 3 ? voxel_size_.data<float>() + at : coors_range_.data<float>() + at - 3;
        *elements = at < 3 ? decoder().pick(kBad) : kBad[decoder().number(2, 3)];
        return reads_nothing() ? Fault::kHarmless : Fault::kHarmful;
      }
    }
  }
  static Fault changed(int32_t value, int64_t valid) { return value == valid ? Fault::kNone : Fault::kHarmful; }
  void undo_own_fault() override {
    NDim_ = 3;
    deterministic_ = true;
    max_points_ = static_cast<int32_t>(problem_.max_points);
    max_voxels_ = static_cast<int32_t>(problem_.max_voxels);
    std::copy_n(problem_.voxel_size, 3, voxel_size_.data<float>());
    std::copy_n(problem_.coors_range, 6, coors_range_.data<float>());
  }

  void check_result() override {
    std::vector<float> voxels(voxels_.count());
    std::vector<int32_t> coors(coors_.count()), num_points(num_points_.count());
    int32_t voxel_num = 0;
    reference::voxelization(problem_, points_.data<float>(), voxels.data(), coors.data(), num_points.data(),
                            &voxel_num);
    check(voxel_num == *voxel_num_.data<int32_t>(), "voxel_num is not that of the serial loop");
    check(std::equal(coors.begin(), coors.end(), coors_.data<int32_t>()), "coors is not that of the serial loop");
    check(std::equal(num_points.begin(), num_points.end(), num_points_.data<int32_t>()),
          "num_points_per_voxel is not that of the serial loop");
    const auto same_bits = [](float a, float b) { return std::memcmp(&a, &b, sizeof(float)) == 0; };
    check(std::equal(voxels.begin(), voxels.end(), voxels_.data<float>(), same_bits),
          "voxels is not that of the serial loop");
  }

  Problem problem_;
  Tensor &points_, &voxel_size_, &coors_range_, &voxels_, &coors_, &num_points_, &voxel_num_;
  int32_t max_points_ = static_cast<int32_t>(problem_.max_points);
  int32_t max_voxels_ = static_cast<int32_t>(problem_.max_voxels);
  int32_t NDim_ = 3;
  bool deterministic_ = true;
};

}  // namespace

void fuzz_one(Decoder& decoder) { Fuzzer(decoder).run(); }

}  // namespace mluop::fuzz
