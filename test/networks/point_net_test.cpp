// A feature propagation level of PointNet++, forward and backward.
#include "case/networks/point_net.h"

#include <gtest/gtest.h>

#include "networks/expectations.h"
#include "support/environment.h"
#include "support/labels.h"

namespace mluop::test::point_net {
namespace {

using namespace networks::point_net;

// One size has several batches and no features of the unknown points.
TEST(NetworksPointNet, FeaturePropagation) {
  auto random = seeded_random();
  for (const Sizes& sizes : {Sizes{1, 256, 64, 64, 19}, Sizes{3, 100, 40, 16, 0}}) {
    SCOPED_TRACE(sizes.batches);
    expect_results_of_oracles(random_level(sizes, random));
  }
}

TEST(NetworksPointNet, GradientsAreThoseOfFiniteDifferences) {
  MLUOP_LABELS(kSlow);
  auto random = seeded_random();
  Level level = random_level({2, 256, 64, 64, 19}, random);
  expect_finite_differences(level, {&level.known_features, &level.unknown_features}, level.grad_features);
}

}  // namespace
}  // namespace mluop::test::point_net
