// Ball query at the sizes of the set abstraction levels of PointNet++, VoteNet and PointRCNN. Points are uniform
// in a cube; the centers are some of them. Scenes of VoteNet and PointRCNN are scaled so that the balls hold about
// as many points as in their data.
#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "perf/ops/catalogue.h"
#include "perf/support/buffer.h"
#include "perf/support/npy_folder.h"
#include "perf/support/verify.h"
#include "reference/ball_query.h"
#include "support/api.h"
#include "support/element.h"

namespace mluop::perf {
namespace {

using Problem = reference::BallQueryProblem;

constexpr uint64_t kSeed = 1;
constexpr int32_t kNoMember = -1;

constexpr struct {
  const char* name;
  Problem problem;
} kCases[] = {{"pointnet2_sa1 16x512_n1024", {16, 512, 1024, 32, 0, 0.2F}},
              {"pointnet2_sa2 16x128_n512", {16, 128, 512, 64, 0, 0.4F}},
              {"votenet_sa1 8x2048_n20000", {8, 2048, 20000, 64, 0, 0.1F}},
              {"votenet_sa2 8x1024_n2048", {8, 1024, 2048, 32, 0, 0.3F}},
              {"pointrcnn_sa1 2x4096_n16384", {2, 4096, 16384, 32, 0, 0.05F}},
              {"pointrcnn_sa2 2x1024_n4096", {2, 1024, 4096, 32, 0.1F, 0.2F}},
              {"1x4096_n16384", {1, 4096, 16384, 32, 0, 0.05F}}};

// Scales the batch if the case has more than one, else the centers.
Problem scaled(Problem problem, double size) {
  int64_t& extent = problem.B > 1 ? problem.B : problem.M;
  extent = perf::scaled(extent, size);
  return problem;
}

enum class Points { kUniform, kEqual, kCluster, kFar };

template <class T>
class BallQuery : public Case {
 public:
  explicit BallQuery(const Problem& problem, Points points = Points::kUniform)
      : Case(MLUOP_OMP_ALGORITHM_NATIVE), problem_(problem) {
    fill_uniform(xyz_, kSeed);
    for (int64_t i = 0; i < problem.points_count(); ++i) {
      T& coordinate = xyz_.data()[i];
      if (points == Points::kEqual) coordinate = xyz_.data()[0];
      // All points but the first of a batch in a corner.
      if constexpr (std::is_same_v<T, float>) {
        if (points == Points::kCluster && i / 3 % problem.N != 0) coordinate *= 0x1p-8F;
        if (points == Points::kFar) coordinate *= 100;
      }
    }
    // Every (N / M)-th point.
    for (int64_t center = 0; center < problem.B * problem.M; ++center) {
      const int64_t point = center / problem.M * problem.N + center % problem.M * problem.N / problem.M;
      std::copy_n(xyz_.data() + point * 3, 3, new_xyz_.data() + center * 3);
    }
  }

  // Every algorithm reads the points and centers, and writes the indices once; the operations are those of the
  // definition without its early end.
  Work work() const override {
    return {(problem_.centers_count() + problem_.points_count()) * static_cast<int64_t>(sizeof(T)),
            problem_.idx_count() * static_cast<int64_t>(sizeof(int32_t)),
            8 * problem_.B * problem_.M * problem_.N};
  }

  std::span<const std::byte> largest_input() const override { return std::as_bytes(xyz_.values()); }

  void write_inputs(const NpyFolder& folder) const override {
    folder.write("new_xyz", {problem_.B, problem_.M, 3}, new_xyz_.values());
    folder.write("xyz", {problem_.B, problem_.N, 3}, xyz_.values());
    const float radii[] = {problem_.min_radius, problem_.max_radius};
    folder.write("radii", {2}, std::span<const float>(radii));
    folder.write("nsample", {problem_.nsample});
  }

  void run() override {
    test::require(mluOpBallQuery(handle(), new_xyz_desc_, new_xyz_.data(), xyz_desc_, xyz_.data(),
                                 problem_.min_radius, problem_.max_radius, static_cast<int>(problem_.nsample),
                                 idx_desc_, idx_.data()));
  }

  std::vector<Baseline> baselines() override {
    return {{"serial", [this] { run_serial(); }}};
  }

  std::string verify() override {
    std::fill_n(idx_.data(), problem_.idx_count(), kNoMember);
    std::fill_n(expected_.data(), problem_.idx_count(), kNoMember);
    run();
    run_serial();
    return differing_bits("idx", idx_.values(), expected_.values());
  }

  uint64_t checksum() const override { return checksum_bytes(std::as_bytes(idx_.values())); }

 private:
  void run_serial() { reference::ball_query(problem_, new_xyz_.data(), xyz_.data(), expected_.data()); }

  Problem problem_;
  test::Descriptor new_xyz_desc_{test::kDtype<T>, {problem_.B, problem_.M, 3}};
  test::Descriptor xyz_desc_{test::kDtype<T>, {problem_.B, problem_.N, 3}};
  test::Descriptor idx_desc_{MLUOP_DTYPE_INT32, {problem_.B, problem_.M, problem_.nsample}};
  Buffer<T> new_xyz_{problem_.centers_count()}, xyz_{problem_.points_count()};
  Buffer<int32_t> idx_{problem_.idx_count()}, expected_{problem_.idx_count()};
};

template <class T>
void append_cases(std::vector<CaseSpec>& cases, const char* dtype) {
  for (const auto& each : kCases) {
    cases.push_back({"ball_query", each.name, dtype, "native", [problem = each.problem](double size) {
                       return std::make_unique<BallQuery<T>>(scaled(problem, size));
                     }});
  }
}

}  // namespace

std::vector<CaseSpec> ball_query_cases() {
  std::vector<CaseSpec> cases;
  append_cases<float>(cases, "float");
  append_cases<test::Half>(cases, "half");
  return cases;
}

std::vector<CaseSpec> ball_query_cliffs() {
  constexpr struct {
    const char* name;
    Points points;
  } kCliffCases[] = {{"ball_query uniform", Points::kUniform},
                     {"ball_query equal", Points::kEqual},
                     {"ball_query cluster", Points::kCluster},
                     {"ball_query far", Points::kFar}};
  std::vector<CaseSpec> cases;
  for (const auto& each : kCliffCases) {
    cases.push_back(
        {kCliffs, each.name, "float", "native", [points = each.points](double size) {
           return std::make_unique<BallQuery<float>>(scaled({2, 4096, 16384, 32, 0, 0.05F}, size), points);
         }});
  }
  return cases;
}

}  // namespace mluop::perf
