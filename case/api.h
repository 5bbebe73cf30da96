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

// A call failed: its status, and the message of the library.
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

// Owns an object of the library.
template <class Object, mluOpStatus_t (*kCreate)(Object*), mluOpStatus_t (*kDestroy)(Object)>
class Owned {
 public:
  Owned() { require(kCreate(&object_)); }
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() {
    if (object_ != nullptr) kDestroy(object_);
  }

  operator Object() const { return object_; }  // NOLINT(google-explicit-constructor)

 private:
  Object object_ = nullptr;
};

class Handle : public Owned<mluOpHandle_t, mluOpCreate, mluOpDestroy> {
 public:
  explicit Handle(mluOpOmpAlgorithm_t algorithm = MLUOP_OMP_ALGORITHM_NATIVE) {
    require(mluOpOmpSetAlgorithm(*this, algorithm));
  }
};

class Descriptor
    : public Owned<mluOpTensorDescriptor_t, mluOpCreateTensorDescriptor, mluOpDestroyTensorDescriptor> {
 public:
  // An empty descriptor. Clang 14 does not allow const objects of a class with a defaulted constructor.
  Descriptor() {}  // NOLINT(modernize-use-equals-default)
  Descriptor(mluOpDataType_t dtype, const std::vector<int64_t>& dims,
             mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY) {
    require(mluOpSetTensorDescriptor_v2(*this, layout, dtype, static_cast<int>(dims.size()), dims.data()));
  }
  static Descriptor with_strides(mluOpDataType_t dtype, const std::vector<int64_t>& dims,
                                 const std::vector<int64_t>& strides,
                                 mluOpTensorLayout_t layout = MLUOP_LAYOUT_ARRAY) {
    Descriptor desc;
    require(mluOpSetTensorDescriptorEx_v2(desc, layout, dtype, static_cast<int>(dims.size()), dims.data(),
                                          strides.data()));
    return desc;
  }
};

// A descriptor that is not set yet.
using DcnDescriptor = Owned<mluOpDCNDescriptor_t, mluOpCreateDCNDescriptor, mluOpDestroyDCNDescriptor>;
using SparseConvolutionDescriptor =
    Owned<mluOpSparseConvolutionDescriptor_t, mluOpCreateSparseConvolutionDescriptor,
          mluOpDestroySparseConvolutionDescriptor>;

using RoiAlignForwardDescriptor = Owned<mluOpRoiAlignForwardDescriptor_t, mluOpCreateRoiAlignForwardDescriptor,
                                        mluOpDestroyRoiAlignForwardDescriptor>;

using CarafeDescriptor = Owned<mluOpCarafeDescriptor_t, mluOpCreateCarafeDescriptor, mluOpDestroyCarafeDescriptor>;

using AdamWDescriptor = Owned<mluOpAdamWDescriptor_t, mluOpCreateAdamWDescriptor, mluOpDestroyAdamWDescriptor>;

using NmsDescriptor = Owned<mluOpNmsDescriptor_t, mluOpCreateNmsDescriptor, mluOpDestroyNmsDescriptor>;

}  // namespace mluop::cases
