// The convolutions of CenterPoint's backbone, and ones of few sites, for the cases of indice convolution, of its
// gradients and of get indice pairs.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "perf/support/case.h"
#include "support/center_point.h"

namespace mluop::perf {

struct Convolution {
  test::CenterPointInput input;
  test::SparseConvolution sparse;
  int64_t Ci, Co;
};

// Scales the number of scans, as the number of sites of a scan is limited.
inline test::CenterPointInput scaled(test::CenterPointInput input, double size) {
  input.sites = scaled(input.sites, size);
  input.scans = static_cast<int>(std::ceil(input.scans * size));
  return input;
}

// The last submanifold convolutions of deep networks: few sites and wide filters. Their names state the sites.
inline constexpr struct { int64_t sites, channels; } kFewSites[] = {{60, 512}, {292, 512}, {1000, 256}};
inline constexpr int kFewSitesLevel = 3;

inline std::string name_of(const Convolution& convolution) {
  const std::string channels = std::to_string(convolution.Ci) + 'x' + std::to_string(convolution.Co);
  if (convolution.input.scans == 1) return std::to_string(convolution.input.sites) + "_sites_" + channels;
  if (convolution.sparse.submanifold) return "subm_" + channels;
  std::string kernel = "k";
  for (const int32_t extent : convolution.sparse.kernel) kernel += std::to_string(extent);
  return kernel + '_' + channels;
}

// Strided ones, then submanifold ones on the same inputs, then those of few sites.
inline std::vector<Convolution> convolutions() {
  std::vector<Convolution> all;
  for (const auto& input : test::kCenterPointInputs) {
    const int64_t channels = int64_t{16} << input.level;
    all.push_back({input, test::kCenterPointSteps[input.level], channels, std::min<int64_t>(channels * 2, 128)});
  }
  for (const auto& input : test::kCenterPointInputs) {
    const int64_t channels = int64_t{16} << input.level;
    all.push_back({input, test::submanifold({3, 3, 3}), channels, channels});
  }
  for (const auto& [sites, channels] : kFewSites) {
    all.push_back({{kFewSitesLevel, sites, 1}, test::submanifold({3, 3, 3}), channels, channels});
  }
  return all;
}

}  // namespace mluop::perf
