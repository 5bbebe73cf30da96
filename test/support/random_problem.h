// Random problems for tests of properties: sizes, teams, and values that every order of additions sums exactly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "support/element.h"
#include "support/environment.h"

namespace mluop::test {

// A number from 1 to `max`. Half of the numbers are next to a multiple of 8, where vectors begin and end.
inline int random_size(std::mt19937& random, int max) {
  const int any = 1 + static_cast<int>(random() % static_cast<uint32_t>(max));
  if (random() % 2 == 0) return any;
  return std::clamp(any / 8 * 8 + static_cast<int>(random() % 3) - 1, 1, max);
}

// An integer from -limit to limit.
inline int random_integer(std::mt19937& random, int limit) {
  return static_cast<int>(random() % static_cast<uint32_t>(2 * limit + 1)) - limit;
}

template <class T>
std::vector<T> random_integers(size_t count, std::mt19937& random, int limit) {
  std::vector<T> values;
  values.reserve(count);
  for (size_t i = 0; i < count; ++i) values.push_back(rounded_to<T>(random_integer(random, limit)));
  return values;
}

// The numbers from 0 to count - 1 in random order (Fisher-Yates; std::shuffle differs between C++ libraries).
inline std::vector<int32_t> random_permutation(int count, std::mt19937& random) {
  std::vector<int32_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

// 1 to 7 OpenMP threads and one of three NRAM sizes, until the end of the scope.
class RandomTeam {
 public:
  explicit RandomTeam(std::mt19937& random)
      : threads_(1 + static_cast<int>(random() % 7)), nram_("MLUOP_OMP_NRAM_KB", kNramKib[random() % 3]) {}

 private:
  static constexpr const char* kNramKib[] = {"64", "384", "640"};
  ScopedThreads threads_;
  ScopedEnvironment nram_;
};

}  // namespace mluop::test
