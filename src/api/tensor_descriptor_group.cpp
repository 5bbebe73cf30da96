// Functions that create, set and destroy several tensor descriptors: all or none.
#include <memory>
#include <string>
#include <vector>

#include "api/tensor_descriptor.h"
#include "core/checks.h"

namespace mluop {
namespace {

void check_group(mluOpTensorDescriptor_t* const group[], int count) {
  require_not_null("group_desc", group);
  require_positive("desc_num", count);
  for (int i = 0; i < count; ++i) require_not_null(text("group_desc[", i, "]"), group[i]);
}

void check_created(mluOpTensorDescriptor_t* const group[], int count) {
  check_group(group, count);
  for (int i = 0; i < count; ++i) require_not_null(text("*group_desc[", i, "]"), *group[i]);
}

}  // namespace
}  // namespace mluop

using mluop::require_not_null;
using mluop::run_guarded;

mluOpStatus_t MLUOP_WIN_API mluOpCreateGroupTensorDescriptors(mluOpTensorDescriptor_t* group_desc[],
                                                              const int desc_num) {
  return run_guarded("mluOpCreateGroupTensorDescriptors", [&] {
    mluop::check_group(group_desc, desc_num);
    std::vector<std::unique_ptr<mluOpTensorStruct>> made(static_cast<size_t>(desc_num));
    for (auto& desc : made) desc = std::make_unique<mluOpTensorStruct>();
    for (size_t i = 0; i < made.size(); ++i) *group_desc[i] = made[i].release();
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpSetGroupTensorDescriptors(mluOpTensorDescriptor_t* group_desc[],
                                                           const mluOpTensorLayout_t group_layout[],
                                                           const mluOpDataType_t group_dtype[],
                                                           const int group_dimNb[], const int group_dimSize[],
                                                           const int desc_num) {
  return run_guarded("mluOpSetGroupTensorDescriptors", [&] {
    mluop::check_created(group_desc, desc_num);
    require_not_null("group_layout", group_layout);
    require_not_null("group_dtype", group_dtype);
    require_not_null("group_dimNb", group_dimNb);
    require_not_null("group_dimSize", group_dimSize);
    std::vector<mluOpTensorStruct> requested;
    requested.reserve(static_cast<size_t>(desc_num));
    const int* dims = group_dimSize;
    for (int i = 0; i < desc_num; ++i) {
      mluOpTensorStruct& desc = requested.emplace_back(**group_desc[i]);
      try {
        mluop::set_contiguous(desc, group_layout[i], group_dtype[i], group_dimNb[i], dims);
      } catch (const mluop::Failure& failure) {
        throw mluop::Failure(failure.status, mluop::text("tensor ", i, ": ", failure.what()));
      }
      dims += group_dimNb[i];
    }
    for (size_t i = 0; i < requested.size(); ++i) **group_desc[i] = requested[i];
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpDestroyGroupTensorDescriptors(mluOpTensorDescriptor_t* group_desc[],
                                                               const int desc_num) {
  return run_guarded("mluOpDestroyGroupTensorDescriptors", [&] {
    mluop::check_created(group_desc, desc_num);
    for (int i = 0; i < desc_num; ++i) {
      delete *group_desc[i];
    }
  });
}
