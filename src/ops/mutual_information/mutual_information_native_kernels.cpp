// The recursions of mutual information over the anti-diagonals of a lattice, whose cells do not depend on each
// other: forward() sums over paths, backward() multiplies the shares of the steps.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/mutual_information/mutual_information_native_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/simd.h"
#include "ops/mutual_information/mutual_information.h"
#include "primitives/simd/exp_log-inl.h"
#include "primitives/simd/for_each_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::mutual_information {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::exp_of_negative;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::linear;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
// log(2^-23): a sum of two terms whose logarithms differ by more is the larger term.
constexpr float kLeastDifference = -15.9423847F;
// Logarithms count as at least this number in the backward function.
constexpr float kLeastLog = -1e30F;

// log(1 + e) for 0 <= e <= 1, with a relative error below 2^-22.
template <class D>
HWY_INLINE hn::Vec<D> log_of_one_plus(D d, hn::Vec<D> e) {
  const auto e2 = hn::Mul(e, e);
  const auto c01 = linear(d, e, 0.3332132F, -0.49999648F), c23 = linear(d, e, 0.19153634F, -0.24857157F);
  const auto c45 = linear(d, e, 0.07920398F, -0.13753755F), c67 = linear(d, e, 0.005364739F, -0.03006545F);
  const auto low = hn::Add(c01, hn::Mul(e2, c23)), high = hn::Add(c45, hn::Mul(e2, c67));
  return hn::Add(e, hn::Mul(e2, hn::Add(low, hn::Mul(hn::Mul(e2, e2), high))));
}

// log(exp(x) + exp(y)); x if one of them is NaN.
template <class D>
HWY_INLINE hn::Vec<D> log_add(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const auto larger = hn::IfThenElse(hn::Lt(x, y), y, x);
  const auto difference = hn::Neg(hn::Abs(hn::Sub(x, y)));
  const auto sum = hn::Add(larger, log_of_one_plus(d, exp_of_negative(d, difference)));
  // The difference of equal infinities is NaN.
  return hn::IfThenElse(hn::Ge(difference, hn::Set(d, kLeastDifference)), sum, larger);
}

// Work items: sequences.
void forward(const ForwardArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t T = args.T;
  float* const diagonals = args.diagonals + task.taskId * kDiagonals * (args.S + 2);
  // Element s is the cell (s, d - s) of the previous and the current diagonal d, in cells from the boundary on.
  float *previous = diagonals + 1, *current = previous + args.S + 2;
  // px and py of the steps into the cells of the current diagonal.
  float *x = current + args.S + 2, *y = x + args.S + 2;
  for (int64_t b = begin; b < end; ++b) {
    const Boundary boundary = args.boundary(b);
    if (boundary.is_empty()) {
      args.ans[b] = 0;
      continue;
    }
    const int64_t rows = boundary.s_end - boundary.s_begin, columns = boundary.t_end - boundary.t_begin;
    const float* const px = args.px + (b * args.S + boundary.s_begin) * (T + 1) + boundary.t_begin;
    const float* const py = args.py + (b * (args.S + 1) + boundary.s_begin) * T + boundary.t_begin;
    float* const p = args.p + (b * (args.S + 1) + boundary.s_begin) * (T + 1) + boundary.t_begin;
    p[0] = previous[0] = 0;
    for (int64_t d = 1; d <= rows + columns; ++d) {
      const int64_t first = std::max<int64_t>(0, d - columns), last = std::min(rows, d);
      // Cells of the first row and of the first column have one step.
      if (first == 0) previous[-1] = x[0] = kMinusInfinity;
      if (last == d) previous[d] = y[d] = kMinusInfinity;
      for (int64_t s = std::max<int64_t>(first, 1); s <= last; ++s) x[s] = px[(s - 1) * (T + 1) + d - s];
      for (int64_t s = first; s <= std::min(last, d - 1); ++s) y[s] = py[s * T + d - s - 1];
      for_each_vector(last - first + 1, [&](auto dd, int64_t i) HWY_ATTR {
        const int64_t s = first + i;
        const auto from_x = hn::Add(hn::LoadU(dd, previous + s - 1), hn::LoadU(dd, x + s));
        const auto from_y = hn::Add(hn::LoadU(dd, previous + s), hn::LoadU(dd, y + s));
        hn::StoreU(log_add(dd, from_x, from_y), dd, current + s);
      });
      for (int64_t s = first; s <= last; ++s) p[s * (T + 1) + d - s] = current[s];
      std::swap(previous, current);
    }
    args.ans[b] = previous[rows];
  }
}

// to[i] = exp(p[i] + score[i] - next[i]), 0 unless the exponent and the result are finite
HWY_INLINE void write_shares(const float* p, const float* score, const float* next, int64_t count, float* to) {
  // The largest number whose exp is finite.
  constexpr float kMost = 0x1.62e42ep6F;
  for_each_vector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto least = hn::Set(d, kLeastLog);
    const auto from = hn::LoadU(d, p + i), into = hn::LoadU(d, next + i);
    const auto exponent =
        hn::Sub(hn::Add(hn::IfThenElse(hn::Lt(from, least), least, from), hn::LoadU(d, score + i)),
                hn::IfThenElse(hn::Lt(into, least), least, into));
    const auto is_finite = hn::Le(exponent, hn::Set(d, kMost));
    hn::StoreU(hn::IfThenElseZero(is_finite, exp_of_negative(d, exponent)), d, to + i);
  });
}

// Writes rows of a gradient: shares of the steps in [s_begin, s_end) x [t_begin, t_end), 0 elsewhere. next_offset:
// from a cell to the next one.
HWY_INLINE void write_all_shares(const float* p, int64_t p_columns, const float* scores, int64_t rows,
                                 int64_t columns, const Boundary& steps, int64_t next_offset, float* to) {
  for (int64_t s = 0; s < rows; ++s) {
    float* const row = to + s * columns;
    if (s < steps.s_begin || steps.s_end <= s || steps.t_begin >= steps.t_end) {
      std::fill_n(row, columns, 0.0F);
      continue;
    }
    std::fill_n(row, steps.t_begin, 0.0F);
    const float* const cell = p + s * p_columns + steps.t_begin;
    write_shares(cell, scores + s * columns + steps.t_begin, cell + next_offset, steps.t_end - steps.t_begin,
                 row + steps.t_begin);
    std::fill_n(row + steps.t_end, columns - steps.t_end, 0.0F);
  }
}

// Work items: sequences.
void backward(const BackwardArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t S = args.S, T = args.T;
  // Element s: the gradient of the cell (s, d - s).
  float* const grad = args.diagonals + task.taskId * kDiagonals * (S + 2);
  for (int64_t b = begin; b < end; ++b) {
    const Boundary boundary = args.boundary(b);
    const auto [s_begin, t_begin, s_end, t_end] = boundary;
    float* const px_grad = args.px_grad + b * S * (T + 1);
    float* const py_grad = args.py_grad + b * (S + 1) * T;
    if (boundary.is_empty()) {
      std::fill_n(px_grad, S * (T + 1), 0.0F);
      std::fill_n(py_grad, (S + 1) * T, 0.0F);
      continue;
    }
    const float* const p = args.p + b * (S + 1) * (T + 1);
    write_all_shares(p, T + 1, args.px + b * S * (T + 1), S, T + 1, {s_begin, t_begin, s_end, t_end + 1}, T + 1,
                     px_grad);
    write_all_shares(p, T + 1, args.py + b * (S + 1) * T, S + 1, T, {s_begin, t_begin, s_end + 1, t_end}, 1,
                     py_grad);
    grad[s_end] = args.ans_grad[b];
    for (int64_t d = s_end + t_end - 1; d >= s_begin + t_begin; --d) {
      for (int64_t s = std::max(s_begin, d - t_end); s <= std::min(s_end, d - t_begin); ++s) {
        // Steps into a cell outside the boundary do not exist.
        float along_s = 0, along_t = 0;
        if (s < s_end) {
          float& step = px_grad[s * (T + 1) + d - s];
          along_s = step * grad[s + 1];
          step = along_s;
        }
        if (d - s < t_end) {
          float& step = py_grad[s * T + d - s];
          along_t = step * grad[s];
          step = along_t;
        }
        grad[s] = along_s + along_t;
      }
    }
    if (args.overwrites) args.ans_grad[b] = grad[s_begin];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mluop::mutual_information
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::mutual_information {

MLUOP_EXPORT_KERNEL(forward_kernel, forward, ForwardArgs);
MLUOP_EXPORT_KERNEL(backward_kernel, backward, BackwardArgs);

}  // namespace mluop::mutual_information
#endif
