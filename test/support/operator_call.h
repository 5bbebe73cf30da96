// A call of an operator in guarded memory, made from a case: its arguments as named in the operator's description,
// which tests change and run.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "case/call.h"
#include "case/strides.h"
#include "case/values.h"
#include "support/api.h"
#include "support/expected.h"
#include "support/guarded_buffer.h"

namespace mluop::test {

// A case generated for the operator with these sizes; the other sizes have their defaults.
cases::Case make_case(std::string_view op, mluOpDataType_t dtype, const std::map<std::string, int64_t>& sizes,
                      int32_t seed = 1);
// Replaces the elements of an input; floats, two for each complex element, are rounded to the data type of the
// tensor.
void set_values(cases::Case& made, std::string_view id, const std::vector<int32_t>& values);
void set_values(cases::Case& made, std::string_view id, const std::vector<float>& values);
// The numbers of the elements of an input.
std::vector<int32_t> int32s_of(const cases::Case& made, std::string_view id);
std::vector<float> floats_of(const cases::Case& made, std::string_view id);

class OperatorCall {
 public:
  // Inputs have the elements of the case. Outputs without elements in the case have a pattern that no result has.
  // The arguments hold elements in row-major order; run() passes tensors with strides in other guarded memory, and
  // copies their elements back. The workspace has the size that its query returns, or no bytes if the query
  // rejects the case.
  OperatorCall(mluOpHandle_t handle, const cases::Case& made, Placement placement = Placement::kAligned);
  OperatorCall(const OperatorCall&) = delete;
  OperatorCall& operator=(const OperatorCall&) = delete;

  mluOpStatus_t run() const;
  // Calls the workspace query of an operator that has one. A query that fails writes no size.
  mluOpStatus_t query() const;
  // Computes the outputs with the oracle instead of the library, for arguments that a call has accepted: expect
  // and expect_bits of cases::Operator.
  void expect();
  void expect_bits() { op_.expect_bits(arguments); }

  const cases::Operator& op() const { return op_; }
  cases::Operand& operator[](std::string_view id);
  const cases::Operand& operator[](std::string_view id) const;
  // Replaces the descriptor of a tensor.
  void use(std::string_view id, std::shared_ptr<Descriptor> desc);
  // The elements of an int32 tensor; the numbers of a float, half, bfloat16 or complex tensor.
  std::vector<int32_t> int32s(std::string_view id) const;
  std::vector<float> floats(std::string_view id) const;
  // The bytes of all tensors, which a failing call must not change, and a hash of them. The workspace is not
  // included.
  std::vector<std::byte> contents() const;
  size_t hash() const;
  // The bytes of the tensors that the call writes.
  std::vector<std::byte> outputs() const;
  // Whether the guard zones, and the gaps between the elements of tensors with strides, are unchanged.
  bool guards_intact() const;
  // Whether guards_intact(), and the inputs have the elements from the construction.
  bool intact() const;

  cases::Parameters parameters;  // of `arguments`
  cases::Arguments arguments;

 private:
  // A tensor with strides in memory.
  struct Strided {
    Strided(const cases::Tensor& tensor, bool is_written, Placement placement)
        : memory(tensor, is_written), buffer(memory.bytes(), cases::element_size(tensor.dtype), placement) {}

    cases::StridedMemory memory;
    GuardedMemory buffer;
  };

  const cases::Operator& op_;
  std::vector<std::shared_ptr<Descriptor>> descriptors_;
  std::vector<mluOpDataType_t> onchip_dtypes_;
  std::deque<GuardedMemory> tensors_, workspace_;
  std::map<size_t, Strided> strided_;  // by tensor
  std::vector<size_t> hashes_;         // of the initial contents
};

// The results of a case by its definition, computed on the first comparison.
class Oracle {
 public:
  Oracle(const cases::Case& made) : made_(made) {}  // NOLINT(google-explicit-constructor)

  const cases::Case& made() const { return made_; }
  // Whether the outputs of a call agree with the oracle: equal bits; sums that the oracle has in double, within
  // the error of fp32; other results, and sums of atomics, within the criteria of the operator.
  ::testing::AssertionResult agrees(const OperatorCall& found, mluOpOmpAlgorithm_t algorithm) const;

 private:
  const cases::Case& made_;
  mutable std::optional<Expected> expected_;
};

// Runs a case: a call that succeeds has the outputs of the oracle; any other call names an argument and changes no
// tensor. Returns whether the call succeeds.
bool expect_contract(const Oracle& oracle, mluOpOmpAlgorithm_t algorithm,
                     Placement placement = Placement::kAligned);

// Runs the case with each algorithm of the operator. Each call must succeed.
void expect_oracle(const Oracle& oracle, Placement placement = Placement::kAligned);

// Runs the case with 1, 2, 3, 7 and 64 threads, each with another placement.
void expect_oracle_everywhere(const Oracle& oracle);

}  // namespace mluop::test
