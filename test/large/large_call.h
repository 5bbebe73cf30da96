// A call of an operator with tensors of more than 2^31 elements, made from its description:
//
//   LargeCall call(make_large("ball_query", MLUOP_DTYPE_FLOAT, {{"m", 5'600}, {"nsample", 192'000}}), {"idx"});
//   call.expect_each(centers, [&](int64_t m) { return call.slices_agree({{{0, m}}, {{0}}, {{0, m}}}); });
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "large/large_memory.h"
#include "support/environment.h"
#include "support/operator_call.h"
#include "support/trace.h"

namespace mluop::test {

// A case of these sizes; the others have their defaults. It describes random inputs of many elements.
cases::Case make_large(std::string_view op, mluOpDataType_t dtype, const std::map<std::string, int64_t>& sizes);

// `count` slices of a tensor: index states the leading indices of the first. An empty index: the tensor.
struct Slice {
  cases::Dims index = {};
  int64_t count = 1;
};

class LargeCall {
 public:
  using Names = std::vector<std::string_view>;
  using Holds = std::function<bool(int64_t)>;

  // `large` names tensors that must have more than 2^31 elements. Inputs hold what the case states; those without
  // a source and random ones of more than 2^20 elements hold zeros in sparse pages. Dense are outputs, whose
  // contents each run replaces, and the inputs that `dense` names, whose contents are unspecified.
  LargeCall(const cases::Case& made, const Names& large, const Names& dense = {});
  LargeCall(const LargeCall&) = delete;
  LargeCall& operator=(const LargeCall&) = delete;
  ~LargeCall();

  std::vector<mluOpOmpAlgorithm_t> algorithms() const;
  const cases::Operator& op() const { return op_; }
  const cases::Operand& operator[](std::string_view id) const;
  template <class T>
  T* data(std::string_view id) const {
    return (*this)[id].as<T>();
  }

  // Poisons the outputs and runs the call with two threads.
  mluOpStatus_t run(mluOpOmpAlgorithm_t algorithm);
  // Runs the call, which must succeed, and checks holds(i) for each i in [0, count).
  void expect_each(mluOpOmpAlgorithm_t algorithm, int64_t count, const Holds& holds);
  // Runs it with each algorithm of the operator.
  void expect_each(int64_t count, const Holds& holds);
  // Runs it with each algorithm of the operator: it must fail with this message, which follows "[<function>] ".
  void expect_error(mluOpStatus_t status, const std::string& message);
  void expect_error(mluOpOmpAlgorithm_t algorithm, mluOpStatus_t status, const std::string& message);

  // Whether the slices of the outputs are what the oracle computes of the slices of the inputs. Floating-point
  // results are compared by value, copies by their bits. `slices` are in the order of the tensors.
  bool slices_agree(const std::vector<Slice>& slices) const;

  cases::Parameters parameters;  // those of `arguments`
  cases::Arguments arguments;

 private:
  const cases::Operator& op_;
  ScopedThreads threads_{2};
  std::vector<std::unique_ptr<Descriptor>> descriptors_;
  std::vector<std::unique_ptr<LargeMemory>> memories_;
};

}  // namespace mluop::test
