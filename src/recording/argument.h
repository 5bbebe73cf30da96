// The declared arguments of a call, which its checks, its debug line and its recording read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "core/tensor.h"

namespace mluop {

// A tensor or an array of numbers.
struct Argument {
  enum class Kind { kInput, kOutput, kInOut, kHostArray };
  static constexpr size_t kMaxDims = MLUOP_DIM_MAX;

  // A host array has no descriptor.
  bool is_tensor() const { return kind != Kind::kHostArray; }
  bool is_output() const { return kind == Kind::kOutput || kind == Kind::kInOut; }
  std::span<const int64_t> expected_shape() const { return {shape.data(), dim_count}; }
  // The memory of a checked argument, with the gaps of a strided tensor.
  int64_t bytes() const;
  int64_t count() const;

  Kind kind;
  std::string_view name;
  const TensorDescriptor* desc;
  const void* data;
  mluOpDataType_t dtype;
  std::optional<mluOpTensorLayout_t> layout;
  std::array<int64_t, kMaxDims> shape;
  size_t dim_count;
};

// A parameter that is not a tensor. An array points into a descriptor, and is read when it is used.
struct Parameter {
  using Value = std::variant<int64_t, float, bool, mluOpReduceMode_t, std::span<const int32_t>>;

  std::string_view name;
  Value value;
  std::optional<int64_t> least;
};

// "max_points 5", "pad [1, 1, 1]", for the log.
std::string text_of(const Parameter& parameter);

}  // namespace mluop
