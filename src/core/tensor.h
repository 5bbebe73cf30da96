// The tensor descriptor and queries on it. A descriptor is a value: the functions of src/api/tensor_descriptor.cpp
// modify it, all other code reads it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mlu_op.h"

// Invariant: the product of the element size and the dimensions, each counted as at least 1, fits int64_t. The
// functions below therefore cannot overflow.
struct mluOpTensorStruct {
  mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY;
  mluOpDataType_t dtype = MLUOP_DTYPE_INVALID;
  int dim_count = 0;
  std::array<int64_t, MLUOP_DIM_MAX> dims{};
  std::array<int64_t, MLUOP_DIM_MAX> strides{};

  std::span<const int64_t> shape() const { return {dims.data(), static_cast<size_t>(dim_count)}; }
};

namespace mluop {

using TensorDescriptor = mluOpTensorStruct;

// A tensor of a call, without data in a workspace query. T: void or const void.
template <class T>
struct Passed {
  // Whether an optional tensor is absent: descriptor and data are null, or the shape is [0].
  bool is_missing() const {
    return desc == nullptr ? data == nullptr : desc->dim_count == 1 && desc->dims[0] == 0;
  }

  const TensorDescriptor* desc;
  T* data = nullptr;
};
using Input = Passed<const void>;
using Output = Passed<void>;

// Product of the dimensions; 0 without dimensions.
int64_t element_count(const TensorDescriptor& desc);

int64_t byte_count(const TensorDescriptor& desc);

// Whether the elements lie in row-major order without gaps. Strides of dimensions of size 1, and of empty tensors,
// are ignored.
bool is_contiguous(const TensorDescriptor& desc);

// Null-safe access for declarations that precede the null check: INVALID or 0 without a descriptor or dimension.
mluOpDataType_t dtype_of(const TensorDescriptor* desc);
int64_t dim_of(const TensorDescriptor* desc, int dim);
inline bool has_no_elements(const TensorDescriptor* desc) { return desc != nullptr && element_count(*desc) == 0; }

// Sets the strides of a contiguous tensor.
void set_contiguous_strides(TensorDescriptor& desc);

// "[2, 3]"
std::string shape_text(std::span<const int64_t> dims);

// "FLOAT [2, 3] ARRAY", for the log.
std::string describe(const TensorDescriptor& desc);

}  // namespace mluop
