// The kernels of mluOpThreeInterpolateBackward over NRAM that holds signalling NaN: elements past the last
// channel, point and feature are initialized before they are used, so that no exception is raised.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <type_traits>
#include <vector>

#include "core/aligned_buffer.h"
#include "core/poison.h"
#include "ops/three_interpolate_backward/call.h"
#include "ops/three_interpolate_backward/device/kernels.h"
#include "ops/three_interpolate_backward/device/plan.h"
#include "ops/three_interpolate_backward/native/kernels.h"
#include "ops/three_interpolate_backward/native/plan.h"
#include "support/environment.h"

namespace mluop::test {
namespace {

namespace interpolate = three_interpolate_backward;
constexpr size_t kNramBytes = 640 << 10;
constexpr uint32_t kTwoHalfNans = 0x7DA07DA0, kFloatNan = 0x7FA07DA0;

template <class T>
class Problem {
 public:
  explicit Problem(const ThreeInterpolateSizes& sizes)
      : inputs_(random_inputs(sizes)), output_(static_cast<size_t>(sizes.B * sizes.C * sizes.M)) {
    nram_.reserve(kNramBytes);
    context.nram_capacity = kNramBytes;
  }

  interpolate::Args args() {
    const auto& s = inputs_.sizes;
    const auto dtype = sizeof(T) == 2 ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT;
    return {s.B,
            s.C,
            s.N,
            s.M,
            dtype,
            inputs_.grad_output.data(),
            inputs_.indices.data(),
            inputs_.weights.data(),
            output_.data()};
  }

  // Runs a kernel as one task and returns whether it raised FE_INVALID.
  template <class KernelArgs>
  bool raises_invalid_over(uint32_t pattern, RangeKernel<KernelArgs> kernel, const KernelArgs& kernel_args,
                           int64_t items) {
    unpoison(nram_.data(), kNramBytes);  // the arena of the previous run has poisoned it
    auto* words = reinterpret_cast<uint32_t*>(nram_.data());
    std::fill_n(words, kNramBytes / sizeof(uint32_t), pattern);
    TaskStatistics statistics{};
    Task task{0, 1, Arena(nram_.data(), kNramBytes), &statistics};
    std::feclearexcept(FE_ALL_EXCEPT);
    kernel(kernel_args, 0, items, task);
    return std::fetestexcept(FE_INVALID) != 0;
  }

  // Over NaN of either width.
  template <class KernelArgs>
  bool raises_invalid(RangeKernel<KernelArgs> kernel, const std::type_identity_t<KernelArgs>& kernel_args,
                      int64_t items) {
    return raises_invalid_over(kFloatNan, kernel, kernel_args, items) ||
           raises_invalid_over(kTwoHalfNans, kernel, kernel_args, items);
  }

  void expect_reference() const { EXPECT_TRUE(output_ == three_interpolate_reference(inputs_)); }

  Context context;

 private:
  static ThreeInterpolateInputs<T> random_inputs(const ThreeInterpolateSizes& sizes) {
    auto random = seeded_random();
    return random_three_interpolate<T>(sizes, random);
  }

  ThreeInterpolateInputs<T> inputs_;
  std::vector<T> output_;
  AlignedBuffer nram_;
};

// Channels, points and features that are no multiples of vectors.
const std::vector<ThreeInterpolateSizes> kSizes = {{1, 5, 3, 7}, {2, 20, 67, 90}, {2, 1, 67, 90}, {1, 53, 70, 30}};

template <class T>
void expect_native_raises_nothing(const ThreeInterpolateSizes& sizes) {
  Problem<T> problem(sizes);
  const interpolate::Args args = problem.args();
  const auto plan = interpolate::native::make_plan(problem.context, args);
  const int64_t items = plan.tiling.work_items(args);
  if (plan.grouped) {
    AlignedBuffer memory;
    memory.reserve(bytes_of<interpolate::native::GroupedPairs>(args, plan.tiling));
    Arena pool(memory.data(), memory.capacity());
    const interpolate::native::GroupedPairs grouped(pool, args, plan.tiling);
    FirstBadItem bad;
    EXPECT_FALSE(problem.raises_invalid(interpolate::native::group_kernel(args.dtype),
                                        {args, plan.tiling, grouped, bad},
                                        args.B * plan.tiling.point_tiles(args)));
    EXPECT_FALSE(
        problem.raises_invalid(interpolate::native::sum_kernel(args.dtype), {args, plan.tiling, grouped}, items));
  } else {
    EXPECT_FALSE(problem.raises_invalid(interpolate::native::direct_kernel(args.dtype),
                                        {args, plan.tiling, plan.stream, plan.prefetch}, items));
  }
  problem.expect_reference();
}

template <class T>
void expect_device_raises_nothing(const ThreeInterpolateSizes& sizes) {
  Problem<T> problem(sizes);
  const interpolate::Args args = problem.args();
  const auto plan = interpolate::device::make_plan(problem.context, args);
  EXPECT_FALSE(problem.raises_invalid(interpolate::device::interpolate_kernel(args.dtype), {args, plan.tiling},
                                      plan.tiling.work_items(args)));
}

TEST(OpsThreeInterpolateBackwardPadding, IsInitialized) {
  const ScopedThreads threads(1);
  for (const auto& sizes : kSizes) {
    SCOPED_TRACE(::testing::Message() << sizes.B << " " << sizes.C << " " << sizes.N << " " << sizes.M);
    expect_native_raises_nothing<float>(sizes);
    expect_native_raises_nothing<Half>(sizes);
    expect_device_raises_nothing<float>(sizes);
    expect_device_raises_nothing<Half>(sizes);
  }
}

}  // namespace
}  // namespace mluop::test
