// The functions of tensor descriptors for int and int64_t, for typed tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>

#include "core/tensor.h"
#include "mlu_op.h"

namespace mluop::test {

template <class Int>
struct DescriptorFunctions;

template <>
struct DescriptorFunctions<int> {
  static constexpr auto set = mluOpSetTensorDescriptor;
  static constexpr auto set_ex = mluOpSetTensorDescriptorEx;
  static constexpr auto set_dim = mluOpSetTensorDescriptorDim;
  static constexpr auto get = mluOpGetTensorDescriptor;
  static constexpr auto get_ex = mluOpGetTensorDescriptorEx;
  static constexpr const char* suffix = "";
};

template <>
struct DescriptorFunctions<int64_t> {
  static constexpr auto set = mluOpSetTensorDescriptor_v2;
  static constexpr auto set_ex = mluOpSetTensorDescriptorEx_v2;
  static constexpr auto set_dim = mluOpSetTensorDescriptorDim_v2;
  static constexpr auto get = mluOpGetTensorDescriptor_v2;
  static constexpr auto get_ex = mluOpGetTensorDescriptorEx_v2;
  static constexpr const char* suffix = "_v2";
};

using DescriptorInts = ::testing::Types<int, int64_t>;

// For the names of typed tests: ApiTensorDescriptor/int.
struct DescriptorIntNames {
  template <class Int>
  static std::string GetName(int) {
    return sizeof(Int) == sizeof(int) ? "int" : "int64";
  }
};

inline bool same(const TensorDescriptor& a, const TensorDescriptor& b) {
  return std::tie(a.layout, a.dtype, a.dim_count, a.dims, a.strides) ==
         std::tie(b.layout, b.dtype, b.dim_count, b.dims, b.strides);
}

}  // namespace mluop::test
