// The rows of MoE dispatch: products with gates, and dot products. Start with run() at the end of the file.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/moe_dispatch/moe_dispatch_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/caches.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "ops/moe_dispatch/moe_dispatch.h"
#include "primitives/memory/stream-inl.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "primitives/simd/partial_sums-inl.h"
#include "team/launch.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::moe_dispatch {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::add_partial_sums;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::kPartialSumLanes;
using mluop::HWY_NAMESPACE::StreamWriter;
using mluop::HWY_NAMESPACE::sum_terms;

// to[0, count) = gate * from[0, count)
template <bool kStream>
HWY_INLINE void scale_row(const StreamWriter& writer, float gate, const float* HWY_RESTRICT from, int64_t count,
                          float* HWY_RESTRICT to) {
  for_each_vector(count, [&](auto d, int64_t j) HWY_ATTR {
    const auto product = hn::Mul(hn::Set(d, gate), hn::LoadU(d, from + j));
    // A non-temporal store writes at least 16 bytes.
    constexpr bool kNonTemporal = kStream && hn::MaxLanes(decltype(d)()) * sizeof(float) >= 16;
    writer.write<kNonTemporal>(product, d, to + j);
  });
}

template <bool kStream>
HWY_INLINE void scale_input(const Args& args, int64_t begin, int64_t end) {
  const StreamWriter writer;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t row = args.row_of(i);
    if (row < 0 || args.last[row] != i) continue;
    scale_row<kStream>(writer, args.gates[i], args.input + i * args.hidden, args.hidden,
                       args.output + row * args.hidden);
  }
}

template <bool kStream>
HWY_INLINE void scale_dispatch(const Args& args, int64_t begin, int64_t end) {
  const StreamWriter writer;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t row = args.row_of(i);
    float* const to = args.output + i * args.hidden;
    if (row < 0) {
      std::fill_n(to, args.hidden, 0.0F);
    } else {
      scale_row<kStream>(writer, args.gates[i], args.dispatch + row * args.hidden, args.hidden, to);
    }
  }
}

void forward(const Args& args, int64_t begin, int64_t end, Task&) {
  args.stream ? scale_input<true>(args, begin, end) : scale_input<false>(args, begin, end);
}

void backward_data(const Args& args, int64_t begin, int64_t end, Task&) {
  args.stream ? scale_dispatch<true>(args, begin, end) : scale_dispatch<false>(args, begin, end);
}

// sums[0, kPartialSums) = the partial sums of the dot product of sample i.
HWY_INLINE void multiply_rows(const Args& args, int64_t i, float* sums) {
  const int64_t row = args.row_of(i);
  if (row < 0) {
    std::fill_n(sums, kPartialSums, 0.0F);
    return;
  }
  const float *const a = args.dispatch + row * args.hidden, *const b = args.input + i * args.hidden;
  sum_terms(
      args.hidden, [=](auto d, int64_t j) HWY_ATTR { return hn::Mul(hn::LoadU(d, a + j), hn::LoadU(d, b + j)); },
      [=](int64_t j) { return a[j] * b[j]; }, sums);
}

void backward_gate(const Args& args, int64_t begin, int64_t end, Task&) {
  alignas(64) float partial[kPartialSumLanes * kPartialSums], totals[kPartialSumLanes];
  for (int64_t first = begin; first < end; first += kPartialSumLanes) {
    const int64_t count = std::min(kPartialSumLanes, end - first);
    for (int64_t i = 0; i < count; ++i) multiply_rows(args, first + i, partial + i * kPartialSums);
    std::fill_n(partial + count * kPartialSums, (kPartialSumLanes - count) * kPartialSums, 0.0F);
    add_partial_sums(partial, totals);
    std::copy_n(totals, count, args.output + first);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::moe_dispatch
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::moe_dispatch {
namespace {

MLUOP_EXPORT_KERNEL(forward_kernel, forward, Args);
MLUOP_EXPORT_KERNEL(backward_gate_kernel, backward_gate, Args);
MLUOP_EXPORT_KERNEL(backward_data_kernel, backward_data, Args);

void run(Call& call, const char* name, RangeKernel<Args> kernel, Args args, bool writes_rows) {
  const int64_t bytes = saturated_product({args.samples, args.hidden, 2, int64_t{sizeof(float)}});
  const int task_dim = choose_task_dim(args.samples, bytes);
  // Non-temporal stores fill whole lines.
  const bool whole_lines = writes_rows && args.hidden * int64_t{sizeof(float)} % kCacheLine == 0 &&
                           reinterpret_cast<uintptr_t>(args.output) % kCacheLine == 0;
  args.stream = whole_lines && exceeds_caches(bytes);
  call.log_detail("native, taskDim ", task_dim, args.stream ? ", streamed" : "");
  launch(call.context(), name, task_dim, Evenly{args.samples}, kernel, args);
}

}  // namespace

void run_forward(Call& call, const Args& args) { run(call, "forward", forward_kernel(), args, true); }

void run_backward_gate(Call& call, const Args& args) {
  run(call, "backward_gate", backward_gate_kernel(), args, false);
}

void run_backward_data(Call& call, const Args& args) {
  run(call, "backward_data", backward_data_kernel(), args, true);
}

}  // namespace mluop::moe_dispatch
#endif
