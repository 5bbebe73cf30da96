// mluOpIndiceConvolutionBackwardData on the index pairs of CenterPoint's backbone, against sums in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "ops/indice_convolution_backward_data/call.h"
#include "support/center_point.h"
#include "support/compare.h"
#include "support/environment.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

// The limits of the acceptance standard.
constexpr double kFloatTolerance = 1e-5;
constexpr double kHalfTolerance = 3e-3;

// The sums in double, computed on all processors: each adds the gradients of some of the offsets.
std::vector<float> sums_of(const IndiceConvolutionBackwardDataInputs<float>& inputs) {
  const IndiceConvolutionSizes& s = inputs.sizes;
  const int64_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::vector<double>> sums(static_cast<size_t>(threads));
  std::vector<std::jthread> team;
  for (int64_t id = 0; id < threads; ++id) {
    team.emplace_back([&, id] {
      auto& own = sums[static_cast<size_t>(id)];
      own.resize(static_cast<size_t>(s.features_count()));
      std::vector<double> of_offset(own.size());
      for (int64_t k = id; k < s.K(); k += threads) {
        reference::indice_convolution_backward_data(
            {s.num_act_in, s.num_act_out, s.Ci, s.Co, 1, 1, 1}, inputs.output_grad.data(),
            inputs.filters.data() + k * s.Ci * s.Co, inputs.indice_pairs.data() + k * 2 * s.num_act_in,
            inputs.indice_num.data() + k, of_offset.data());
        for (size_t i = 0; i < own.size(); ++i) own[i] += of_offset[i];
      }
    });
  }
  team.clear();
  for (size_t id = 1; id < sums.size(); ++id) {
    for (size_t i = 0; i < sums[0].size(); ++i) sums[0][i] += sums[id][i];
  }
  return {sums[0].begin(), sums[0].end()};
}

template <class T>
void expect_close(const IndiceConvolutionBackwardDataInputs<T>& inputs, bool submanifold,
                  const std::vector<float>& sums, double tolerance) {
  std::vector<float> first;
  for (const int count : {2, 1, 16}) {
    SCOPED_TRACE(count);
    const ScopedThreads threads(count);
    const Handle handle;
    IndiceConvolutionBackwardDataCall<T> call(handle, inputs, Placement::kAgainstEnd);
    call.sub_m = submanifold ? 1 : 0;
    ASSERT_EQ(call.run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(call.intact());
    const auto [diff1, diff2] = differences(call.output(), sums);
    EXPECT_LE(diff1, tolerance);
    EXPECT_LE(diff2, tolerance);
    if (first.empty()) first = call.output();
    EXPECT_TRUE(same_bits(call.output(), first));
  }
}

// Half represents all values exactly, so one oracle serves both data types.
void expect_sums(const SparseTensor& tensor, const SparseConvolution& convolution, int64_t Ci, int64_t Co,
                 std::mt19937& random) {
  SCOPED_TRACE(std::to_string(Ci) + " to " + std::to_string(Co) + (convolution.submanifold ? " submanifold" : ""));
  const IndicePairs pairs = indice_pairs(tensor.sites, tensor.grid, convolution);
  const auto& [depth, height, width] = convolution.kernel;
  const IndiceConvolutionSizes sizes{static_cast<int64_t>(tensor.sites.size()),
                                     static_cast<int64_t>(pairs.outputs.size()),
                                     Ci,
                                     Co,
                                     depth,
                                     height,
                                     width};
  IndiceConvolutionBackwardDataInputs<Half> halves{sizes, kFilterFormats[0], {}, {}, pairs.pairs, pairs.num};
  halves.output_grad.resize(static_cast<size_t>(sizes.features_out_count()));
  halves.filters.resize(static_cast<size_t>(sizes.filters_count()));
  make_fractional(halves, random);
  IndiceConvolutionBackwardDataInputs<float> floats{sizes, kFilterFormats[0], {}, {}, pairs.pairs, pairs.num};
  for (const Half value : halves.output_grad) floats.output_grad.push_back(to_f32(value));
  for (const Half value : halves.filters) floats.filters.push_back(to_f32(value));
  const auto sums = sums_of(floats);
  expect_close(floats, convolution.submanifold, sums, kFloatTolerance);
  expect_close(halves, convolution.submanifold, sums, kHalfTolerance);
}

TEST(OpsIndiceConvolutionBackwardData, CenterPoint) {
  auto random = seeded_random();
  const SparseTensor tensor = center_point_tensor({3, 6000});
  expect_sums(tensor, kCenterPointSteps[3], 128, 128, random);
  expect_sums(tensor, submanifold({3, 3, 3}), 16, 16, random);
}

TEST(BigIndiceConvolutionBackwardData, CenterPoint) {
  auto random = seeded_random();
  for (const CenterPointInput& input : kCenterPointInputs) {
    const SparseTensor tensor = center_point_tensor(input);
    const int64_t channels = int64_t{16} << input.level;
    expect_sums(tensor, kCenterPointSteps[input.level], channels, std::min<int64_t>(channels * 2, 128), random);
    expect_sums(tensor, submanifold({3, 3, 3}), channels, channels, random);
  }
}

}  // namespace
}  // namespace mluop::test
