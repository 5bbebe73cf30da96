// Tensor sets: arrays of tensor descriptors whose data are consecutive in one buffer.
#include <algorithm>
#include <climits>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/tensor_descriptor.h"
#include "core/checks.h"
#include "core/descriptor.h"

struct mluOpTensorSetStruct {
  std::vector<int> dims;
  std::vector<mluOpTensorStruct> members;  // row-major; never resized, because callers have pointers to them
};

namespace mluop {
namespace {

// The row-major position of a member.
size_t position_of(const mluOpTensorSetStruct& set, int dim_count, const int index[]) {
  require_not_null("tensorIndex", index);
  require(dim_count == static_cast<int>(set.dims.size()), MLUOP_STATUS_BAD_PARAM, "setDimNb is ", dim_count,
          ", expected ", set.dims.size(), " as created");
  size_t position = 0;
  for (size_t i = 0; i < set.dims.size(); ++i) {
    require(index[i] >= 0 && index[i] < set.dims[i], MLUOP_STATUS_BAD_PARAM, "tensorIndex[", i, "] is ", index[i],
            ", expected 0 to ", set.dims[i] - 1);
    position = position * static_cast<size_t>(set.dims[i]) + static_cast<size_t>(index[i]);
  }
  return position;
}

// The bytes of the first `count` members.
int64_t bytes_of_members(const mluOpTensorSetStruct& set, size_t count, int64_t limit) {
  int64_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto sum = checked_sum(total, byte_count(set.members[i]));
    require(sum.has_value() && *sum <= limit, MLUOP_STATUS_NOT_SUPPORTED, "the members up to number ", i,
            " have more than ", limit, " bytes");
    total = *sum;
  }
  return total;
}

}  // namespace
}  // namespace mluop

using mluop::require;
using mluop::require_not_null;
using mluop::run_guarded;

mluOpStatus_t MLUOP_WIN_API mluOpCreateTensorSetDescriptor(mluOpTensorSetDescriptor_t* tensorSetDesc,
                                                           const int setDimNb, const int setDimSize[]) {
  return run_guarded("mluOpCreateTensorSetDescriptor", [&] {
    require_not_null("tensorSetDesc", tensorSetDesc);
    mluop::require_positive("setDimNb", setDimNb);
    require_not_null("setDimSize", setDimSize);
    int64_t count = 1;
    for (int i = 0; i < setDimNb; ++i) {
      require(setDimSize[i] > 0, MLUOP_STATUS_BAD_PARAM, "setDimSize[", i, "] is ", setDimSize[i],
              ", expected at least 1");
      count *= setDimSize[i];
      require(count <= INT_MAX, MLUOP_STATUS_BAD_PARAM, "the set has 2^31 members or more");
    }
    auto made = std::make_unique<mluOpTensorSetStruct>();
    made->dims.assign(setDimSize, setDimSize + setDimNb);
    made->members.resize(static_cast<size_t>(count));
    *tensorSetDesc = made.release();
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetTensorSetDescriptor(mluOpTensorSetDescriptor_t tensorSetDesc, int* setDimNb,
                                                        int setDimSize[]) {
  return run_guarded("mluOpGetTensorSetDescriptor", [&] {
    require_not_null("tensorSetDesc", tensorSetDesc);
    require_not_null("setDimNb", setDimNb);
    require_not_null("setDimSize", setDimSize);
    *setDimNb = static_cast<int>(tensorSetDesc->dims.size());
    std::ranges::copy(tensorSetDesc->dims, setDimSize);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpDestroyTensorSetDescriptor(mluOpTensorSetDescriptor_t tensorSetDesc) {
  return mluop::destroy_descriptor("mluOpDestroyTensorSetDescriptor", "tensorSetDesc", tensorSetDesc);
}

mluOpStatus_t MLUOP_WIN_API mluOpInitTensorSetMemberDescriptor(mluOpTensorSetDescriptor_t tensorSetDesc,
                                                               const int setDimNb, const int tensorIndex[],
                                                               mluOpTensorLayout_t layout, mluOpDataType_t dtype,
                                                               const int dimNb, const int dimSize[]) {
  return run_guarded("mluOpInitTensorSetMemberDescriptor", [&] {
    require_not_null("tensorSetDesc", tensorSetDesc);
    const size_t position = mluop::position_of(*tensorSetDesc, setDimNb, tensorIndex);
    mluop::set_contiguous(tensorSetDesc->members[position], layout, dtype, dimNb, dimSize);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpInitTensorSetMemberDescriptorPositionAndScale(
    mluOpTensorSetDescriptor_t tensorSetDesc, const int setDimNb, const int tensorIndex[], const int position,
    const float scale) {
  return run_guarded("mluOpInitTensorSetMemberDescriptorPositionAndScale", [&] {
    require_not_null("tensorSetDesc", tensorSetDesc);
    mluOpTensorStruct& member = tensorSetDesc->members[mluop::position_of(*tensorSetDesc, setDimNb, tensorIndex)];
    member.position = position;
    member.scale = scale;
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetTensorSetDescriptorSize(mluOpTensorSetDescriptor_t tensorSetDesc,
                                                            int* sizeInBytes) {
  return run_guarded("mluOpGetTensorSetDescriptorSize", [&] {
    require_not_null("tensorSetDesc", tensorSetDesc);
    require_not_null("sizeInBytes", sizeInBytes);
    *sizeInBytes =
        static_cast<int>(mluop::bytes_of_members(*tensorSetDesc, tensorSetDesc->members.size(), INT_MAX));
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpGetTensorAndDataFromTensorSet(mluOpTensorSetDescriptor_t tensorSetDesc,
                                                               const int setDimNb, const int tensorIndex[],
                                                               void* data, mluOpTensorDescriptor_t* tensorDesc,
                                                               void** dataAddrInDevice) {
  return run_guarded("mluOpGetTensorAndDataFromTensorSet", [&] {
    require_not_null("tensorSetDesc", tensorSetDesc);
    require_not_null("data", data);
    require_not_null("tensorDesc", tensorDesc);
    require_not_null("dataAddrInDevice", dataAddrInDevice);
    const size_t position = mluop::position_of(*tensorSetDesc, setDimNb, tensorIndex);
    const int64_t offset = mluop::bytes_of_members(*tensorSetDesc, position, INT64_MAX);
    *tensorDesc = &tensorSetDesc->members[position];
    *dataAddrInDevice = static_cast<char*>(data) + offset;
  });
}
