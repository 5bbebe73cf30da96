// The kernels of mluOpThreeInterpolateBackward over NRAM that holds signalling NaN: elements past the last
// channel, point and feature are initialized before they are used, so that no exception is raised.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <type_traits>

#include "core/aligned_buffer.h"
#include "core/poison.h"
#include "ops/three_interpolate_backward/sizes.h"
#include "ops/three_interpolate_backward/three_interpolate_backward.h"
#include "ops/three_interpolate_backward/three_interpolate_backward_device_kernels.h"
#include "ops/three_interpolate_backward/three_interpolate_backward_native_kernels.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

using cases::Case;
namespace interpolate = three_interpolate_backward;
constexpr size_t kNramBytes = 640 << 10;
constexpr uint32_t kTwoHalfNans = 0x7DA07DA0, kFloatNan = 0x7FA07DA0;

// Runs a kernel as one task over NaN of either width and checks that it raises no FE_INVALID.
template <class KernelArgs>
void expect_no_invalid(RangeKernel<KernelArgs> kernel, const std::type_identity_t<KernelArgs>& args,
                       int64_t items) {
  AlignedBuffer nram;
  nram.reserve(kNramBytes);
  for (const uint32_t pattern : {kFloatNan, kTwoHalfNans}) {
    unpoison(nram.data(), kNramBytes);  // the arena of the previous run has poisoned it
    std::fill_n(reinterpret_cast<uint32_t*>(nram.data()), kNramBytes / sizeof(uint32_t), pattern);
    TaskStatistics statistics{};
    Task task{0, 1, Arena(nram.data(), kNramBytes), &statistics, nullptr};
    std::feclearexcept(FE_ALL_EXCEPT);
    kernel(args, 0, items, task);
    EXPECT_EQ(std::fetestexcept(FE_INVALID), 0);
  }
}

void run_native(const Context& context, const interpolate::Args& args) {
  const auto plan = interpolate::native::make_plan(context, args);
  const int64_t items = plan.tiling.work_items(args);
  if (plan.grouped) {
    AlignedBuffer memory;
    memory.reserve(bytes_of<interpolate::native::Scratch>(args, plan.tiling));
    Arena arena(memory.data(), memory.capacity());
    const interpolate::native::Scratch scratch(arena, args, plan.tiling);
    FirstBadItem bad;
    expect_no_invalid(interpolate::native::group_kernel(args.dtype), {args, plan.tiling, scratch, bad},
                      args.B * plan.tiling.point_tiles(args));
    expect_no_invalid(interpolate::native::sum_kernel(args.dtype), {args, plan.tiling, scratch}, items);
  } else {
    expect_no_invalid(interpolate::native::direct_kernel(args.dtype),
                      {args, plan.tiling, plan.stream, plan.prefetch}, items);
  }
}

void run_device(const Context& context, const interpolate::Args& args) {
  const auto plan = interpolate::device::make_plan(context, args);
  expect_no_invalid(interpolate::device::interpolate_kernel(args.dtype), {args, plan.tiling},
                    plan.tiling.work_items(args));
}

// Channels, points and features that are not multiples of vectors.
TEST(OpsThreeInterpolateBackwardPadding, IsInitialized) {
  const ScopedThreads threads(1);
  Context context;
  context.nram_capacity = kNramBytes;
  for (const BackwardSizes& s : {BackwardSizes{1, 5, 3, 7}, {2, 20, 67, 90}, {2, 1, 67, 90}, {1, 53, 70, 30}}) {
    for (const auto dtype : kFloatingDtypes) {
      const Case made = make_backward(dtype, s);
      for (const auto algorithm : kAlgorithms) {
        SCOPED_TRACE(text_of(s) + ' ' + text_of(algorithm));
        const Handle handle;
        const OperatorCall call(handle, made);
        const auto run = algorithm == MLUOP_OMP_ALGORITHM_DEVICE ? run_device : run_native;
        run(context, {s.B, s.C, s.N, s.M, dtype, call["grad_output"].data, call["indices"].as<int32_t>(),
                      call["weights"].data, call["grad_features"].data});
        EXPECT_TRUE(Oracle(made).agrees(call, algorithm));
      }
    }
  }
}

}  // namespace
}  // namespace mluop::test
