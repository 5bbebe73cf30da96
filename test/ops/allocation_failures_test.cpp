// Operators and workspace queries whose allocations fail: each allocation of a call, one at a time, for each
// operator, element type and algorithm; on a new handle, on one whose memory has to grow, and with logs,
// statistics and traces.
#include <gtest/gtest.h>

#include <type_traits>

#include "ops/ball_query/call.h"
#include "ops/dynamic_point_to_voxel_forward/call.h"
#include "ops/dynamic_scatter_backward/call.h"
#include "ops/get_indice_pairs/call.h"
#include "ops/indice_convolution_backward_data/call.h"
#include "ops/indice_convolution_backward_filter/call.h"
#include "ops/indice_convolution_forward/call.h"
#include "ops/masked_col2im_forward/call.h"
#include "ops/masked_im2col_forward/call.h"
#include "ops/three_interpolate_backward/call.h"
#include "ops/three_interpolate_forward/call.h"
#include "ops/three_nn_forward/call.h"
#include "ops/voxel_pooling_backward/call.h"
#include "ops/voxel_pooling_forward/call.h"
#include "ops/voxelization/call.h"
#include "support/environment.h"
#include "support/fault_points.h"
#include "support/temporary_folder.h"
#include "support/trace.h"

namespace mluop::test {
namespace {

class FaultsOfOperators : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!FailingAllocation::kSupported) GTEST_SKIP() << "the sanitizer defines operator new";
  }
  void TearDown() override { Handle(); }  // restores the level of the log

  // `small` and `large`: inputs of two sizes. A handle that has run `small` has to grow for `large`.
  template <class Call>
  void expect_failures(const typename Call::Inputs& small, const typename Call::Inputs& large);

  std::mt19937 random = seeded_random();
  ScopedThreads threads{3};
  FaultPointCount fault_points;
};

// What a handle and its process record besides the outputs. Records are lost without memory; the call succeeds.
struct Recording {
  const char* name;
  bool statistics, trace, debug_log;
  bool any() const { return statistics || trace || debug_log; }
};

constexpr Recording kRecordings[] = {
    {"no records", false, false, false},
    {"statistics", true, false, false},
    {"trace and debug log", true, true, true},
};

template <class Call>
struct Attempt {
  mluOpOmpAlgorithm_t algorithm;
  ApiFunction<Call> function;
  const typename Call::Inputs* earlier;  // of a call that the handle has run; null: the handle is new
  const typename Call::Inputs& inputs;
  Recording recording;

  // Runs the function with the n-th allocation failing. Returns whether there was an n-th one.
  bool operator()(int64_t n) const {
    SCOPED_TRACE(n);
    const Handle handle(algorithm);
    require(mluOpOmpSetStatistics(handle, recording.statistics ? 1 : 0));
    if (earlier != nullptr) require(Call(handle, *earlier).run());
    const Call call(handle, inputs);
    const auto before = call.contents();
    const auto [status, triggered] = run_with_fault(n, [&] { return (call.*function.run)(); });
    EXPECT_TRUE(call.guards_intact());
    if (status == MLUOP_STATUS_SUCCESS) {
      EXPECT_TRUE(!triggered || recording.any()) << "the call succeeded without memory";
      EXPECT_TRUE(call.intact());
    } else {
      EXPECT_TRUE(triggered);
      EXPECT_EQ(status, MLUOP_STATUS_ALLOC_FAILED) << mluOpOmpGetLastError();
      EXPECT_EQ(mluOpOmpGetLastError(), std::string("[") + function.name + "] out of memory");
      EXPECT_TRUE(call.contents() == before) << "the failing call changed inputs or outputs";
    }
    if (triggered) expect_usable(call);
    return triggered;
  }

  // The handle works after the failure, with earlier and with new sizes.
  void expect_usable(const Call& call) const {
    EXPECT_EQ((call.*function.run)(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
    EXPECT_TRUE(call.intact());
    if (earlier == nullptr) return;
    EXPECT_EQ(Call(call.handle, *earlier).run(), MLUOP_STATUS_SUCCESS) << mluOpOmpGetLastError();
  }
};

template <class Call, class = void>
constexpr bool kHasQuery = false;
template <class Call>
constexpr bool kHasQuery<Call, std::void_t<decltype(Call::kQuery)>> = true;

template <class Call>
void FaultsOfOperators::expect_failures(const typename Call::Inputs& small, const typename Call::Inputs& large) {
  for (const Recording& recording : kRecordings) {
    SCOPED_TRACE(recording.name);
    const TemporaryFolder folder;
    const std::string trace = (folder.path() / "trace.json").string();
    const ScopedEnvironment trace_file("MLUOP_OMP_TRACE", recording.trace ? trace.c_str() : nullptr);
    const ScopedEnvironment log_level("MLUOP_LOG_LEVEL", recording.debug_log ? "debug" : "off");
    if (recording.debug_log) ::testing::internal::CaptureStderr();
    for (const auto algorithm : kAlgorithms) {
      SCOPED_TRACE(text_of(algorithm));
      const int64_t points =
          for_each_fault_point(Attempt<Call>{algorithm, Call::kOperator, nullptr, large, recording});
      // The NRAM at least.
      EXPECT_GE(points, 1);
      fault_points.add(points);
      if (!recording.trace) {
        fault_points.add(
            for_each_fault_point(Attempt<Call>{algorithm, Call::kOperator, &small, large, recording}));
      }
      if constexpr (kHasQuery<Call>) {
        fault_points.add(for_each_fault_point(Attempt<Call>{algorithm, Call::kQuery, nullptr, large, recording}));
      }
    }
    if (recording.debug_log) ::testing::internal::GetCapturedStderr();
  }
}

TEST_F(FaultsOfOperators, VoxelPoolingForward) {
  expect_failures<VoxelPoolingCall<float>>(random_voxel_pooling<float>({1, 30, 20, 3, 3, 1}, random),
                                           random_voxel_pooling<float>({2, 2000, 20, 9, 8, 1}, random));
  expect_failures<VoxelPoolingCall<Half>>(random_voxel_pooling<Half>({1, 30, 20, 3, 3, 1}, random),
                                          random_voxel_pooling<Half>({2, 2000, 20, 9, 8, 1}, random));
}

TEST_F(FaultsOfOperators, VoxelPoolingBackward) {
  const VoxelPoolingBackwardSizes small = {1, 30, 20, 3, 3}, large = {2, 2000, 20, 9, 8};
  expect_failures<VoxelPoolingBackwardCall<uint32_t>>(random_voxel_pooling_backward<uint32_t>(small, random),
                                                      random_voxel_pooling_backward<uint32_t>(large, random));
  expect_failures<VoxelPoolingBackwardCall<uint16_t>>(random_voxel_pooling_backward<uint16_t>(small, random),
                                                      random_voxel_pooling_backward<uint16_t>(large, random));
}

template <class T>
class FaultsOfOperatorsOf : public FaultsOfOperators {};
using FloatingTypes = ::testing::Types<float, Half>;
TYPED_TEST_SUITE(FaultsOfOperatorsOf, FloatingTypes);

TYPED_TEST(FaultsOfOperatorsOf, ThreeInterpolateBackward) {
  // Direct and grouped sums.
  for (const ThreeInterpolateSizes& sizes : {ThreeInterpolateSizes{2, 20, 500, 90}, {4, 64, 500, 30}}) {
    this->template expect_failures<ThreeInterpolateCall<TypeParam>>(
        random_three_interpolate<TypeParam>({1, sizes.C, 20, 10}, this->random),
        random_three_interpolate<TypeParam>(sizes, this->random));
  }
}

TYPED_TEST(FaultsOfOperatorsOf, IndiceConvolutionBackwardData) {
  const FilterFormat format = kFilterFormats[0];
  this->template expect_failures<IndiceConvolutionBackwardDataCall<TypeParam>>(
      random_indice_convolution_backward_data<TypeParam>({20, 20, 16, 24, 3, 1, 2}, format, this->random),
      random_indice_convolution_backward_data<TypeParam>({2000, 300, 16, 24, 3, 1, 2}, format, this->random));
}

TYPED_TEST(FaultsOfOperatorsOf, IndiceConvolutionBackwardFilter) {
  this->template expect_failures<IndiceConvolutionBackwardFilterCall<TypeParam>>(
      random_indice_convolution_backward_filter<TypeParam>({20, 20, 16, 24, 3, 1, 2}, this->random),
      random_indice_convolution_backward_filter<TypeParam>({4000, 300, 16, 24, 3, 1, 2}, this->random));
}

TYPED_TEST(FaultsOfOperatorsOf, ThreeInterpolateForward) {
  // Packed and direct.
  for (const ThreeInterpolateForwardSizes& sizes :
       {ThreeInterpolateForwardSizes{2, 20, 90, 500}, {2, 20, 500, 90}}) {
    this->template expect_failures<ThreeInterpolateForwardCall<TypeParam>>(
        random_three_interpolate_forward<TypeParam>({1, sizes.C, 10, 20}, this->random),
        random_three_interpolate_forward<TypeParam>(sizes, this->random));
  }
}

TYPED_TEST(FaultsOfOperatorsOf, BallQuery) {
  this->template expect_failures<BallQueryCall<TypeParam>>(
      random_ball_query<TypeParam>({1, 20, 30, 4, 0, 0.5F}, this->random),
      random_ball_query<TypeParam>({2, 300, 900, 4, 0, 0.5F}, this->random));
}

TYPED_TEST(FaultsOfOperatorsOf, ThreeNNForward) {
  // Comparisons and trees.
  for (const int64_t known : {100, 1100}) {
    this->template expect_failures<ThreeNNCall<TypeParam>>(
        random_three_nn<TypeParam>({1, 20, known / 10}, this->random),
        random_three_nn<TypeParam>({2, 70, known}, this->random));
  }
}

TYPED_TEST(FaultsOfOperatorsOf, IndiceConvolutionForward) {
  const auto layout = FilterLayout::kNdhwc;
  this->template expect_failures<IndiceConvolutionCall<TypeParam>>(
      random_indice_convolution<TypeParam>({20, 20, 16, 24, 3, 1, 2}, layout, this->random),
      random_indice_convolution<TypeParam>({60, 400, 16, 24, 3, 1, 2}, layout, this->random));
  // Many pairs for each row of the output.
  this->template expect_failures<IndiceConvolutionCall<TypeParam>>(
      random_indice_convolution<TypeParam>({20, 20, 16, 24, 3, 1, 2}, layout, this->random),
      random_indice_convolution<TypeParam>({1000, 20, 16, 24, 3, 1, 2}, layout, this->random));
}

TEST_F(FaultsOfOperators, MaskedIm2colForward) {
  const MaskedIm2colSizes small = {3, 5, 6, 20, 3, 3, 1, 1}, large = {20, 15, 16, 200, 3, 3, 1, 1};
  expect_failures<MaskedIm2colCall<uint32_t>>(random_masked_im2col<uint32_t>(small, random),
                                              random_masked_im2col<uint32_t>(large, random));
  expect_failures<MaskedIm2colCall<uint16_t>>(random_masked_im2col<uint16_t>(small, random),
                                              random_masked_im2col<uint16_t>(large, random));
}

TEST_F(FaultsOfOperators, MaskedCol2imForward) {
  const MaskedCol2imSizes small = {3, 5, 6, 20}, large = {20, 15, 16, 200};
  expect_failures<MaskedCol2imCall<uint32_t>>(random_masked_col2im<uint32_t>(small, random),
                                              random_masked_col2im<uint32_t>(large, random));
  expect_failures<MaskedCol2imCall<uint16_t>>(random_masked_col2im<uint16_t>(small, random),
                                              random_masked_col2im<uint16_t>(large, random));
}

TEST_F(FaultsOfOperators, DynamicPointToVoxelForward) {
  expect_failures<PointToVoxelCall>(random_point_to_voxel(30, 20, 3, MLUOP_REDUCE_DMEAN, random),
                                    random_point_to_voxel(3000, 20, 12, MLUOP_REDUCE_DMEAN, random));
}

TEST_F(FaultsOfOperators, DynamicScatterBackward) {
  auto small = random_dynamic_scatter({30, 9, 20, 9}, random);
  auto large = random_dynamic_scatter({3000, 900, 20, 900}, random);
  for (const auto reduce_type : {MLUOP_REDUCE_DMAX, MLUOP_REDUCE_DMEAN}) {
    small.reduce_type = large.reduce_type = reduce_type;
    expect_failures<DynamicScatterCall>(small, large);
  }
}

TEST_F(FaultsOfOperators, GetIndicePairs) {
  IndicePairsProblem problem = {2,         {20, 30, 40}, {10, 15, 20}, {3, 3, 3}, {2, 2, 2},
                                {1, 1, 1}, {1, 1, 1},    false,        {}};
  expect_failures<GetIndicePairsCall>(random_get_indice_pairs(problem, 30, random),
                                      random_get_indice_pairs(problem, 500, random));
  // Hashed cells.
  problem.input_space = problem.output_space = {512, 256, 256};
  expect_failures<GetIndicePairsCall>(random_get_indice_pairs(problem, 30, random),
                                      random_get_indice_pairs(problem, 500, random));
}

TEST_F(FaultsOfOperators, Voxelization) {
  expect_failures<VoxelizationCall>(random_voxelization(voxelization_problem(30, 4, 3, 20, 5), random),
                                    random_voxelization(voxelization_problem(9000, 5, 4, 500, 8), random));
}

// A trace whose file could not be opened for lack of memory is written by the next call.
TEST_F(FaultsOfOperators, TraceIsOpenedLater) {
  const auto inputs = random_masked_im2col<uint32_t>({3, 5, 6, 20, 3, 3, 1, 1}, random);
  fault_points.add(for_each_fault_point([&](int64_t n) {
    SCOPED_TRACE(n);
    const TemporaryFolder folder;
    const auto path = folder.path() / "trace.json";
    const ScopedEnvironment trace_file("MLUOP_OMP_TRACE", path.c_str());
    const Handle handle;
    const MaskedIm2colCall<uint32_t> call(handle, inputs);
    const bool triggered = run_with_fault(n, [&] { return call.run(); }).triggered;
    EXPECT_EQ(call.run(), MLUOP_STATUS_SUCCESS);
    std::error_code error;
    EXPECT_GT(std::filesystem::file_size(path, error), 0U) << error.message();
    return triggered;
  }));
}

}  // namespace
}  // namespace mluop::test
