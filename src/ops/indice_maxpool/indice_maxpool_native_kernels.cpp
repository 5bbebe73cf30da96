#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/indice_maxpool/indice_maxpool_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include "core/dtype.h"
#include "core/simd.h"
#include "ops/indice_maxpool/indice_maxpool_native_kernels.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::indice_maxpool::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::store_f32;

// T, here and below: an element type.
template <class T>
void pool(const PoolArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t C = args.C;
  const T* const features = static_cast<const T*>(args.features);
  const int32_t *const starts = args.sorted.starts, *const inputs = args.sorted.elements;
  for (int64_t row = begin; row < end; ++row) {
    for_each_vector(C, [&](auto d, int64_t c) HWY_ATTR {
      auto max = hn::Zero(d);
      for (int32_t i = starts[row]; i < starts[row + 1]; ++i) {
        const auto feature = load_f32(d, features + inputs[i] * C + c);
        // Not Max(), which treats NaN and -0 differently.
        max = hn::IfThenElse(hn::Gt(feature, max), feature, max);
      }
      store_f32(max, d, static_cast<T*>(args.features_out) + row * C + c);
    });
  }
}

template <class T>
void add_gradients(const GradientArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t C = args.C;
  const T *const outputs = static_cast<const T*>(args.features_out), *const gradients =
                                                                         static_cast<const T*>(args.output_grad);
  const int32_t *const starts = args.sorted.starts, *const inputs = args.sorted.elements;
  for (int64_t row = begin; row < end; ++row) {
    for_each_vector(C, [&](auto d, int64_t c) HWY_ATTR {
      const auto feature = load_f32(d, static_cast<const T*>(args.features) + row * C + c);
      auto sum = hn::Zero(d);
      for (int32_t i = starts[row]; i < starts[row + 1]; ++i) {
        const int64_t at = inputs[i] * C + c;
        const auto is_max = hn::Eq(feature, load_f32(d, outputs + at));
        sum = hn::IfThenElse(is_max, hn::Add(sum, load_f32(d, gradients + at)), sum);
      }
      store_f32(sum, d, static_cast<T*>(args.input_grad) + row * C + c);
    });
  }
}

MLUOP_SELECT_BY_DTYPE(pool, PoolArgs);
MLUOP_SELECT_BY_DTYPE(add_gradients, GradientArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::indice_maxpool::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::indice_maxpool::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(pool_kernel, pool, PoolArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(gradient_kernel, add_gradients, GradientArgs);

}  // namespace mluop::indice_maxpool::native
#endif
