// The update of AdamW: update_elements() has the formulas.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/adamw/adamw_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/element.h"
#include "core/simd.h"
#include "ops/adamw/adamw.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::adamw {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::store_f32;

// Divisions and roots are exact on every instruction set, so that the order of the operations determines the bits.
template <bool kRemovesNan, class Grad>
HWY_INLINE void update_elements(const Args& args, int64_t begin, int64_t end) {
  const auto* const grad = static_cast<const Grad*>(args.grad);
  const int64_t first = begin * kItemElements, last = std::min(end * kItemElements, args.count);
  for_each_vector(
      last,
      [&](auto d, int64_t i) HWY_ATTR {
        const auto p = hn::LoadU(d, args.param + i), m = hn::LoadU(d, args.momentum + i),
                   v = hn::LoadU(d, args.velocity + i);
        const auto g = hn::Div(load_f32(d, grad + i), hn::Set(d, args.scale));
        auto new_m = hn::Add(m, hn::Mul(hn::Sub(g, m), hn::Set(d, args.rate1)));
        auto new_v = hn::Add(v, hn::Mul(hn::Sub(hn::Mul(g, g), v), hn::Set(d, args.rate2)));
        const auto mean = hn::Div(hn::Mul(hn::Set(d, args.lr), new_m), hn::Set(d, args.bias1));
        const auto root = hn::Add(hn::Sqrt(hn::Div(new_v, hn::Set(d, args.bias2))), hn::Set(d, args.epsilon));
        const auto step = hn::Div(mean, root), decayed = hn::Mul(hn::Set(d, args.decay), p);
        auto new_p = kRemovesNan ? hn::Sub(decayed, step) : hn::Sub(hn::Sub(p, step), decayed);
        if constexpr (kRemovesNan) {
          const auto keeps = hn::Or(hn::Or(hn::IsFinite(new_m), hn::IsFinite(new_v)), hn::IsFinite(new_p));
          new_p = hn::IfThenElse(keeps, new_p, p);
          new_m = hn::IfThenElse(keeps, new_m, m);
          new_v = hn::IfThenElse(keeps, new_v, v);
        } else {
          store_f32(new_p, d, static_cast<BFloat16*>(args.paramh) + i);
        }
        hn::StoreU(new_p, d, args.param + i);
        hn::StoreU(new_m, d, args.momentum + i);
        hn::StoreU(new_v, d, args.velocity + i);
      },
      first);
}

void update(const Args& args, int64_t begin, int64_t end, Task&) {
  update_elements<false, BFloat16>(args, begin, end);
}

void update_without_nan(const Args& args, int64_t begin, int64_t end, Task&) {
  update_elements<true, float>(args, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::adamw
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::adamw {

MLUOP_EXPORT_KERNEL(update_kernel, update, Args);
MLUOP_EXPORT_KERNEL(update_without_nan_kernel, update_without_nan, Args);

}  // namespace mluop::adamw
#endif
