// Gather points forward and backward at the sizes of PointNet++, VoteNet, 3DSSD, PointRCNN and DGCNN.
#include <algorithm>
#include <random>
#include <span>
#include <string>

#include "perf/support/operator_case.h"

namespace mluop::perf::gather_points {
namespace {

// How points choose features: at random; as ball query does, which repeats the first neighbor if there are fewer
// neighbors than samples; or all the same.
enum class Neighbors { kUniform, kRepeated, kEqual };

struct Row {
  const char* name;
  int64_t B, C, N, points, samples;
  Neighbors neighbors = Neighbors::kRepeated;
};

// Chosen points, without samples, and groups.
constexpr Row kForwardCases[] = {
    {"pointnet++ gather xyz", 16, 3, 8192, 1024, 0, Neighbors::kUniform},
    {"3dssd gather xyz", 4, 3, 16384, 4096, 0, Neighbors::kUniform},
    {"3dssd gather c128", 4, 128, 4096, 512, 0, Neighbors::kUniform},
    {"pointnet++ sa1 xyz", 16, 3, 8192, 1024, 32},
    {"pointnet++ sa1 c6", 16, 6, 8192, 1024, 32},
    {"pointnet++ sa2 c64", 16, 64, 1024, 256, 32},
    {"pointnet++ sa3 c128", 16, 128, 256, 64, 32},
    {"pointnet++ sa4 c256", 16, 256, 64, 16, 32},
    {"votenet sa1 xyz", 8, 3, 40000, 2048, 64},
    {"votenet sa2 c128", 8, 128, 2048, 1024, 32},
    {"votenet sa3 c256", 8, 256, 1024, 512, 16},
    {"votenet votes c256", 8, 256, 1024, 256, 16},
    {"pointrcnn sa2 c96", 4, 96, 4096, 1024, 32},
    {"pointrcnn sa4 c512", 4, 512, 256, 64, 32},
    {"dgcnn c64", 8, 64, 4096, 4096, 20, Neighbors::kUniform},
};
// Cases of points without features have no gradient.
constexpr Row kBackwardCases[] = {
    {"3dssd gather c128", 4, 128, 4096, 512, 0, Neighbors::kUniform},
    {"pointnet++ sa2 c64", 16, 64, 1024, 256, 32},
    {"pointnet++ sa3 c128", 16, 128, 256, 64, 32},
    {"pointnet++ sa4 c256", 16, 256, 64, 16, 32},
    {"votenet sa2 c128", 8, 128, 2048, 1024, 32},
    {"votenet sa3 c256", 8, 256, 1024, 512, 16},
    {"votenet votes xyz", 8, 3, 1024, 256, 16},
    {"pointrcnn sa2 c96", 4, 96, 4096, 1024, 32},
    {"dgcnn c64", 8, 64, 4096, 4096, 20, Neighbors::kUniform},
};
constexpr Row kForwardCliffs[] = {{"gather_forward uniform", 8, 128, 2048, 1024, 32, Neighbors::kUniform},
                                  {"gather_forward equal", 8, 128, 2048, 1024, 32, Neighbors::kEqual}};
constexpr Row kBackwardCliffs[] = {{"gather_backward uniform", 8, 128, 2048, 1024, 32, Neighbors::kUniform},
                                   {"gather_backward equal", 8, 128, 2048, 1024, 32, Neighbors::kEqual}};

// Groups of `samples` indices.
void fill_indices(std::span<int32_t> indices, const Row& row) {
  std::mt19937 random(2);
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); };
  const int64_t group = std::max<int64_t>(row.samples, 1);
  for (size_t first = 0; first < indices.size(); first += static_cast<size_t>(group)) {
    const std::span<int32_t> samples = indices.subspan(first, static_cast<size_t>(group));
    for (int32_t& index : samples) index = static_cast<int32_t>(below(row.N));
    const int64_t found = row.neighbors == Neighbors::kRepeated ? 1 + below(group) : group;
    std::fill(samples.begin() + found, samples.end(), samples.front());
  }
  if (row.neighbors == Neighbors::kEqual) std::ranges::fill(indices, static_cast<int32_t>(row.N / 2));
}

template <bool kForward>
std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  const int64_t B = scaled(row.B, size);
  cases::Dims indices = {B, row.points};
  if (row.samples > 0) indices.push_back(row.samples);
  cases::Dims points = indices;
  points.insert(points.begin() + 1, row.C);
  const cases::Dims features = {B, row.C, row.N};
  const char* input = kForward ? "features" : "grad_output";
  auto made = make_case(kForward ? "gather_points_forward" : "gather_points_backward", variant, {},
                        {{input, variant.dtype, kForward ? features : points},
                         {"indices", MLUOP_DTYPE_INT32, indices},
                         {kForward ? "output" : "grad_features", variant.dtype, kForward ? points : features}});
  made->fill_uniform(input, 1);
  made->options.largest_input = made->bytes(input);
  fill_indices(made->values<int32_t>("indices"), row);
  if (!kForward) made->dump("N", {row.N});
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "gather_points_forward", kNative, kForwardCases, make<true>);
  append_cases(specs, "gather_points_backward", kNative, kBackwardCases, make<false>);
  append_cases(specs, kCliffs, kNative, kForwardCliffs, make<true>);
  append_cases(specs, kCliffs, kNative, kBackwardCliffs, make<false>);
  return specs;
}

}  // namespace mluop::perf::gather_points
