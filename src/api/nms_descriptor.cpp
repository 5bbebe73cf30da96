#include "core/checks.h"
#include "core/descriptor.h"
#include "core/nms.h"

namespace mluop {
namespace {

constexpr auto kBadParam = MLUOP_STATUS_BAD_PARAM;

// Requires an enumerator from 0 to `last`.
void require_enumerator(std::string_view name, int value, int last) {
  require(0 <= value && value <= last, kBadParam, name, " is ", value, ", expected 0 to ", last);
}

void check(const NmsDescriptor& desc) {
  require_enumerator("box_mode", desc.box_mode, MLUOP_NMS_BOX_CENTER);
  require_enumerator("output_mode", desc.output_mode, MLUOP_NMS_OUTPUT_TARGET_BATCH_AND_CLASS);
  require_enumerator("algo", desc.algo, MLUOP_NMS_ALGO_INCLUDE_BOUNDARY);
  require_enumerator("method_mode", desc.method_mode, MLUOP_NMS_SOFT_NMS_GAUSSIAN);
  // Rejects NaN too.
  require(desc.soft_nms_sigma >= 0, kBadParam, "soft_nms_sigma is ", desc.soft_nms_sigma, ", expected at least 0");
  require(desc.max_output_size >= 0, kBadParam, "max_output_size is ", desc.max_output_size,
          ", expected at least 0");
  require_flag("offset", desc.offset);
  require_flag("input_layout", desc.input_layout);
  require(desc.method_mode == MLUOP_NMS_HARD_NMS, MLUOP_STATUS_NOT_SUPPORTED, "method_mode is ",
          static_cast<int>(desc.method_mode), ", expected MLUOP_NMS_HARD_NMS (0): soft NMS is not supported");
}

}  // namespace
}  // namespace mluop

mluOpStatus_t MLUOP_WIN_API mluOpCreateNmsDescriptor(mluOpNmsDescriptor_t* desc) {
  return mluop::create_descriptor("mluOpCreateNmsDescriptor", "desc", desc);
}

mluOpStatus_t MLUOP_WIN_API mluOpDestroyNmsDescriptor(mluOpNmsDescriptor_t desc) {
  return mluop::destroy_descriptor("mluOpDestroyNmsDescriptor", "desc", desc);
}

mluOpStatus_t MLUOP_WIN_API mluOpSetNmsDescriptor(
    mluOpNmsDescriptor_t nms_desc, const mluOpNmsBoxPointMode_t box_mode, const mluOpNmsOutputMode_t output_mode,
    const mluOpNmsAlgo_t algo, const mluOpNmsMethodMode_t method_mode, const float iou_threshold,
    const float soft_nms_sigma, const int max_output_size, const float confidence_threshold, const float offset,
    const int input_layout, const bool pad_to_max_output_size) {
  using namespace mluop;
  return run_guarded("mluOpSetNmsDescriptor", [&] {
    require_not_null("nms_desc", nms_desc);
    const NmsDescriptor requested{
        .is_set = true,
        .box_mode = box_mode,
        .output_mode = output_mode,
        .algo = algo,
        .method_mode = method_mode,
        .iou_threshold = iou_threshold,
        .soft_nms_sigma = soft_nms_sigma,
        .max_output_size = max_output_size,
        .confidence_threshold = confidence_threshold,
        .offset = offset,
        .input_layout = input_layout,
        .pad_to_max_output_size = pad_to_max_output_size,
    };
    check(requested);
    *nms_desc = requested;
  });
}
