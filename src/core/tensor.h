// The tensor descriptor and queries on it. A descriptor is a value: the functions of src/api/tensor_descriptor.cpp
// modify it, all other code reads it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mlu_op.h"

// Invariant: the bytes of all elements, and the bytes from the first to the last element, each dimension counted
// as at least 1, fit int64_t. The functions below therefore cannot overflow.
struct mluOpTensorStruct {
  mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY;
  mluOpDataType_t dtype = MLUOP_DTYPE_INVALID;
  int dim_count = 0;
  std::array<int64_t, MLUOP_DIM_MAX> dims{};
  std::array<int64_t, MLUOP_DIM_MAX> strides{};
  bool is_scalar = false;  // set with 0 dimensions: one element
  mluOpDataType_t onchip_dtype = MLUOP_DTYPE_INVALID;
  // The factors of a quantization, which no operator reads.
  int position = 0;
  float scale = 1;
  int offset = 0;
  mluOpPointerMode_t pointer_mode = MLUOP_POINTER_MODE_DEVICE;

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

// Product of the dimensions; without dimensions 1 for a scalar, else 0.
int64_t element_count(const TensorDescriptor& desc);

int64_t byte_count(const TensorDescriptor& desc);

// The strides that a call accepts. All of them accept contiguous tensors.
enum class Strides {
  kContiguous,
  // The tensors have equal shapes and equal strides, which fill memory without gaps in any order of the
  // dimensions; the strides of tensors with one element are ignored.
  kDense,
  // Any strides; the elements of an output lie at distinct places.
  kAny,
};

// Strides of dimensions of size 1, and of empty tensors, are ignored.

// The elements of memory from the first to the last element of the tensor; 0 if the tensor is empty.
int64_t span_count(const TensorDescriptor& desc);

// Whether the elements lie in row-major order without gaps.
bool is_contiguous(const TensorDescriptor& desc);

// The dimensions from the largest to the smallest stride, equal ones in the order of the shape; then zeros.
std::array<size_t, MLUOP_DIM_MAX> order_in_memory(const TensorDescriptor& desc);

// Whether no two elements share a place in memory. Strides must nest, as in parts and permutations of a contiguous
// tensor: some unusual strides with distinct places return false.
bool has_distinct_places(const TensorDescriptor& desc);

// Whether the elements fill memory without gaps, in any order of the dimensions.
bool is_dense(const TensorDescriptor& desc);

// Whether shapes and strides are equal: element i of one lies where element i of the other does.
bool has_same_places(const TensorDescriptor& a, const TensorDescriptor& b);

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
