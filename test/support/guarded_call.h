// Base of the calls of the operators: the handle, and checks of the buffers that a call must not change.
#pragma once

#include <cstddef>
#include <vector>

#include "mlu_op.h"
#include "support/guarded_buffer.h"

namespace mluop::test {

// A function of the API that takes the arguments of a Call.
template <class Call>
struct ApiFunction {
  const char* name;
  mluOpStatus_t (Call::*run)() const;
};

class GuardedCall {
 public:
  GuardedCall(const GuardedCall&) = delete;
  GuardedCall& operator=(const GuardedCall&) = delete;

  // Whether all guard zones are intact and the inputs hold the values that the call was constructed with.
  bool intact() const;
  // Whether all guard zones are intact.
  bool guards_intact() const;
  // The bytes of all inputs and outputs, which a failing call must not change. The workspace is not among them.
  std::vector<std::byte> contents() const { return bytes_of(inputs_and_outputs_); }

  mluOpHandle_t handle;

 protected:
  using Buffers = std::vector<const GuardedMemory*>;

  explicit GuardedCall(mluOpHandle_t with) : handle(with) {}
  ~GuardedCall() = default;
  // Registers the buffers of the derived class. The inputs must have their values.
  void set_buffers(const Buffers& inputs, const Buffers& outputs, const Buffers& workspace = {});

 private:
  static std::vector<std::byte> bytes_of(const Buffers& buffers);

  Buffers inputs_, inputs_and_outputs_, all_;
  std::vector<std::byte> original_inputs_;
};

}  // namespace mluop::test
