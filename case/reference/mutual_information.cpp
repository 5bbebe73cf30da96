#include "reference/mutual_information.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace mluop::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Box {
  int64_t s0, t0, s1, t1;
};

Box box_of(const MutualInformationProblem& problem, int64_t b) {
  if (problem.boundary == nullptr) return {0, 0, problem.S, problem.T};
  const int64_t* const row = problem.boundary + 4 * b;
  return {row[0], row[1], row[2], row[3]};
}

double log_add(double x, double y) {
  const bool is_greater = x < y;
  const double larger = is_greater ? y : x, difference = (is_greater ? x : y) - larger;
  return difference >= -15.9423847 ? larger + std::log1p(std::exp(difference)) : larger;
}

// The factor of a step from a cell to the next one.
double share(float from, float score, float next) {
  const float least = -1e30F;
  const float exponent = (from < least ? least : from) + score - (next < least ? least : next);
  const double value = std::exp(double{exponent});
  // NaN is in no range.
  return std::numeric_limits<float>::min() <= value && value <= std::numeric_limits<float>::max() ? value : 0;
}

}  // namespace

void mutual_information_forward(const MutualInformationProblem& problem, float* p, float* ans) {
  const int64_t S = problem.S, T = problem.T;
  for (int64_t b = 0; b < problem.B; ++b) {
    const auto [s0, t0, s1, t1] = box_of(problem, b);
    ans[b] = 0;
    for (int64_t s = s0; s <= s1; ++s) {
      for (int64_t t = t0; t <= t1; ++t) {
        const auto cell = [&](int64_t i, int64_t j) -> float& { return p[(b * (S + 1) + i) * (T + 1) + j]; };
        const double x = s > s0 ? double{cell(s - 1, t)} + problem.px[(b * S + s - 1) * (T + 1) + t] : -kInfinity;
        const double y = t > t0 ? double{cell(s, t - 1)} + problem.py[(b * (S + 1) + s) * T + t - 1] : -kInfinity;
        cell(s, t) = s == s0 && t == t0 ? 0 : static_cast<float>(log_add(x, y));
        ans[b] = cell(s, t);
      }
    }
  }
}

void mutual_information_backward(const MutualInformationProblem& problem, const float* p, float* ans_grad,
                                 bool overwrites, float* px_grad, float* py_grad) {
  const int64_t S = problem.S, T = problem.T, cells = (S + 1) * (T + 1);
  std::fill_n(px_grad, problem.B * S * (T + 1), 0.0F);
  std::fill_n(py_grad, problem.B * (S + 1) * T, 0.0F);
  std::vector<float> grads(static_cast<size_t>(cells));
  for (int64_t b = 0; b < problem.B; ++b) {
    const auto [s0, t0, s1, t1] = box_of(problem, b);
    const auto p_at = [&](int64_t s, int64_t t) { return p[b * cells + s * (T + 1) + t]; };
    const auto grad = [&](int64_t s, int64_t t) -> float& { return grads[static_cast<size_t>(s * (T + 1) + t)]; };
    for (int64_t s = s1; s >= s0; --s) {
      for (int64_t t = t1; t >= t0; --t) {
        float along_s = 0, along_t = 0;
        if (s < s1) {
          const int64_t i = (b * S + s) * (T + 1) + t;
          along_s = static_cast<float>(grad(s + 1, t) * share(p_at(s, t), problem.px[i], p_at(s + 1, t)));
          px_grad[i] = along_s;
        }
        if (t < t1) {
          const int64_t i = (b * (S + 1) + s) * T + t;
          along_t = static_cast<float>(grad(s, t + 1) * share(p_at(s, t), problem.py[i], p_at(s, t + 1)));
          py_grad[i] = along_t;
        }
        grad(s, t) = s == s1 && t == t1 ? ans_grad[b] : along_s + along_t;
      }
    }
    if (overwrites && s0 <= s1 && t0 <= t1) ans_grad[b] = grad(s0, t0);
  }
}

}  // namespace mluop::reference
