// Tensors with strides. The elements of a case are in row-major order; a call gets them in memory with the strides
// of the tensor. The elements between, the gaps, hold a pattern that no call may change.
#pragma once

#include <cstddef>
#include <string>

#include "case/api.h"
#include "case/model.h"

namespace mluop::cases {

// Whether elements do not lie in row-major order without gaps. Strides of dimensions of size 1, and of empty
// tensors, are ignored.
bool is_strided(const Tensor& tensor);

// Where the elements of a strided tensor lie. Cost of each function: one pass over the elements.
class StridedMemory {
 public:
  // is_written: whether the call writes the tensor; the patterns differ, so that a copied gap is a change. Throws
  // Problem if the strides are invalid.
  explicit StridedMemory(const Tensor& tensor, bool is_written = false);

  size_t bytes() const { return bytes_; }
  // Fills the gaps with the pattern, and copies the elements to their places.
  void scatter(const std::byte* packed, std::byte* memory) const;
  // Copies the elements back to row-major order.
  void gather(const std::byte* memory, std::byte* packed) const;
  bool has_intact_gaps(const std::byte* memory) const;

 private:
  // Calls visit(offset in memory, offset in row-major order) for each element, in bytes.
  template <class Visit>
  void for_each(const Visit& visit) const;

  Dims dims_, strides_;
  size_t element_, bytes_;
  std::byte gap_;
};

// Strides of a tensor whose dimensions lie in memory in `order`, the outermost first. Neighbours along the
// innermost are `step` elements apart; `gap` elements follow each run of it. Throws Problem if a stride exceeds
// int64.
Dims strides_in_order(const Dims& dims, const std::vector<size_t>& order, int64_t step = 1, int64_t gap = 0);

// The strides of a tensor whose shape becomes `dims`: the same order in memory and the same gaps. Empty, i.e.
// contiguous, if the tensor is contiguous or the number of dimensions differs. Throws Problem likewise.
Dims strides_for(const Tensor& tensor, const Dims& dims);

// The descriptor of a tensor, with its strides and its on-chip type. Throws Problem if it cannot be set.
Descriptor descriptor_of(const Tensor& tensor);

}  // namespace mluop::cases
