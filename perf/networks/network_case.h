// A case that runs a network of test/networks: its forward pass, or forward and backward pass.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "networks/tensor.h"
#include "perf/ops/catalogue.h"
#include "perf/support/case.h"
#include "perf/support/step_times.h"
#include "perf/support/verify.h"

namespace mluop::perf {

enum class Passes { kForward, kTraining };

class NetworkCase : public Case {
 public:
  explicit NetworkCase(Passes passes) : Case(MLUOP_OMP_ALGORITHM_NATIVE), passes_(passes) {}
  // After the tensors of the derived class.
  ~NetworkCase() override { test::BlockCache::of_thread().release(); }

  std::vector<Baseline> baselines() override { return {}; }
  std::vector<NamedSamples> steps() const override { return times_.steps(); }

 protected:
  bool trains() const { return passes_ == Passes::kTraining; }
  StepTimes& times() { return times_; }

  // The tensors of the next call have invalid values at first. Call it after the results are destroyed.
  static void invalidate_memory() { test::BlockCache::of_thread().fill_freed(0xFF); }

  static int64_t bytes_of(const test::Matrix<float>& matrix) {
    return static_cast<int64_t>(matrix.values.size() * sizeof(float));
  }

  static std::string difference(std::string_view name, const test::Matrix<float>& found,
                                const test::Matrix<double>& expected) {
    if (found.rows != expected.rows || found.columns != expected.columns)
      return std::string(name) + " has another shape";
    return too_different(name, found.values, test::Matrix<float>(expected).values, kTolerance);
  }

  // The first difference of a list.
  static std::string first_of(const std::vector<std::string>& differences) {
    for (const std::string& each : differences) {
      if (!each.empty()) return each;
    }
    return {};
  }

 private:
  static constexpr double kTolerance = 1e-5;

  Passes passes_;
  StepTimes times_;
};

// "network forward" and "network training".
template <class Network>
std::vector<CaseSpec> forward_and_training(const std::string& name) {
  const auto spec = [&](const char* passes_name, Passes passes) {
    return CaseSpec{"networks", name + passes_name, "float", "native",
                    [passes](double size) { return std::make_unique<Network>(size, passes); }};
  };
  return {spec(" forward", Passes::kForward), spec(" training", Passes::kTraining)};
}

}  // namespace mluop::perf
