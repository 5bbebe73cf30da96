#include "core/carafe.h"

#include "core/checks.h"
#include "core/descriptor.h"

mluOpStatus_t MLUOP_WIN_API mluOpCreateCarafeDescriptor(mluOpCarafeDescriptor_t* carafe_desc) {
  return mluop::create_descriptor("mluOpCreateCarafeDescriptor", "carafe_desc", carafe_desc);
}

mluOpStatus_t MLUOP_WIN_API mluOpDestroyCarafeDescriptor(mluOpCarafeDescriptor_t carafe_desc) {
  return mluop::destroy_descriptor("mluOpDestroyCarafeDescriptor", "carafe_desc", carafe_desc);
}

mluOpStatus_t MLUOP_WIN_API mluOpSetCarafeDescriptor(mluOpCarafeDescriptor_t carafe_desc, const int dimNb,
                                                     const int kernel_size, const int group_size,
                                                     const int scale_factor) {
  using namespace mluop;
  return run_guarded("mluOpSetCarafeDescriptor", [&] {
    require_not_null("carafe_desc", carafe_desc);
    require(dimNb == 4, MLUOP_STATUS_BAD_PARAM, "dimNb is ", dimNb, ", expected 4");
    require(kernel_size > 0 && kernel_size % 2 == 1, MLUOP_STATUS_BAD_PARAM, "kernel_size is ", kernel_size,
            ", expected an odd number of at least 1");
    require_positive("group_size", group_size);
    require_positive("scale_factor", scale_factor);
    *carafe_desc = {.is_set = true,
                    .dim_count = dimNb,
                    .kernel_size = kernel_size,
                    .group_size = group_size,
                    .scale_factor = scale_factor};
  });
}
