// RAII classes of handles and descriptors, and require(), which turns a failure of a call into an exception.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "mlu_op.h"
#include "mlu_op_omp.h"

namespace mluop::cases {

// A call failed: the status, and the message of the library.
class CallFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws CallFailed unless status is MLUOP_STATUS_SUCCESS.
inline void require(mluOpStatus_t status) {
  if (status != MLUOP_STATUS_SUCCESS) {
    throw CallFailed(std::string(mluOpGetErrorString(status)) + ": " + mluOpOmpGetLastError());
  }
}

class Handle {
 public:
  explicit Handle(mluOpOmpAlgorithm_t algorithm = MLUOP_OMP_ALGORITHM_NATIVE) {
    require(mluOpCreate(&handle_));
    require(mluOpOmpSetAlgorithm(handle_, algorithm));
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { mluOpDestroy(handle_); }

  operator mluOpHandle_t() const { return handle_; }  // NOLINT(google-explicit-constructor)

 private:
  mluOpHandle_t handle_ = nullptr;
};

class Descriptor {
 public:
  // An empty descriptor.
  Descriptor() { require(mluOpCreateTensorDescriptor(&desc_)); }
  Descriptor(mluOpDataType_t dtype, const std::vector<int64_t>& dims,
             mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY)
      : Descriptor() {
    require(mluOpSetTensorDescriptor_v2(desc_, layout, dtype, static_cast<int>(dims.size()), dims.data()));
  }
  static Descriptor with_strides(mluOpDataType_t dtype, const std::vector<int64_t>& dims,
                                 const std::vector<int64_t>& strides,
                                 mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY) {
    Descriptor desc;
    require(mluOpSetTensorDescriptorEx_v2(desc, layout, dtype, static_cast<int>(dims.size()), dims.data(),
                                          strides.data()));
    return desc;
  }
  Descriptor(Descriptor&& other) noexcept : desc_(std::exchange(other.desc_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(desc_, other.desc_);
    return *this;
  }
  ~Descriptor() {
    if (desc_ != nullptr) mluOpDestroyTensorDescriptor(desc_);
  }

  operator mluOpTensorDescriptor_t() const { return desc_; }  // NOLINT(google-explicit-constructor)

 private:
  mluOpTensorDescriptor_t desc_ = nullptr;
};

class SparseConvolutionDescriptor {
 public:
  // A descriptor that is not set.
  SparseConvolutionDescriptor() { require(mluOpCreateSparseConvolutionDescriptor(&desc_)); }
  SparseConvolutionDescriptor(SparseConvolutionDescriptor&& other) noexcept
      : desc_(std::exchange(other.desc_, nullptr)) {}
  SparseConvolutionDescriptor& operator=(SparseConvolutionDescriptor&& other) noexcept {
    std::swap(desc_, other.desc_);
    return *this;
  }
  ~SparseConvolutionDescriptor() {
    if (desc_ != nullptr) mluOpDestroySparseConvolutionDescriptor(desc_);
  }

  operator mluOpSparseConvolutionDescriptor_t() const { return desc_; }  // NOLINT(google-explicit-constructor)

 private:
  mluOpSparseConvolutionDescriptor_t desc_ = nullptr;
};

}  // namespace mluop::cases
