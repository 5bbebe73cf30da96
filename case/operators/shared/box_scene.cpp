#include "case/operators/shared/box_scene.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

namespace mluop::cases {
namespace {

using Box = std::array<float, 7>;  // x, y, z, dx, dy, dz, yaw
using Point = std::array<float, 3>;

// The boxes of a scene, and points in them, near their faces and elsewhere.
class Scene {
 public:
  explicit Scene(const Recipe& r) : random_(r.seed), has_specials_(r["specials"] != 0) {}

  Box box() {
    // Far from the origin, the center of the height is rounded.
    constexpr float kSpots[] = {0, 0, 0, 12, 1000};
    constexpr float kYaws[] = {0, 1.57079633F, -3.14159265F, 1e4F};
    const float spot = kSpots[random_.below(std::size(kSpots))];
    const int32_t turn = random_.below(8);
    return {spot + between(-4, 4),
            spot + between(-4, 4),
            spot + dyadic(4),
            dyadic(8) + 0.125F,
            dyadic(8) + 0.125F,
            dyadic(4) + 0.125F,
            turn < 4 ? kYaws[turn] : between(-4, 4)};
  }

  // One of four points is anywhere; the coordinates of the others are on a face, about the margin of 1e-5 from it,
  // or between the faces.
  Point point_of(const Box& box) {
    constexpr float kOffsets[] = {0, 1e-7F, -1e-7F, 9e-6F, 1.1e-5F, -1.1e-5F};
    if (random_.below(4) == 0) return {between(-16, 16), between(-16, 16), between(-4, 8)};
    float local[3];
    for (size_t dim = 0; dim < 3; ++dim) {
      const bool at_face = random_.below(2) == 0;
      const float half = box[3 + dim] / 2;
      local[dim] = at_face ? half + kOffsets[random_.below(std::size(kOffsets))] : between(-half, half);
      if (random_.below(2) == 0) local[dim] = -local[dim];
    }
    // z is the center for one rule, the bottom for the other.
    const float c = std::cos(box[6]), s = std::sin(box[6]), base = random_.below(2) == 0 ? 0 : box[5] / 2;
    return {box[0] + local[0] * c - local[1] * s, box[1] + local[0] * s + local[1] * c, box[2] + base + local[2]};
  }

  template <size_t kCount>
  void append(std::array<float, kCount> numbers, std::vector<float>& to) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kValues[] = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, 0, -1};
    if (has_specials_ && random_.below(8) == 0) {
      numbers[static_cast<size_t>(random_.below(kCount))] = kValues[random_.below(std::size(kValues))];
    }
    to.insert(to.end(), numbers.begin(), numbers.end());
  }

  int32_t below(int64_t count) { return random_.below(count); }

 private:
  // A multiple of 1/8 below `limit`.
  float dyadic(int64_t limit) { return static_cast<float>(random_.below(limit * 8)) / 8; }
  float between(float low, float high) {
    return low + (high - low) * static_cast<float>(random_.below(1 << 20)) * 0x1p-20F;
  }

  Integers random_;
  bool has_specials_;
};

}  // namespace

BoxScene make_box_scene(const Recipe& r, Tensor points, Tensor boxes) {
  if (r["uniform"] != 0) return {with_uniform(points, r.seed), with_uniform(boxes, r.seed + 1)};
  const bool has_batches = points.dims.size() == 3;
  const int64_t B = has_batches ? points.dims[0] : 1;
  const int64_t M = points.dims[has_batches ? 1 : 0], T = boxes.dims[has_batches ? 1 : 0];
  checked_product({B, M, 3});
  checked_product({B, T, 7});
  Scene scene(r);
  std::vector<float> of_points, of_boxes;
  for (int64_t b = 0; b < B; ++b) {
    std::vector<Box> all;
    for (int64_t t = 0; t < T; ++t) scene.append(all.emplace_back(scene.box()), of_boxes);
    const Box elsewhere = scene.box();
    for (int64_t m = 0; m < M; ++m) {
      const auto t = static_cast<size_t>(scene.below(T));
      scene.append(scene.point_of(all.empty() ? elsewhere : all[t]), of_points);
    }
  }
  return {with_numbers(points, of_points), with_numbers(boxes, of_boxes)};
}

}  // namespace mluop::cases
