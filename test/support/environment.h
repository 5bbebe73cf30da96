// Settings for the scope of a test, and seeded random numbers.
#pragma once

#include <omp.h>

#include <cstdlib>
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace mluop::test {

// Sets an environment variable, or removes it (null), until the end of the scope.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    apply(value);
  }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;
  ~ScopedEnvironment() { apply(before_ ? before_->c_str() : nullptr); }

 private:
  void apply(const char* value) {
    if (value != nullptr) {
      setenv(name_, value, 1);
    } else {
      unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> before_;
};

// Sets the number of OpenMP threads until the end of the scope.
class ScopedThreads {
 public:
  explicit ScopedThreads(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ScopedThreads(const ScopedThreads&) = delete;
  ScopedThreads& operator=(const ScopedThreads&) = delete;
  ~ScopedThreads() { omp_set_num_threads(before_); }

 private:
  int before_;
};

// A generator seeded with the name of the running test: the same numbers in every run, different numbers in every
// test.
inline std::mt19937 seeded_random() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string name = std::string(info->test_suite_name()) + "." + info->name();
  std::seed_seq seed(name.begin(), name.end());
  return std::mt19937(seed);
}

}  // namespace mluop::test
