// Voxelization of LiDAR scans in the grids of SECOND and PointPillars on KITTI (one turn of 64 beams) and of
// CenterPoint on nuScenes (ten turns of 32 beams), and at the size of the design document.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "perf/ops/catalogue.h"
#include "perf/support/buffer.h"
#include "perf/support/npy_folder.h"
#include "perf/support/verify.h"
#include "reference/voxelization.h"
#include "support/api.h"
#include "support/lidar_scan.h"

namespace mluop::perf {
namespace {

using Problem = reference::VoxelizationProblem;

constexpr test::Lidar kKitti = {64, 1900, -24.9, 2.0, 1.73}, kNuScenes = {32, 1085, -30.67, 10.67, 1.84};
constexpr double kTravelOfTurn = 0.5;  // m

struct Size {
  const char* name;
  test::Lidar lidar;
  Problem problem;
};

constexpr Size kCases[] = {{"second_kitti 121600x4_5x20000",
                            kKitti,
                            {121600, 4, 5, 20000, {0.05F, 0.05F, 0.1F}, {0, -40, -3, 70.4F, 40, 1}}},
                           {"pointpillars_kitti 121600x4_32x16000",
                            kKitti,
                            {121600, 4, 32, 16000, {0.16F, 0.16F, 4}, {0, -39.68F, -3, 69.12F, 39.68F, 1}}},
                           {"centerpoint_nuscenes 347200x5_10x120000",
                            kNuScenes,
                            {347200, 5, 10, 120000, {0.075F, 0.075F, 0.2F}, {-54, -54, -5, 54, 54, 3}}},
                           {"document 253999x5_20x30000",
                            kNuScenes,
                            {253999, 5, 20, 30000, {0.25F, 0.25F, 8}, {-50, -50, -5, 50, 50, 3}}}};

enum class Points { kScan, kUniform, kOneCell, kOutOfRange };

class Voxelization : public Case {
 public:
  Voxelization(const Size& size, double scale, Points points)
      : Case(MLUOP_OMP_ALGORITHM_NATIVE), problem_(scaled_problem(size.problem, scale)) {
    fill_points(size.lidar, points);
    std::copy_n(problem_.voxel_size, 3, voxel_size_.data());
    std::copy_n(problem_.coors_range, 6, coors_range_.data());
    size_t bytes = 0;
    test::require(mluOpGetVoxelizationWorkspaceSize(
        handle(), points_desc_, voxel_size_desc_, coors_range_desc_, static_cast<int32_t>(problem_.max_points),
        static_cast<int32_t>(problem_.max_voxels), 3, true, voxels_desc_, coors_desc_, num_points_desc_,
        voxel_num_desc_, &bytes));
    workspace_.emplace(static_cast<int64_t>(bytes));
  }

  // Every algorithm reads the points and writes the outputs once; three subtractions and divisions a point.
  Work work() const override {
    const int64_t element = sizeof(float);
    return {problem_.points_count() * element, (problem_.voxels_count() + 4 * problem_.max_voxels) * element,
            6 * problem_.N};
  }

  std::span<const std::byte> largest_input() const override { return std::as_bytes(points_.values()); }

  void write_inputs(const NpyFolder& folder) const override {
    folder.write("points", {problem_.N, problem_.F}, points_.values());
    folder.write("voxel_size", {3}, voxel_size_.values());
    folder.write("coors_range", {6}, coors_range_.values());
    folder.write("limits", {problem_.max_points, problem_.max_voxels});
  }

  void run() override {
    test::require(mluOpVoxelization(
        handle(), points_desc_, points_.data(), voxel_size_desc_, voxel_size_.data(), coors_range_desc_,
        coors_range_.data(), static_cast<int32_t>(problem_.max_points), static_cast<int32_t>(problem_.max_voxels),
        3, true, workspace_->data(), workspace_->values().size(), voxels_desc_, outputs_.voxels.data(),
        coors_desc_, outputs_.coors.data(), num_points_desc_, outputs_.num_points.data(), voxel_num_desc_,
        outputs_.voxel_num.data()));
  }

  std::vector<Baseline> baselines() override {
    return {{"serial", [this] { run_serial(); }}};
  }

  std::optional<Footprint> footprint() const override {
    const Work bytes = work();
    return Footprint{bytes.read_bytes + bytes.write_bytes, static_cast<int64_t>(workspace_->values().size())};
  }

  std::string verify() override {
    outputs_.voxels.set_bytes(0xFF);
    outputs_.coors.set_bytes(0xFF);
    outputs_.num_points.set_bytes(0xFF);
    run();
    run_serial();
    std::string text = differing_bits("voxels", outputs_.voxels.values(), expected_.voxels.values());
    if (text.empty()) text = differing_bits("coors", outputs_.coors.values(), expected_.coors.values());
    if (text.empty()) {
      text = differing_bits("num_points_per_voxel", outputs_.num_points.values(), expected_.num_points.values());
    }
    return text.empty() ? differing_bits("voxel_num", outputs_.voxel_num.values(), expected_.voxel_num.values())
                        : text;
  }

  uint64_t checksum() const override {
    return checksum_bytes(std::as_bytes(outputs_.coors.values()),
                          checksum_bytes(std::as_bytes(outputs_.voxels.values())));
  }

 private:
  struct Outputs {
    explicit Outputs(const Problem& problem)
        : voxels(problem.voxels_count()),
          coors(problem.max_voxels * 3),
          num_points(problem.max_voxels),
          voxel_num(1) {}
    Buffer<float> voxels;
    Buffer<int32_t> coors, num_points, voxel_num;
  };

  static Problem scaled_problem(Problem problem, double scale) {
    problem.N = scaled(problem.N, scale);
    problem.max_voxels = scaled(problem.max_voxels, scale);
    return problem;
  }

  // Turns of the sensor until there are enough points; uniform points in the range; or one of them.
  void fill_points(const test::Lidar& lidar, Points points) {
    fill_uniform(points_, 1);
    const Problem& p = problem_;
    for (int64_t i = 0; points != Points::kScan && i < p.N; ++i) {
      float* point = points_.data() + i * p.F;
      for (int axis = 0; axis < 3; ++axis) {
        const float low = p.coors_range[axis], high = p.coors_range[axis + 3];
        if (points == Points::kUniform) point[axis] = low + (point[axis] + 1) / 2 * (high - low);
        if (points == Points::kOneCell) point[axis] = low;
        if (points == Points::kOutOfRange) point[axis] = high;
      }
    }
    for (int64_t i = 0, turn = 0; points == Points::kScan && i < p.N; ++turn) {
      for (const test::Position& position :
           test::lidar_turn(lidar, 0, static_cast<double>(turn) * kTravelOfTurn)) {
        if (i == p.N) break;
        float* point = points_.data() + i * p.F;
        for (size_t axis = 0; axis < 3; ++axis) point[axis] = static_cast<float>(position[2 - axis]);
        ++i;
      }
    }
  }

  void run_serial() {
    reference::voxelization(problem_, points_.data(), expected_.voxels.data(), expected_.coors.data(),
                            expected_.num_points.data(), expected_.voxel_num.data());
  }

  Problem problem_;
  test::Descriptor points_desc_{MLUOP_DTYPE_FLOAT, {problem_.N, problem_.F}};
  test::Descriptor voxel_size_desc_{MLUOP_DTYPE_FLOAT, {3}}, coors_range_desc_{MLUOP_DTYPE_FLOAT, {6}};
  test::Descriptor voxels_desc_{MLUOP_DTYPE_FLOAT, {problem_.max_voxels, problem_.max_points, problem_.F}};
  test::Descriptor coors_desc_{MLUOP_DTYPE_INT32, {problem_.max_voxels, 3}};
  test::Descriptor num_points_desc_{MLUOP_DTYPE_INT32, {problem_.max_voxels}};
  test::Descriptor voxel_num_desc_{MLUOP_DTYPE_INT32, {1}};
  Buffer<float> points_{problem_.points_count()}, voxel_size_{3}, coors_range_{6};
  Outputs outputs_{problem_}, expected_{problem_};
  std::optional<Buffer<std::byte>> workspace_;
};

}  // namespace

std::vector<CaseSpec> voxelization_cases() {
  std::vector<CaseSpec> cases;
  for (const Size& size : kCases) {
    cases.push_back({"voxelization", size.name, "float", "native", [&size](double scale) {
                       return std::make_unique<Voxelization>(size, scale, Points::kScan);
                     }});
  }
  return cases;
}

std::vector<CaseSpec> voxelization_cliffs() {
  static constexpr Size kSize = {
      "", kNuScenes, {253999, 5, 20, 30000, {0.5F, 0.5F, 8}, {-50, -50, -5, 50, 50, 3}}};
  constexpr struct {
    const char* name;
    Points points;
  } kCliffCases[] = {{"voxelization uniform", Points::kUniform},
                     {"voxelization scan", Points::kScan},
                     {"voxelization one cell", Points::kOneCell},
                     {"voxelization out of range", Points::kOutOfRange}};
  std::vector<CaseSpec> cases;
  for (const auto& each : kCliffCases) {
    cases.push_back({kCliffs, each.name, "float", "native", [points = each.points](double scale) {
                       return std::make_unique<Voxelization>(kSize, scale, points);
                     }});
  }
  return cases;
}

}  // namespace mluop::perf
