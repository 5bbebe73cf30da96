#include "reference/diff_iou_rotated.h"

#include <cmath>

namespace mluop::reference {
namespace {

constexpr double kEpsilon = 1e-8;

float key(const float* v) {
  const float square = v[0] * v[0] + v[1] * v[1];
  const auto norm = static_cast<float>(static_cast<double>(square) + kEpsilon);
  return std::fabs(v[0]) * v[0] / norm;
}

bool is_before(const float* p, const float* q) {
  const float x = std::fabs(p[0] - q[0]), y = std::fabs(q[1] - p[1]);
  if (static_cast<double>(x) < kEpsilon && static_cast<double>(y) < kEpsilon) return false;
  if (p[1] > 0 && q[1] < 0) return true;
  if (p[1] < 0 && q[1] > 0) return false;
  const float difference = key(p) - key(q);
  if (p[1] > 0 && q[1] > 0) return static_cast<double>(difference) > kEpsilon;
  return p[1] < 0 && q[1] < 0 && static_cast<double>(difference) < kEpsilon;
}

// The candidate that follows the candidate `previous`; null: the first.
int32_t next(const float* vertices, const uint8_t* mask, const float* previous) {
  const float start[] = {1, static_cast<float>(-kEpsilon)};
  const float* least = start;
  int32_t found = 0;
  for (int32_t k = 0; k < 24; ++k) {
    const float* const vertex = vertices + static_cast<int64_t>(k) * 2;
    if (mask[k] == 0 || !is_before(vertex, least)) continue;
    if (previous != nullptr && !is_before(previous, vertex)) continue;
    least = vertex;
    found = k;
  }
  return found;
}

}  // namespace

void sort_vertices(int64_t pairs, const float* vertices, const uint8_t* mask, const int32_t* num_valid,
                   int32_t* idx) {
  for (int64_t pair = 0; pair < pairs; ++pair, vertices += 48, mask += 24, idx += 9) {
    int32_t pad = 0;
    for (int32_t k = 23; k >= 8; --k) pad = mask[k] == 0 ? k : pad;
    for (int j = 0; j < 9; ++j) idx[j] = pad;
    const int32_t count = num_valid[pair] > 8 ? 8 : num_valid[pair];
    if (count < 3) continue;
    for (int j = 0; j < count; ++j) {
      idx[j] = next(vertices, mask, j == 0 ? nullptr : vertices + static_cast<int64_t>(idx[j - 1]) * 2);
    }
    idx[count] = idx[0];
    int equal = 0;
    for (int j = 0; j < 16; ++j) equal += idx[j / 4] == idx[4 + j % 4] ? 1 : 0;
    if (count < 8 || equal != 4) continue;
    idx[4] = idx[0];
    for (int j = 5; j < 9; ++j) idx[j] = pad;
  }
}

}  // namespace mluop::reference
