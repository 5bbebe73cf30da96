// The kernels of mluOpThreeInterpolateBackward over NRAM that holds signalling NaN: elements past the last
// channel, point and feature are initialized before they are used, so that no exception is raised.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <type_traits>
#include <vector>

#include "core/aligned_buffer.h"
#include "core/poison.h"
#include "ops/three_interpolate_backward/device/kernels.h"
#include "ops/three_interpolate_backward/device/plan.h"
#include "ops/three_interpolate_backward/native/kernels.h"
#include "ops/three_interpolate_backward/native/plan.h"
#include "ops/three_interpolate_backward/sizes.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

namespace interpolate = three_interpolate_backward;
constexpr size_t kNramBytes = 640 << 10;
constexpr uint32_t kTwoHalfNans = 0x7DA07DA0, kFloatNan = 0x7FA07DA0;

class PaddingProblem {
 public:
  explicit PaddingProblem(const cases::Case& made) : made_(made), call_(handle_, made_) {
    nram_.reserve(kNramBytes);
    context.nram_capacity = kNramBytes;
  }

  interpolate::Args args() const {
    const cases::Operand &grad_output = call_["grad_output"], &grad_features = call_["grad_features"];
    return {grad_output.dim(0),
            grad_output.dim(1),
            grad_output.dim(2),
            grad_features.dim(2),
            grad_output.dtype,
            grad_output.data,
            call_["indices"].as<int32_t>(),
            call_["weights"].data,
            grad_features.data};
  }

  // Runs a kernel as one task over NaN of either width and checks that it raises no FE_INVALID.
  template <class KernelArgs>
  void expect_no_invalid(RangeKernel<KernelArgs> kernel, const std::type_identity_t<KernelArgs>& kernel_args,
                         int64_t items) {
    for (const uint32_t pattern : {kFloatNan, kTwoHalfNans}) {
      unpoison(nram_.data(), kNramBytes);  // the arena of the previous run has poisoned it
      std::fill_n(reinterpret_cast<uint32_t*>(nram_.data()), kNramBytes / sizeof(uint32_t), pattern);
      TaskStatistics statistics{};
      Task task{0, 1, Arena(nram_.data(), kNramBytes), &statistics};
      std::feclearexcept(FE_ALL_EXCEPT);
      kernel(kernel_args, 0, items, task);
      EXPECT_EQ(std::fetestexcept(FE_INVALID), 0);
    }
  }

  void expect_result(mluOpOmpAlgorithm_t algorithm) const { EXPECT_TRUE(Oracle(made_).agrees(call_, algorithm)); }

  Context context;

 private:
  const Handle handle_;
  const cases::Case made_;
  const OperatorCall call_;
  AlignedBuffer nram_;
};

void expect_native_raises_nothing(const cases::Case& made) {
  PaddingProblem problem(made);
  const interpolate::Args args = problem.args();
  const auto plan = interpolate::native::make_plan(problem.context, args);
  const int64_t items = plan.tiling.work_items(args);
  if (plan.grouped) {
    AlignedBuffer memory;
    memory.reserve(bytes_of<interpolate::native::GroupedPairs>(args, plan.tiling));
    Arena pool(memory.data(), memory.capacity());
    const interpolate::native::GroupedPairs grouped(pool, args, plan.tiling);
    FirstBadItem bad;
    problem.expect_no_invalid(interpolate::native::group_kernel(args.dtype), {args, plan.tiling, grouped, bad},
                              args.B * plan.tiling.point_tiles(args));
    problem.expect_no_invalid(interpolate::native::sum_kernel(args.dtype), {args, plan.tiling, grouped}, items);
  } else {
    problem.expect_no_invalid(interpolate::native::direct_kernel(args.dtype),
                              {args, plan.tiling, plan.stream, plan.prefetch}, items);
  }
  problem.expect_result(MLUOP_OMP_ALGORITHM_NATIVE);
}

void expect_device_raises_nothing(const cases::Case& made) {
  PaddingProblem problem(made);
  const interpolate::Args args = problem.args();
  const auto plan = interpolate::device::make_plan(problem.context, args);
  problem.expect_no_invalid(interpolate::device::interpolate_kernel(args.dtype), {args, plan.tiling},
                            plan.tiling.work_items(args));
  problem.expect_result(MLUOP_OMP_ALGORITHM_DEVICE);
}

// Channels, points and features that are not multiples of vectors.
TEST(OpsThreeInterpolateBackwardPadding, IsInitialized) {
  const ScopedThreads threads(1);
  for (const BackwardSizes& sizes :
       {BackwardSizes{1, 5, 3, 7}, {2, 20, 67, 90}, {2, 1, 67, 90}, {1, 53, 70, 30}}) {
    for (const auto dtype : kFloatingDtypes) {
      SCOPED_TRACE(text_of(sizes));
      expect_native_raises_nothing(make_backward(dtype, sizes));
      expect_device_raises_nothing(make_backward(dtype, sizes));
    }
  }
}

}  // namespace
}  // namespace mluop::test
