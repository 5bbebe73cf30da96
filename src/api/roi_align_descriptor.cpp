#include "core/checks.h"
#include "core/descriptor.h"
#include "core/roi_align.h"

mluOpStatus_t MLUOP_WIN_API mluOpCreateRoiAlignForwardDescriptor(mluOpRoiAlignForwardDescriptor_t* desc) {
  return mluop::create_descriptor("mluOpCreateRoiAlignForwardDescriptor", "desc", desc);
}

mluOpStatus_t MLUOP_WIN_API mluOpDestroyRoiAlignForwardDescriptor(mluOpRoiAlignForwardDescriptor_t desc) {
  return mluop::destroy_descriptor("mluOpDestroyRoiAlignForwardDescriptor", "desc", desc);
}

mluOpStatus_t MLUOP_WIN_API mluOpSetRoiAlignForwardDescriptor_v2(mluOpRoiAlignForwardDescriptor_t roialign_desc,
                                                                 const int pooled_height, const int pooled_width,
                                                                 const int sampling_ratio,
                                                                 const float spatial_scale, const int pool_mode,
                                                                 const bool aligned) {
  using namespace mluop;
  return run_guarded("mluOpSetRoiAlignForwardDescriptor_v2", [&] {
    require_not_null("roialign_desc", roialign_desc);
    require_positive("pooled_height", pooled_height);
    require_positive("pooled_width", pooled_width);
    require_flag("pool_mode", pool_mode);
    *roialign_desc = {.is_set = true,
                      .pooled_height = pooled_height,
                      .pooled_width = pooled_width,
                      .sampling_ratio = sampling_ratio,
                      .spatial_scale = spatial_scale,
                      .pool_mode = pool_mode,
                      .aligned = aligned};
  });
}
