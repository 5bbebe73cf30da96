// Random numbers that are the same with every C++ library.
#pragma once

#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "support/environment.h"

namespace mluop::test {

// Integers from -limit to limit, whose sums are exact in every order.
template <class T>
std::vector<T> random_integers(size_t count, std::mt19937& random, int limit) {
  std::vector<T> values(count);
  for (T& value : values) {
    value = static_cast<T>(static_cast<int>(random() % static_cast<uint32_t>(2 * limit + 1)) - limit);
  }
  return values;
}

// The numbers from 0 to count - 1 in random order (Fisher-Yates).
inline std::vector<int32_t> random_permutation(int count, std::mt19937& random) {
  std::vector<int32_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

}  // namespace mluop::test
