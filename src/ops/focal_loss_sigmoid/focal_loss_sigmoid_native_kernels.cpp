#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/focal_loss_sigmoid/focal_loss_sigmoid_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/simd.h"
#include "ops/focal_loss_sigmoid/focal_loss_sigmoid_native_kernels.h"
#include "primitives/memory/stream-inl.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/exp_log-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::focal_loss_sigmoid::native {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::log_of_probability;
using mluop::HWY_NAMESPACE::power_of_probability;
using mluop::HWY_NAMESPACE::sigmoid;
using mluop::HWY_NAMESPACE::store_f32;
using mluop::HWY_NAMESPACE::StreamWriter;

using D = hn::CappedTag<float, ComputeTile<float>::kMaxLanes>;
using V = hn::Vec<D>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// The losses or derivatives of elements with probabilities p; is_target: the element belongs to the class of its
// row.
template <bool kIsLoss>
class Elements {
 public:
  explicit Elements(const Args& args) : alpha_(args.alpha), gamma_(args.gamma) {}

  HWY_INLINE V operator()(V p, hn::Mask<D> is_target, V weight) const {
    const D d;
    const auto q = hn::Sub(hn::Set(d, 1.0F), p);
    const auto right = hn::IfThenElse(is_target, p, q), wrong = hn::IfThenElse(is_target, q, p);
    const auto log = log_of_probability(d, hn::Max(right, hn::Set(d, std::numeric_limits<float>::min())));
    // The derivative of a target is negative, as is the logarithm in a loss.
    const auto share = hn::IfThenElse(is_target, hn::Set(d, kIsLoss ? alpha_ : -alpha_), hn::Set(d, 1 - alpha_));
    const auto term = kIsLoss ? hn::Neg(log) : hn::Sub(wrong, hn::Mul(hn::Set(d, gamma_), hn::Mul(right, log)));
    // The power may be subnormal although the product is normal.
    const auto root = power_of_probability(d, wrong, gamma_ / 2);
    const auto product = hn::Mul(hn::Mul(hn::Mul(hn::Mul(weight, share), term), root), root);
    // Where the power is 0, factors may overflow before it.
    const auto zero = hn::Mul(hn::Mul(weight, hn::Zero(d)), share);
    const auto result = hn::IfThenElse(hn::Eq(root, hn::Zero(d)), zero, product);
    return hn::IfThenElse(hn::IsNaN(p), p, result);
  }

 private:
  float alpha_, gamma_;
};

// Expands the weights and classes of the rows to the elements [first, first + count).
template <class T>
HWY_INLINE void set_rows(const ComputeArgs& args, int64_t first, int64_t count, const ComputeTile<T>& tile) {
  const auto* const weights = static_cast<const T*>(args.weight);
  // Branch-free, because branches on targets are unpredictable.
  if (args.C == 1) {
    const float weight_of[] = {1.0F, weights != nullptr ? to_f32(weights[0]) : 1.0F};
    for (int64_t i = 0; i < count; ++i) {
      const int32_t is_class = args.target[first + i] == 0 ? 1 : 0;
      tile.is_target[i] = -is_class;
      tile.weights[i] = weight_of[is_class];
    }
    return;
  }
  std::fill_n(tile.is_target, count, 0);
  for (int64_t row = first / args.C; row * args.C < first + count; ++row) {
    const int64_t start = row * args.C - first, target = args.target[row], at = start + target;
    const bool is_class = 0 <= target && target < args.C;
    const bool is_here = is_class & (0 <= at) & (at < count);
    tile.is_target[is_here ? at : kTileElements] = -1;
    if (weights != nullptr) {
      std::fill(tile.weights + std::max<int64_t>(start, 0), tile.weights + std::min(start + args.C, count),
                is_class ? to_f32(weights[target]) : 1.0F);
    }
  }
}

template <bool kIsLoss, class T>
HWY_INLINE void compute(const ComputeArgs& args, int64_t begin, int64_t end, Task& task) {
  const D d;
  const hn::RebindToSigned<D> di;
  const ComputeTile<T> tile(task.nram);
  const StreamWriter stream;
  const Elements<kIsLoss> elements(args);
  // Also past the last element: vectors read whole tiles.
  std::fill_n(tile.is_target, kTileElements, 0);
  std::fill_n(tile.weights, kTileElements, 1.0F);
  std::fill_n(tile.edge, kLanes, T{});
  for (int64_t item = begin; item < end; ++item) {
    const int64_t first = item * kTileElements, count = std::min(kTileElements, args.count() - first);
    set_rows(args, first, count, tile);
    const T* const from = static_cast<const T*>(args.input) + first;
    T* const output = static_cast<T*>(args.output) + first;
    T* const to = args.stream ? tile.results : output;
    // The last elements, which do not fill a vector, pass through `edge`.
    const int64_t whole = count / kLanes * kLanes;
    const auto edge_bytes = static_cast<size_t>(count - whole) * sizeof(T);
    std::memcpy(tile.edge, from + whole, edge_bytes);
    // Two short loops: a core overlaps the vectors of a loop as far as its scheduler reaches.
    for (int64_t i = 0; i < count; i += kLanes) {
      hn::Store(sigmoid(d, load_f32(d, i < whole ? from + i : tile.edge)), d, tile.probabilities + i);
    }
    for (int64_t i = 0; i < count; i += kLanes) {
      const auto is_target = hn::MaskFromVec(hn::BitCast(d, hn::Load(di, tile.is_target + i)));
      const auto p = hn::Load(d, tile.probabilities + i), weight = hn::Load(d, tile.weights + i);
      store_f32(elements(p, is_target, weight), d, i < whole ? to + i : tile.edge);
    }
    std::memcpy(to + whole, tile.edge, edge_bytes);
    if (args.stream) stream.copy(output, tile.results, static_cast<size_t>(count));
  }
}

template <class T>
void loss(const ComputeArgs& args, int64_t begin, int64_t end, Task& task) {
  compute<true, T>(args, begin, end, task);
}

template <class T>
void derivative(const ComputeArgs& args, int64_t begin, int64_t end, Task& task) {
  compute<false, T>(args, begin, end, task);
}

MLUOP_SELECT_BY_DTYPE(loss, ComputeArgs);
MLUOP_SELECT_BY_DTYPE(derivative, ComputeArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::focal_loss_sigmoid::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::focal_loss_sigmoid::native {

MLUOP_EXPORT_KERNEL_OF_DTYPE(loss_kernel, loss, ComputeArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(derivative_kernel, derivative, ComputeArgs);

}  // namespace mluop::focal_loss_sigmoid::native
#endif
