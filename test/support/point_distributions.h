// Points that are difficult for searches: ties, distances at the limits of the data type, and coordinates that are
// not finite.
#pragma once

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "support/operator_call.h"
#include "support/special_values.h"

namespace mluop::test {

struct PointDistribution {
  const char* name;
  // Changes the coordinates of point i of `count`, which are uniform in [-1, 1).
  void (*place)(float* point, int64_t i, int64_t count, std::mt19937& random);
};

inline constexpr PointDistribution kPointDistributions[] = {
    {"all equal", [](float* p, auto, auto, auto&) { p[0] = p[1] = p[2] = 0.5F; }},
    {"two places", [](float* p, auto i, auto, auto&) { p[0] = p[1] = p[2] = i % 2 == 0 ? 0.25F : -0.5F; }},
    {"all but the last far away",
     [](float* p, auto i, auto count, auto&) { p[0] = p[1] = p[2] = i == count - 1 ? 0.5F : 100; }},
    {"one of 16 nearby", [](float* p, auto i, auto, auto&) { p[0] += i % 16 == 15 ? 0.0F : 50.0F; }},
    {"the first and the last nearby",
     [](float* p, auto i, auto count, auto&) { p[0] += i < 5 || i > count - 10 ? 0.0F : 50.0F; }},
    {"a small grid, with ties",
     [](float* p, auto, auto, auto& random) {
       for (int dim = 0; dim < 3; ++dim) p[dim] = static_cast<float>(random() % 9) * 0.25F - 1;
     }},
    {"a plane", [](float* p, auto, auto, auto&) { p[2] = 0; }},
    {"a line", [](float* p, auto, auto, auto&) { p[0] = p[1] = 0.125F; }},
    {"a cluster and an outlier",
     [](float* p, auto i, auto, auto&) {
       for (int dim = 0; dim < 3; ++dim) p[dim] = i == 77 ? 30000.0F : p[dim] * 0x1p-6F;
     }},
    {"sorted", [](float* p, auto i, auto, auto&) { p[0] = static_cast<float>(i) * 0x1p-11F; }},
    {"far away, where distances tie", [](float* p, auto, auto, auto&) { p[0] = 250 + p[0]; }},
    {"squares are subnormal in half",
     [](float* p, auto, auto, auto&) {
       for (int dim = 0; dim < 3; ++dim) p[dim] *= 0x1p-9F;
     }},
    {"distances overflow",
     [](float* p, auto i, auto, auto&) {
       if (i % 3 != 0) p[1] = i % 3 == 1 ? 60000.0F : -60000.0F;
     }},
    {"most are not finite",
     [](float* p, auto i, auto, auto& random) {
       const float specials[] = {kNan, kInfinity, -kInfinity};
       if (i % 50 != 0) p[random() % 3] = specials[random() % 3];
     }},
    {"two are finite",
     [](float* p, auto i, auto, auto&) {
       if (i != 9 && i != 700) p[i % 3] = i % 2 == 0 ? kNan : kInfinity;
     }},
    {"none is finite", [](float* p, auto i, auto, auto&) { p[i % 3] = i % 2 == 0 ? kNan : -kInfinity; }},
};

// Distributes the points of a case, its second tensor. Some queries, its first tensor, become equal to points,
// others not finite.
inline void distribute(cases::Case& made, const PointDistribution& distribution, std::mt19937& random) {
  std::vector<float> queries = floats_of(made, made.inputs[0].id), points = floats_of(made, made.inputs[1].id);
  const int64_t count = made.inputs[1].dims[1];
  for (size_t i = 0; i < points.size() / 3; ++i) {
    distribution.place(&points[3 * i], static_cast<int64_t>(i) % count, count, random);
  }
  std::copy_n(points.begin(), 60, queries.begin());
  for (const auto& [i, value] : {std::pair{70, kNan}, {81, kInfinity}, {95, -kInfinity}, {101, 3.0e38F}}) {
    queries[static_cast<size_t>(i)] = value;
  }
  set_values(made, made.inputs[0].id, queries);
  set_values(made, made.inputs[1].id, points);
}

}  // namespace mluop::test
