// The interface of the measured cases. A case is an operator or a network on one input, in one data type, with one
// algorithm.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "case/api.h"
#include "case/operators.h"
#include "perf/support/measures.h"

namespace mluop::perf {

class NpyFolder;

// The compulsory work of a call: bytes of the inputs that the result depends on and of the outputs, each counted
// once, and floating-point operations. Independent of the implementation.
using cases::Work;

// Another implementation of the operator, for speed-ups.
struct Baseline {
  std::string name;  // "serial": the serial loop of the definition
  // Reads the inputs of the case and writes separate outputs. Valid during the life of the case.
  std::function<void()> run;
};

// The memory of a call.
struct Memory {
  int64_t tensor_bytes, workspace_bytes;
  int64_t resident_growth = 0;  // growth of the process during the first call of a handle
};

// A prepared case: inputs, outputs and handle. Every function may throw.
class Case {
 public:
  explicit Case(mluOpOmpAlgorithm_t algorithm) : algorithm_(algorithm) { handle_.emplace(algorithm); }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;
  virtual ~Case() = default;

  virtual Work work() const = 0;

  // The largest input in bytes, which the stream bound reads too.
  virtual std::span<const std::byte> largest_input() const { return {}; }

  // Writes the inputs, named after the parameters of the operator.
  virtual void write_inputs(const NpyFolder& folder) const = 0;

  // Calls the operator once.
  virtual void run() = 0;

  // The handle of the calls, with the algorithm of the case.
  mluOpHandle_t handle() const { return *handle_; }

  // Makes the next call the first call of its handle.
  void renew_handle() { handle_.emplace(algorithm_); }

  virtual std::vector<Baseline> baselines() = 0;

  // Returns a function that runs only the steps that the algorithm cannot avoid: on the inputs of the case, with
  // everything else prepared. The values that it writes are unspecified. Valid during the life of the case; empty
  // if the case has no algorithmic bound, as with the device algorithm.
  virtual std::function<void()> algorithmic_bound() { return {}; }

  // The operators of a call, with the seconds of each in every call so far. Empty if the call is a single
  // operator.
  virtual std::vector<NamedSamples> steps() const { return {}; }

  // Memory that the caller provides. Set by cases whose memory is measured.
  virtual std::optional<Memory> memory() const { return std::nullopt; }

  // Fills the outputs with invalid values, calls the operator and compares with the oracle. Returns an empty
  // string if they agree, otherwise a description of the difference.
  virtual std::string verify() = 0;

  // Checksum of the outputs of the last call.
  virtual uint64_t checksum() const = 0;

 protected:
  mluOpOmpAlgorithm_t algorithm() const { return algorithm_; }
  bool is_native() const { return algorithm_ == MLUOP_OMP_ALGORITHM_NATIVE; }

 private:
  mluOpOmpAlgorithm_t algorithm_;
  std::optional<cases::Handle> handle_;
};

// A dimension at `size` times the network size.
inline int64_t scaled(int64_t extent, double size) {
  return std::max<int64_t>(std::llround(static_cast<double>(extent) * size), 1);
}

// Pseudo-operator of the cases that compare hostile distributions of indices with friendly ones of the same size.
// Selected only if a filter names it.
inline constexpr auto kCliffs = "cliffs";

// Pseudo-operator of the networks. A call of a network is several calls of the library.
inline constexpr auto kNetworks = "networks";

// algorithm: "native" or "device".
struct CaseName {
  std::string op, name, dtype, algorithm;
};

// A case by name. prepare(size) allocates and generates the case with its work multiplied by `size`, for the
// current thread_count(); only the measured case holds memory.
struct CaseSpec : CaseName {
  std::function<std::unique_ptr<Case>(double size)> prepare;
  bool represents = false;  // the case represents its operator in runs of one case of each operator
};

}  // namespace mluop::perf
