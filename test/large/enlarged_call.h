// A call with tensors of more than 2^31 elements that are those of a small case, enlarged along axes: the slices
// of the small tensors are some of the slices of the large ones, all others are 0.
//
//   EnlargedCall call(small, {random_axis("feature", 300, 1'048'700, random)}, {{"indices", {"feature"}}},
//                     {"features"});
//   call.expect_result();
#pragma once

#include <random>
#include <string>
#include <vector>

#include "large/large_call.h"

namespace mluop::test {

struct LargeAxis {
  std::string name;             // cases::TensorRule::axes
  int64_t extent;               // of the large tensors
  std::vector<int64_t> places;  // of the slices of the small tensors, ascending
};
// `small` places: the last of `extent` and others.
LargeAxis random_axis(const std::string& name, int64_t small, int64_t extent, std::mt19937& random);

// A tensor of indices along axes: element i along axes[i / stride % axes.size()], "" if it is no index.
struct IndexTensor {
  std::string id;
  std::vector<std::string> axes;
  int64_t stride = 1;
};

class EnlargedCall : public LargeCall {
 public:
  // Negative indices stay; those past the extent of an axis remain past it. `negative` names tensors whose other
  // elements are -1. Parameters are those of the small case.
  EnlargedCall(const cases::Case& small, const std::vector<LargeAxis>& axes,
               const std::vector<IndexTensor>& indices, const Names& large, Names negative = {});

  // Runs the call, which must succeed, and checks every element against the oracle for the small case.
  void expect_result(mluOpOmpAlgorithm_t algorithm);
  // With each algorithm of the operator.
  void expect_result();

 private:
  void renumber(const IndexTensor& indices, const cases::Operand& tensor) const;
  // Calls run(small, large, bytes) and gap(large, bytes, value) for the bytes of large tensor i in order, as long
  // as they return true; `value` is that of the bytes between the slices of the small tensor. Returns the first
  // bytes for which they return false, else null.
  template <class Run, class Gap>
  const std::byte* walk(size_t i, const Run& run, const Gap& gap) const;

  Handle handle_;
  OperatorCall small_;
  std::vector<LargeAxis> axes_;
  Names negative_;
};

}  // namespace mluop::test
