// The losses and gradients of softmax focal loss: factor() has the formulas.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/softmax_focal_loss/softmax_focal_loss_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "core/element.h"
#include "core/simd.h"
#include "ops/softmax_focal_loss/softmax_focal_loss.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/exp_log-inl.h"
#include "primitives/simd/for_each_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::softmax_focal_loss {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::log_of_probability;
using mluop::HWY_NAMESPACE::power_of_probability;
using mluop::HWY_NAMESPACE::round_row;
using mluop::HWY_NAMESPACE::store_f32;

// Rows whose factors are computed together.
constexpr int64_t kRows = 64;

// The losses of rows whose targets have the softmax s, or the factors of their gradients.
template <bool kIsLoss, class D>
HWY_INLINE hn::Vec<D> factor(D d, const Args& args, hn::Vec<D> s, hn::Vec<D> weight) {
  const auto one = hn::Set(d, 1.0F), zero = hn::Zero(d);
  const auto p = hn::Min(hn::Max(s, zero), one), q = hn::Sub(one, p);
  const auto log = log_of_probability(d, hn::Max(p, hn::Set(d, std::numeric_limits<float>::min())));
  // log(p) / (1 - p) is -1 in the limit p = 1.
  const auto slope = hn::IfThenElse(hn::Eq(q, zero), hn::Set(d, -1.0F), hn::Div(log, q));
  const auto term = kIsLoss ? hn::Neg(log) : hn::Sub(hn::Mul(hn::Mul(hn::Set(d, args.gamma), p), slope), one);
  // The power may be subnormal although the product is normal.
  const auto root = power_of_probability(d, q, args.gamma / 2);
  const auto share = hn::Mul(weight, hn::Set(d, args.alpha));
  const auto product = hn::Mul(hn::Mul(hn::Mul(share, term), root), root);
  // Where the power is 0, factors may overflow before it.
  const auto result = hn::IfThenElse(hn::Eq(root, zero), hn::Mul(hn::Mul(weight, zero), share), product);
  return hn::IfThenElse(hn::IsNaN(s), s, result);
}

// to[c] = factor ([c is target] - softmax[c])
template <class T>
HWY_INLINE void write_gradient(const Args& args, float factor, int32_t target, const T* softmax, T* to) {
  for_each_vector(args.C, [&](auto d, int64_t c) HWY_ATTR {
    store_f32(hn::Mul(hn::Set(d, factor), hn::Neg(load_f32(d, softmax + c))), d, to + c);
  });
  round_to(factor * (1 - to_f32(softmax[target])), to + target);
}

// Work items: rows.
template <bool kIsLoss, class T>
HWY_INLINE void write_rows(const Args& args, int64_t begin, int64_t end) {
  const auto* const softmax = static_cast<const T*>(args.softmax);
  const auto* const weight = static_cast<const T*>(args.weight);
  alignas(64) float probabilities[kRows], weights[kRows], factors[kRows];
  for (int64_t first = begin; first < end; first += kRows) {
    const int64_t count = std::min(kRows, end - first);
    const int32_t* const target = args.target + first;
    for (int64_t i = 0; i < count; ++i) {
      const bool has_class = target[i] >= 0;
      probabilities[i] = has_class ? to_f32(softmax[(first + i) * args.C + target[i]]) : 0;
      weights[i] = has_class && weight != nullptr ? to_f32(weight[target[i]]) : 1;
    }
    for_each_vector(count, [&](auto d, int64_t i) HWY_ATTR {
      const auto s = hn::LoadU(d, probabilities + i), w = hn::LoadU(d, weights + i);
      hn::StoreU(factor<kIsLoss>(d, args, s, w), d, factors + i);
    });
    for (int64_t i = 0; i < count; ++i) {
      if (target[i] < 0) factors[i] = 0;
    }
    round_row(factors, count, static_cast<T*>(args.factors) + first);
    if constexpr (!kIsLoss) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t row = (first + i) * args.C;
        T* const to = static_cast<T*>(args.grad_input) + row;
        if (target[i] < 0) {
          std::fill_n(to, args.C, T{});
        } else {
          write_gradient(args, factors[i], target[i], softmax + row, to);
        }
      }
    }
  }
}

template <class T>
void write_losses(const Args& args, int64_t begin, int64_t end, Task&) {
  write_rows<true, T>(args, begin, end);
}

template <class T>
void write_gradients(const Args& args, int64_t begin, int64_t end, Task&) {
  write_rows<false, T>(args, begin, end);
}

MLUOP_SELECT_BY_DTYPE(write_losses, Args);
MLUOP_SELECT_BY_DTYPE(write_gradients, Args);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::softmax_focal_loss
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::softmax_focal_loss {

MLUOP_EXPORT_KERNEL_OF_DTYPE(losses_kernel, write_losses, Args);
MLUOP_EXPORT_KERNEL_OF_DTYPE(gradients_kernel, write_gradients, Args);

}  // namespace mluop::softmax_focal_loss
#endif
