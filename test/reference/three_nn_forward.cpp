#include "reference/three_nn_forward.h"

#include <bit>
#include <cmath>
#include <limits>

namespace mluop::reference {
namespace {

using Sizes = ThreeNNForwardSizes;

// The value rounded to half, ties to even. As test::to_f16(), and fast enough for millions of points.
double half_rounded(double value) {
  const double magnitude = std::abs(value);
  if (!(magnitude < 65520)) return std::isnan(value) ? value : std::copysign(HUGE_VAL, value);
  double units;
  if (magnitude < 0x1p-14) {
    // Adding 2^28, whose last place is 2^-24, rounds.
    units = (magnitude + 0x1p28) - 0x1p28;
  } else {
    // Rounds the lower 42 of 52 bits away.
    const auto bits = std::bit_cast<uint64_t>(magnitude);
    const uint64_t odd = bits >> 42 & 1;
    units = std::bit_cast<double>((bits + (uint64_t{1} << 41) - 1 + odd) >> 42 << 42);
  }
  return std::copysign(units, value);
}

float distance(const float* u, const float* k) {
  const float x = u[0] - k[0], y = u[1] - k[1], z = u[2] - k[2];
  return (x * x + y * y) + z * z;
}

double distance(const test::Half* u, const test::Half* k) {
  const auto square = [&](int dim) {
    const double difference = half_rounded(double{test::to_f32(u[dim])} - double{test::to_f32(k[dim])});
    return half_rounded(difference * difference);
  };
  return half_rounded(half_rounded(square(0) + square(1)) + square(2));
}

void put(float value, float* to) { *to = value; }
void put(double value, test::Half* to) { *to = test::to_f16(value); }

template <class T>
void find(const Sizes& sizes, const T* unknown, const T* known, T* dist2, int32_t* idx) {
  using Distance = decltype(distance(unknown, known));
  for (int64_t query = 0; query < sizes.B * sizes.N; ++query) {
    const T* candidates = known + query / sizes.N * sizes.M * 3;
    Distance best[3];
    int32_t best_m[3] = {0, 0, 0};
    for (Distance& each : best) each = std::numeric_limits<Distance>::infinity();
    for (int64_t m = 0; m < sizes.M; ++m) {
      const Distance d = distance(unknown + query * 3, candidates + m * 3);
      int place = 3;
      while (place > 0 && d < best[place - 1]) --place;
      if (place == 3) continue;
      for (int k = 2; k > place; --k) {
        best[k] = best[k - 1];
        best_m[k] = best_m[k - 1];
      }
      best[place] = d;
      best_m[place] = static_cast<int32_t>(m);
    }
    for (int k = 0; k < 3; ++k) {
      put(best[k], dist2 + query * 3 + k);
      idx[query * 3 + k] = best_m[k];
    }
  }
}

}  // namespace

void three_nn_forward(const Sizes& sizes, const float* unknown, const float* known, float* dist2, int32_t* idx) {
  find(sizes, unknown, known, dist2, idx);
}

void three_nn_forward(const Sizes& sizes, const test::Half* unknown, const test::Half* known, test::Half* dist2,
                      int32_t* idx) {
  find(sizes, unknown, known, dist2, idx);
}

}  // namespace mluop::reference
