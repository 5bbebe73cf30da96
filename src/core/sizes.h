// Size arithmetic: overflow-checked products and sums, and rounding.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

namespace mluop {

// a * b, or nullopt if it does not fit int64_t.
inline std::optional<int64_t> checked_product(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// The product, or INT64_MAX if it exceeds int64_t.
inline int64_t saturated_product(std::initializer_list<int64_t> factors) {
  std::optional<int64_t> product = 1;
  for (const int64_t factor : factors) {
    if (product) product = checked_product(*product, factor);
  }
  return product.value_or(INT64_MAX);
}

// a + b, or nullopt if it does not fit int64_t.
inline std::optional<int64_t> checked_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

// An approximate byte count for decisions, computed in double because it may exceed int64_t: exact below 2^53,
// limited to 2^62.
inline int64_t saturated(double bytes) { return static_cast<int64_t>(std::min(bytes, 0x1p62)); }

// For non-negative numbers. Overflows only if the result does.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

constexpr int64_t round_up(int64_t a, int64_t multiple) { return ceil_div(a, multiple) * multiple; }

}  // namespace mluop
