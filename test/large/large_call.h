// A call with tensors of more than 2^31 elements, made of a small case by enlarging axes: some slices of the large
// tensors are the slices of the small tensors, all others are 0.
//
//   LargeCall({.small = make_case("three_interpolate_forward", MLUOP_DTYPE_HALF, {{"c", 1024}, {"m", 140}}),
//              .axes = {random_axis("feature", 140, 1'048'700)},
//              .indices = {{"indices", {"feature"}}},
//              .large = {"features"}})
//       .expect_result();
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "large/large_memory.h"
#include "support/environment.h"
#include "support/operator_call.h"
#include "support/trace.h"

namespace mluop::test {

struct LargeAxis {
  std::string name;             // cases::TensorRule::axes
  int64_t extent;               // of the large tensors
  std::vector<int64_t> places;  // of the slices of the small tensors, ascending
};
// `small` places from `first` on.
LargeAxis consecutive_axis(const std::string& name, int64_t small, int64_t extent, int64_t first = 0);
// The last of `extent` places, and random others.
LargeAxis random_axis(const std::string& name, int64_t small, int64_t extent);

// A tensor of indices along axes: element i is an index along axes[i / stride % axes.size()], "" if it is not an
// index. Negative indices do not change; indices past the extent of an axis remain past the extent.
struct IndexTensor {
  std::string id;
  std::vector<std::string> axes;
  int64_t stride = 1;
};

struct Enlargement {
  using Names = std::vector<std::string_view>;

  cases::Case small;
  std::vector<LargeAxis> axes;
  std::vector<IndexTensor> indices = {};
  Names large;  // the tensors that must have more than 2^31 elements
  // Tensors whose other slices along the last enlarged axis are the first slice of the small tensor.
  Names repeated = {};
  Names negative = {};                             // tensors whose other elements are -1
  std::map<std::string, int64_t> parameters = {};  // that differ from the small case
};

class LargeCall {
 public:
  explicit LargeCall(const Enlargement& enlargement);
  LargeCall(const LargeCall&) = delete;
  LargeCall& operator=(const LargeCall&) = delete;

  const cases::Operand& operator[](std::string_view id) const;
  template <class T>
  T* data(std::string_view id) const {
    return (*this)[id].as<T>();
  }

  // Poisons the outputs and runs the call with two threads.
  mluOpStatus_t run(mluOpOmpAlgorithm_t algorithm = MLUOP_OMP_ALGORITHM_NATIVE);
  // Runs the call, which must succeed, and checks every element against the oracle for the small case.
  void expect_result(mluOpOmpAlgorithm_t algorithm);
  // Runs expect_result() with each algorithm of the operator.
  void expect_result();
  // Runs the call, which must fail with this message after "[<function>] ".
  void expect_error(mluOpOmpAlgorithm_t algorithm, mluOpStatus_t status, const std::string& message);

 private:
  const LargeAxis* find_axis(const std::string& name) const;
  void enlarge(size_t i);
  void renumber(const IndexTensor& indices) const;
  // Calls visit(pattern, memory, bytes) for the bytes of large tensor i in order, as long as visit returns true;
  // the bytes must be repetitions of the pattern. Returns the bytes for which visit returns false, else null.
  template <class Visit>
  const std::byte* walk(size_t i, const Visit& visit) const;

  const Enlargement enlargement_;
  cases::Parameters parameters_;
  const Handle handle_;
  OperatorCall small_;
  const cases::Operator& op_;
  ScopedThreads threads_{2};
  std::deque<Descriptor> descriptors_;
  std::deque<LargeMemory> memories_;
  cases::Arguments arguments_;
};

}  // namespace mluop::test
