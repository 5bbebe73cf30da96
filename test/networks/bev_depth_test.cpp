// The step from camera to bird's-eye view of BEVDepth, forward and backward.
#include "case/networks/bev_depth.h"

#include <gtest/gtest.h>

#include "networks/expectations.h"
#include "support/environment.h"
#include "support/labels.h"

namespace mluop::test::bev_depth {
namespace {

using namespace networks::bev_depth;

constexpr Sizes kSizes = {2, 3, 16, 80, 24, 20, 24, 1};

// Some cells are outside the grid.
View random_view(std::mt19937& random) {
  View view{kSizes,
            random_matrix(kSizes.images() * kSizes.depths, kSizes.pixels, 2, random),
            random_matrix(kSizes.images() * kSizes.pixels, kSizes.channels, 1, random),
            {},
            random_matrix(kSizes.output_rows(), kSizes.channels, 1, random)};
  for (int32_t point = 0; point < kSizes.batches * kSizes.points(); ++point) {
    for (const int32_t cells : {kSizes.cells_x, kSizes.cells_y, kSizes.cells_z}) {
      view.cells.push_back(std::uniform_int_distribution<int32_t>(-1, cells)(random));
    }
  }
  return view;
}

TEST(NetworksBevDepth, CameraToBirdsEyeView) {
  auto random = seeded_random();
  expect_results_of_oracles(random_view(random));
}

TEST(NetworksBevDepth, GradientsAreThoseOfFiniteDifferences) {
  MLUOP_LABELS(kSlow);
  auto random = seeded_random();
  View view = random_view(random);
  expect_finite_differences(view, {&view.context, &view.depths}, view.grad_output);
}

}  // namespace
}  // namespace mluop::test::bev_depth
