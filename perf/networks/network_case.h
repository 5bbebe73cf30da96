// A case that runs a network of test/networks: its forward pass, or forward and backward pass.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "networks/operators.h"
#include "networks/tensor.h"
#include "perf/networks/parallel_layers.h"
#include "perf/ops/catalogue.h"
#include "perf/support/case.h"
#include "perf/support/npy_folder.h"
#include "perf/support/step_times.h"
#include "perf/support/verify.h"

namespace mluop::perf {

enum class Passes { kForward, kTraining };

// Of the random numbers that networks are made of.
inline constexpr uint32_t kNetworkSeed = 1;

// Times each operator.
class TimedLibrary : public test::Library {
 public:
  TimedLibrary(mluOpHandle_t of_case, StepTimes& times) : Library(of_case), times_(times) {}

 protected:
  void run(const cases::Operator& op, cases::Arguments& arguments) const override {
    times_.time(op.name, [&] {
      Library::run(op, arguments);
      return true;
    });
  }

 private:
  StepTimes& times_;
};

// Network: what compute() of test/networks has an overload for.
template <class Network>
class NetworkCase : public Case {
 public:
  // Runs the network once: work() depends on results.
  NetworkCase(Network network, Passes passes)
      : Case(MLUOP_OMP_ALGORITHM_NATIVE), network_(std::move(network)), passes_(passes) {
    run();
  }

  std::vector<Baseline> baselines() override { return {}; }
  std::vector<NamedSamples> steps() const override { return times_.steps(); }

  void run() final {
    times_.begin_call();
    result_ = {};
    result_ = compute(network_, TimedLibrary(handle(), times_), trains(), ParallelLayers());
  }

  std::string verify() override {
    run_on_invalid_memory();
    return difference(result_, compute(network_, test::Oracles(), trains()));
  }

  uint64_t checksum() const override {
    const uint64_t of_gradient =
        trains() ? checksum_bytes(bytes(result_.gradients.front().second)) : kEmptyChecksum;
    return checksum_bytes(bytes(result_.output), of_gradient);
  }

 protected:
  using Result = test::Result;

  bool trains() const { return passes_ == Passes::kTraining; }
  Network& network() { return network_; }
  const Network& network() const { return network_; }
  Result& result() { return result_; }
  const Result& result() const { return result_; }

  // The tensors of the call have invalid values at first.
  void run_on_invalid_memory() {
    result_ = {};
    test::BlockCache::of_thread().fill_freed(0xFF);
    run();
  }

  static std::span<const std::byte> bytes(const test::Matrix& matrix) {
    return std::as_bytes(std::span(matrix.values));
  }
  static int64_t byte_count(const test::Matrix& matrix) { return std::ssize(bytes(matrix)); }
  int64_t gradient_bytes() const {
    int64_t sum = 0;
    for (const auto& [name, gradient] : result_.gradients) sum += byte_count(gradient);
    return sum;
  }

  static void write(const NpyFolder& folder, const std::string& name, const std::vector<int64_t>& shape,
                    const test::Matrix& matrix) {
    folder.write(name, shape, std::span<const float>(matrix.values));
  }
  void write_training(const NpyFolder& folder) const { folder.write("training", {trains() ? 1 : 0}); }

  // The first difference of the results; empty: they agree.
  static std::string difference(const Result& found, const Result& expected) {
    if (found.indices != expected.indices) return "indices differ";
    std::string first = difference("output", found.output, expected.output);
    for (size_t i = 0; i < expected.gradients.size() && first.empty(); ++i) {
      const auto& [name, gradient] = expected.gradients[i];
      first = difference("grad_" + name, found.gradients.at(i).second, gradient);
    }
    return first;
  }

 private:
  static constexpr double kTolerance = 1e-5;

  static std::string difference(const std::string& name, const test::Matrix& found, const test::Matrix& expected) {
    if (found.rows != expected.rows || found.columns != expected.columns) return name + " has another shape";
    return too_different(name, found.values, expected.values, kTolerance);
  }

  // Returns the memory of the tensors, which are destroyed before.
  struct MemoryOfTensors {
    ~MemoryOfTensors() { test::BlockCache::of_thread().release(); }
  } memory_;
  Network network_;
  Passes passes_;
  StepTimes times_;
  Result result_;
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
