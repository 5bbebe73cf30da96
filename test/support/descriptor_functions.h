// The functions of tensor descriptors that exist for int and for int64_t.
#pragma once

#include <cstdint>

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

}  // namespace mluop::test
