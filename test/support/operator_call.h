// A call of an operator in guarded memory, made from a case: the arguments that its description names, which tests
// change and run.
#pragma once

#include <cstddef>
#include <deque>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "case/call.h"
#include "support/api.h"
#include "support/guarded_buffer.h"

namespace mluop::test {

class OperatorCall {
 public:
  // Inputs hold what the case states. Outputs of which it states nothing hold a pattern that no result has. The
  // workspace has the size that its query returns, and none if the query refuses the case.
  OperatorCall(mluOpHandle_t handle, const cases::Case& made, Placement placement = Placement::kAligned);
  OperatorCall(const OperatorCall&) = delete;
  OperatorCall& operator=(const OperatorCall&) = delete;

  mluOpStatus_t run() const { return op_.run(arguments); }
  // The workspace query of an operator that has one.
  mluOpStatus_t query() const;
  // Computes the outputs with the oracle instead, of arguments that a call has accepted.
  void expect();

  const cases::Operator& op() const { return op_; }
  cases::Operand& operator[](std::string_view id);
  // The bytes of all tensors, which a failing call must not change. The workspace is not among them.
  std::vector<std::byte> contents() const;
  // The bytes of the tensors that the call writes.
  std::vector<std::byte> outputs() const;
  bool guards_intact() const;
  // Whether all guard zones are intact and the inputs hold what the call was constructed with.
  bool intact() const;

  cases::Parameters parameters;  // those of `arguments`
  cases::Arguments arguments;

 private:
  const GuardedMemory& add(size_t bytes, size_t element_size, Placement placement);

  const cases::Operator& op_;
  std::deque<Descriptor> descriptors_;
  std::deque<GuardedMemory> tensors_, workspace_;
  std::vector<std::vector<std::byte>> inputs_;  // initial contents; empty for tensors that the call writes
};

// Whether the outputs of a call are those of the oracle: their bits; sums, of which the oracle has those in double,
// within the error of fp32; sums of atomics within the criteria of the operator.
::testing::AssertionResult agrees(const OperatorCall& found, const cases::Case& made,
                                  mluOpOmpAlgorithm_t algorithm);

// Runs a case and the oracle: a call that succeeds has the outputs of the oracle; any other call names an argument
// and changes nothing. Returns whether the call succeeds.
bool expect_contract(const cases::Case& made, mluOpOmpAlgorithm_t algorithm,
                     Placement placement = Placement::kAligned);

}  // namespace mluop::test
