// The step from camera to bird's-eye view of BEVDepth, forward and backward.
#include "networks/bev_depth.h"

#include <gtest/gtest.h>

#include <cmath>

#include "networks/expectations.h"
#include "support/environment.h"

namespace mluop::test::bev_depth {
namespace {

constexpr Sizes kSizes = {2, 3, 16, 80, 27, 20, 24, 1};

// The pixels of the cameras are rays from the center of the grid; far points are outside it, or too high.
View random_view(std::mt19937& random) {
  View view{kSizes,
            random_matrix(kSizes.images() * kSizes.depths, kSizes.pixels, 2, random),
            random_matrix(kSizes.images() * kSizes.pixels, kSizes.channels, 1, random),
            {},
            random_matrix(kSizes.output_rows(), kSizes.channels, 1, random)};
  for (int64_t image = 0; image < kSizes.images(); ++image) {
    const auto angles = random_matrix(1, kSizes.pixels, 3.2F, random);
    const auto slopes = random_matrix(1, kSizes.pixels, 0.15F, random);
    for (int d = 0; d < kSizes.depths; ++d) {
      for (int64_t pixel = 0; pixel < kSizes.pixels; ++pixel) {
        const auto angle = angles[0][pixel], distance = static_cast<float>(d);
        for (const float position :
             {kSizes.cells_x / 2 + distance * std::cos(angle), kSizes.cells_y / 2 + distance * std::sin(angle),
              0.5F + distance * (slopes[0][pixel] + 0.05F)}) {
          view.cells.push_back(static_cast<int32_t>(std::floor(position)));
        }
      }
    }
  }
  return view;
}

TEST(NetworksBevDepth, CameraToBirdsEyeView) {
  auto random = seeded_random();
  expect_results_of_oracles(random_view(random));
}

TEST(NetworksBevDepth, GradientsAreThoseOfFiniteDifferences) {
  auto random = seeded_random();
  View view = random_view(random);
  expect_finite_differences(view, {&view.context, &view.depths}, view.grad_output);
}

}  // namespace
}  // namespace mluop::test::bev_depth
