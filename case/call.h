// A case with its tensors in memory, for calls of the library and of the oracle.
#pragma once

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "case/api.h"
#include "case/operators.h"
#include "case/strides.h"

namespace mluop::cases {

// Exactly `size` bytes, aligned to 64.
class Buffer {
 public:
  explicit Buffer(size_t size) : data_(static_cast<std::byte*>(::operator new(size, kAlignment))), size_(size) {}
  std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Release {
    void operator()(std::byte* data) const { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<std::byte, Release> data_;
  size_t size_;
};

// Rounds sums that the oracle has computed in double to the data type, as the definition requires: out of range
// they become infinity or zero.
void round_sums(Operand& output);

class LoadedCase {
 public:
  // Loads all tensors. Throws Problem if the case is invalid.
  explicit LoadedCase(const Case& the_case);

  const Operator& op() const { return op_; }
  const std::vector<BoundTensor>& bound() const { return bound_; }
  // The contents of tensor i before the call; the contents after it are empty if the case does not state them.
  const Bytes& before(size_t i) const { return before_[i]; }
  const Bytes& after(size_t i) const { return after_[i]; }

 private:
  friend class Run;
  const Case& case_;
  const Operator& op_;
  std::vector<BoundTensor> bound_;
  std::vector<Bytes> before_, after_;
};

// The arguments of calls, in separate memory. Elements are in row-major order; a call gets tensors with strides in
// other memory.
class Run {
 public:
  // algorithm: the algorithm of the handle. Throws Problem if a descriptor cannot be set.
  Run(const LoadedCase& loaded, mluOpOmpAlgorithm_t algorithm);

  // Queries the size of the workspace, allocates it and calls the operator. Throws CallFailed, also if the call
  // changes a gap between the elements of a tensor; Problem or Mismatch.
  void call();
  // Calls the operator again, on the results of the last call. Results of tensors with strides are not copied.
  void repeat();
  // Computes the outputs with the oracle instead, for arguments that a call has accepted.
  void expect();

  const Operand& operator[](size_t i) const { return arguments_[i]; }
  const Arguments& arguments() const { return arguments_; }

 private:
  const LoadedCase& loaded_;
  Handle handle_;
  std::vector<Descriptor> descriptors_;
  std::vector<Buffer> buffers_;
  // By tensor; nothing for tensors without strides.
  struct Strided {
    StridedMemory memory;
    Buffer buffer;
  };
  std::vector<std::optional<Strided>> strided_;
  std::unique_ptr<Buffer> workspace_;
  // What the oracle and the library receive.
  Arguments arguments_, passed_;
};

// The oracle's results by tensor of the operator; empty for tensors that it does not write. If the library rejects
// the arguments, throws what Run::call() throws.
std::vector<Bytes> oracle_results(const LoadedCase& loaded);

}  // namespace mluop::cases
