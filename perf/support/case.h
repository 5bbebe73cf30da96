// What an operator brings to the perf suite: cases, each an operator on one input, in one data type and mode.
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
#include <vector>

#include "support/api.h"

namespace mluop::perf {

class NpyFolder;

// What a result takes at least, whatever an implementation really does: bytes of the inputs that it depends on and
// of the outputs, each once, and floating-point operations.
struct Work {
  int64_t read_bytes;
  int64_t write_bytes;
  int64_t ops;
};

// Another way to the result of a case, to compare the operator's speed with.
struct Baseline {
  std::string name;           // "serial": the serial loop of the definition
  std::function<void()> run;  // on the same inputs, into outputs of its own; valid as long as the case
};

// The memory of a call that its caller provides.
struct Footprint {
  int64_t tensor_bytes;
  int64_t workspace_bytes;
};

// A case in memory: inputs, outputs, handle. Every function may throw.
class Case {
 public:
  explicit Case(mluOpAtomicsMode_t mode = MLUOP_ATOMICS_NOT_ALLOWED) : mode_(mode) { handle_.emplace(mode); }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;
  virtual ~Case() = default;

  virtual Work work() const = 0;

  // The input that most of the bytes are read from, for the streaming twin to read as well.
  virtual std::span<const std::byte> largest_input() const { return {}; }

  // All that the operator is given, by the names of its parameters.
  virtual void write_inputs(const NpyFolder& folder) const = 0;

  // One call of the operator.
  virtual void run() = 0;

  // Makes the next call the first of its handle.
  void renew_handle() { handle_.emplace(mode_); }

  virtual std::vector<Baseline> baselines() = 0;

  // A loop that does only what no implementation can leave out that gives each element of the output one owner,
  // and so the same bits at any number of threads: over the case's own inputs, with all else prepared. What it
  // writes means nothing. Valid as long as the case; empty where there is none.
  virtual std::function<void()> floor() { return {}; }

  // Where the memory of a call is of interest.
  virtual std::optional<Footprint> footprint() const { return std::nullopt; }

  // Runs the operator on spoiled outputs and compares them with the oracle. Empty if they hold, else what is
  // wrong.
  virtual std::string verify() = 0;

  // Of the operator's outputs, as its last run left them.
  virtual uint64_t checksum() const = 0;

 protected:
  mluOpHandle_t handle() const { return *handle_; }

 private:
  mluOpAtomicsMode_t mode_;
  std::optional<test::Handle> handle_;
};

// What becomes of a dimension of a case at `size` times its own size.
inline int64_t scaled(int64_t extent, double size) {
  return std::max<int64_t>(std::llround(static_cast<double>(extent) * size), 1);
}

// A case by name. prepare(size) allocates and generates, with the operator's work multiplied by `size`; so only
// the case at work holds memory. It is for as many threads as there are at that time.
struct CaseSpec {
  std::string op;
  std::string name;
  std::string dtype;
  std::string mode;
  std::function<std::unique_ptr<Case>(double size)> prepare;
};

}  // namespace mluop::perf
