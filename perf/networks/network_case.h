// A case that runs a network of test/networks: its forward pass, or forward and backward pass.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "case/networks/operators.h"
#include "case/networks/tensor.h"
#include "perf/networks/parallel_layers.h"
#include "perf/support/case.h"
#include "perf/support/npy_folder.h"
#include "perf/support/step_times.h"
#include "perf/support/verify.h"

namespace mluop::perf {

// Seeds the inputs and parameters of the networks.
inline constexpr uint32_t kNetworkSeed = 1;

// Times each operator.
class TimedLibrary : public networks::Library {
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

// Network: a type for which test/networks has an overload of compute().
template <class Network>
class NetworkCase : public Case {
 public:
  // Runs the network once, because work() depends on results.
  NetworkCase(Network network, bool trains)
      : Case(MLUOP_OMP_ALGORITHM_NATIVE), network_(std::move(network)), trains_(trains) {
    run();
  }

  std::vector<Baseline> baselines() override { return {}; }
  std::vector<NamedSamples> steps() const override { return times_.steps(); }

  void run() final {
    times_.begin_call();
    result_ = {};
    result_ = compute(network_, TimedLibrary(handle(), times_), trains_, ParallelLayers());
  }

  std::string verify() override {
    run_on_invalid_memory();
    return difference(result_, compute(network_, networks::Oracles(), trains_));
  }

  uint64_t checksum() const override {
    const networks::Matrix gradient = trains_ ? result_.gradients.front().second : networks::Matrix();
    return checksum_bytes(bytes(result_.output), checksum_bytes(bytes(gradient)));
  }

 private:
  // Returns freed memory to the system; destroyed after the tensors.
  struct MemoryOfTensors {
    ~MemoryOfTensors() { networks::BlockCache::of_thread().release(); }
  } memory_;

 protected:
  // Runs with tensors that hold invalid values before the call.
  void run_on_invalid_memory() {
    result_ = {};
    networks::BlockCache::of_thread().fill_freed(0xFF);
    run();
  }

  static std::span<const std::byte> bytes(const networks::Matrix& matrix) {
    return std::as_bytes(std::span(matrix.values));
  }
  static int64_t byte_count(const networks::Matrix& matrix) { return std::ssize(bytes(matrix)); }
  // Arguments: of a forward pass, plus the bytes of the output's gradient. A backward pass also reads this
  // gradient, writes the gradients of the inputs, and has twice the operations.
  Work work_of(int64_t input_bytes, int64_t output_bytes, int64_t grad_output_bytes, int64_t ops) const {
    Work work{input_bytes, output_bytes, ops};
    if (!trains_) return work;
    work.read_bytes += grad_output_bytes;
    for (const auto& [name, gradient] : result_.gradients) work.write_bytes += byte_count(gradient);
    work.ops *= 3;
    return work;
  }

  static void write(const NpyFolder& folder, const std::string& name, const std::vector<int64_t>& shape,
                    const networks::Matrix& matrix) {
    folder.write(name, shape, std::span<const float>(matrix.values));
  }
  void write_training(const NpyFolder& folder) const { folder.write("training", {trains_ ? 1 : 0}); }

  // The first difference of the results; empty: they agree.
  static std::string difference(const networks::Result& found, const networks::Result& expected) {
    if (found.indices != expected.indices) return "indices differ";
    std::string first = difference("output", found.output, expected.output);
    for (size_t i = 0; i < expected.gradients.size() && first.empty(); ++i) {
      const auto& [name, gradient] = expected.gradients[i];
      first = difference("grad_" + name, found.gradients.at(i).second, gradient);
    }
    return first;
  }

  Network network_;
  const bool trains_;
  networks::Result result_;

 private:
  static constexpr double kTolerance = 1e-5;

  static std::string difference(const std::string& name, const networks::Matrix& found,
                                const networks::Matrix& expected) {
    if (found.rows != expected.rows || found.columns != expected.columns) return name + " has another shape";
    return too_different(name, found.values, expected.values, kTolerance);
  }

  StepTimes times_;
};

// "network forward" and "network training".
template <class Network>
std::vector<CaseSpec> forward_and_training(const std::string& name) {
  std::vector<CaseSpec> specs;
  for (const bool trains : {false, true}) {
    specs.push_back({{kNetworks, name + (trains ? " training" : " forward"), "float", "native"},
                     [trains](double size) { return std::make_unique<Network>(size, trains); }});
  }
  return specs;
}

}  // namespace mluop::perf
