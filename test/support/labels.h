// Labels of tests. An entry of ctest leaves out the tests with the labels in MLUOP_TEST_WITHOUT ("slow,once").
#pragma once

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace mluop::test {

enum class Label {
  kNetworkSize,  // sizes of networks: minutes with a sanitizer
  kManyThreads,  // many numbers of threads: other tests execute the same lines
  kOnce,         // independent of the instruction set
  kSlow,         // minutes in an emulator or with a sanitizer
  kNotEmulated,  // other tests run the same kernels; the longest in an emulator
  kBfloat16,     // without AVX512-BF16 it shares the loops of half; CoreElement tests conversions
};

inline bool is_left_out(std::initializer_list<Label> labels) {
  constexpr const char* kNames[] = {"network_size", "many_threads", "once", "slow", "not_emulated", "bfloat16"};
  const char* without = std::getenv("MLUOP_TEST_WITHOUT");
  std::istringstream names(without == nullptr ? "" : without);
  for (std::string name; std::getline(names, name, ',');) {
    const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
    if (found == std::end(kNames)) ADD_FAILURE() << "MLUOP_TEST_WITHOUT: unknown label " << name;
    const auto label = static_cast<Label>(found - std::begin(kNames));
    if (std::count(labels.begin(), labels.end(), label) > 0) return true;
  }
  return false;
}

}  // namespace mluop::test

// The first statement of a test with labels.
#define MLUOP_LABELS(...)                                      \
  do {                                                         \
    using enum mluop::test::Label;                             \
    if (mluop::test::is_left_out({__VA_ARGS__})) GTEST_SKIP(); \
  } while (false)
