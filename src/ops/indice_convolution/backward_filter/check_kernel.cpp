#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/indice_convolution/backward_filter/check_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "core/simd.h"
#include "ops/indice_convolution/backward_filter/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_convolution::backward_filter {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Returns the first of `count` pairs with an index out of bounds, or `count`.
HWY_INLINE int64_t first_bad_pair(const Args& call, const int32_t* inputs, const int32_t* outputs, int64_t count) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int64_t kMaxIndex = std::numeric_limits<int32_t>::max();
  const auto max_input = static_cast<int32_t>(std::min(call.N - 1, kMaxIndex));
  const auto max_output = static_cast<int32_t>(std::min(call.M - 1, kMaxIndex));
  const auto max_inputs = hn::Set(d, max_input), max_outputs = hn::Set(d, max_output);
  int64_t l = 0;
  for (; l + lanes <= count; l += lanes) {
    const auto input = hn::LoadU(d, inputs + l), output = hn::LoadU(d, outputs + l);
    const auto too_large = hn::Or(hn::Gt(input, max_inputs), hn::Gt(output, max_outputs));
    const auto negative = hn::Lt(hn::Or(input, output), hn::Zero(d));
    if (!hn::AllFalse(d, hn::AndNot(negative, too_large))) break;
  }
  for (; l < count; ++l) {
    if ((inputs[l] | outputs[l]) >= 0 && (inputs[l] > max_input || outputs[l] > max_output)) return l;
  }
  return count;
}

void check_pairs(const CheckArgs& args, int64_t begin, int64_t end, Task&) {
  const Args& call = args.call;
  int64_t k = std::upper_bound(args.first_pairs, args.first_pairs + call.K, begin) - args.first_pairs - 1;
  for (int64_t pair = begin; pair < end; ++k) {
    const int64_t l = pair - args.first_pairs[k];
    const int64_t count = std::min(end, args.first_pairs[k + 1]) - pair;
    const int64_t bad = first_bad_pair(call, call.inputs(k) + l, call.outputs(k) + l, count);
    if (bad < count) {
      args.first_bad.report(pair + bad);
      return;
    }
    pair += count;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_convolution::backward_filter
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::indice_convolution::backward_filter {

MLUOP_EXPORT_KERNEL(check_kernel, check_pairs, CheckArgs);

}  // namespace mluop::indice_convolution::backward_filter
#endif
