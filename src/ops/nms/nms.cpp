// mluOpNms and its workspace query: entries and checks; nms3d_normal.cpp has the entries of mluOpOmpNms3dNormal.
// Start with the entry at the end of this file, then run() in nms_native.cpp, the kernels in
// nms_native_kernels.cpp, in the order of their launches, and suppress() in primitives/geometry/suppression.cpp.
#include <cstdint>
#include <initializer_list>

#include "core/nms.h"
#include "core/sizes.h"
#include "ops/nms/nms.h"

namespace mluop::nms {
namespace {

constexpr auto kBadParam = MLUOP_STATUS_BAD_PARAM;

// The parameters shared by the operator and its query.
struct Parameters {
  const NmsDescriptor* nms_desc;
  const TensorDescriptor *boxes_desc, *confidence_desc;
};

// The data of the tensors; null in the query.
struct Data {
  const void *boxes, *confidence;
  void *output, *output_size;
};

bool has_batches(const Parameters& p) { return p.confidence_desc != nullptr && p.confidence_desc->dim_count == 3; }

// Reads the descriptors, which are not checked yet.
Args read_arguments(const Parameters& p, const Data& data) {
  constexpr int64_t kTurnedColumns = 7;
  const NmsDescriptor& desc = *p.nms_desc;
  const bool by_column = desc.input_layout == 1, batched = has_batches(p);
  const int first = batched ? 1 : 0;
  const bool is_turned = !batched && dim_of(p.boxes_desc, by_column ? 0 : 1) == kTurnedColumns;
  const int64_t B = batched ? dim_of(p.boxes_desc, 0) : 1, C = batched ? dim_of(p.confidence_desc, 1) : 1;
  const int64_t N = dim_of(p.boxes_desc, by_column ? first + 1 : first);
  const auto kind_of_4 = desc.box_mode == MLUOP_NMS_BOX_CENTER ? BoxKind::kCenter : BoxKind::kCorners;
  return {
      .B = B,
      .C = C,
      .N = N,
      .box_kind = is_turned ? BoxKind::kTurned : kind_of_4,
      .dtype = is_turned ? MLUOP_DTYPE_FLOAT : dtype_of(p.boxes_desc),
      .by_column = by_column,
      .offset = desc.offset,
      .iou_threshold = desc.iou_threshold,
      .confidence_threshold = desc.confidence_threshold,
      .max_output_size = is_turned ? N : desc.max_output_size,
      .row_count = is_turned ? N : saturated_product({B, C, desc.max_output_size}),
      .output_mode = is_turned ? MLUOP_NMS_OUTPUT_TARGET_INDICES : desc.output_mode,
      .boxes = data.boxes,
      .confidence = data.confidence,
      .output = data.output,
      .output_size = static_cast<int32_t*>(data.output_size),
  };
}

void declare_parameters(Call& call, const NmsDescriptor& desc) {
  // MLU-OPS requires this parameter in a case.
  call.parameter("run_mode", 0);
  call.parameter("max_output_boxes", desc.max_output_size);
  call.parameter("iou_threshold", desc.iou_threshold);
  call.parameter("confidence_threshold", desc.confidence_threshold);
  call.parameter("input_layout", desc.input_layout);
  call.parameter("mode", int64_t{desc.output_mode});
  call.parameter("algo", int64_t{desc.algo});
  call.parameter("offset", desc.offset);
  call.parameter("method_mode", int64_t{desc.method_mode});
  call.parameter("box_mode", int64_t{desc.box_mode});
  call.parameter("soft_nms_sigma", desc.soft_nms_sigma);
  call.parameter("pad_to_max_output_size", desc.pad_to_max_output_size);
}

void declare_inputs(Call& call, const Parameters& p, const Args& args) {
  const auto declare = [&](const char* name, const TensorDescriptor* desc, const void* data,
                           std::initializer_list<int64_t> shape) {
    call.input(name, desc, data, args.dtype, kAnyLayout, shape);
  };
  const int64_t rows = args.by_column ? args.box_columns() : kAny,
                columns = args.by_column ? kAny : args.box_columns();
  if (has_batches(p)) {
    declare("boxes", p.boxes_desc, args.boxes, {kAny, rows, columns});
    declare("confidence", p.confidence_desc, args.confidence, {args.B, kAny, args.N});
  } else {
    declare("boxes", p.boxes_desc, args.boxes, {rows, columns});
    if (args.has_confidence()) declare("confidence", p.confidence_desc, args.confidence, {args.N});
  }
  if (args.is_empty()) call.reads_nothing();
}

void declare_outputs(Call& call, const TensorDescriptor* output_desc, const Args& args) {
  const auto declare = [&](mluOpDataType_t dtype, std::initializer_list<int64_t> shape) {
    call.output("output", output_desc, args.output, dtype, kAnyLayout, shape);
  };
  const int64_t rows = args.row_count;
  switch (args.output_mode) {
    case MLUOP_NMS_OUTPUT_TARGET_INDICES: declare(MLUOP_DTYPE_INT32, {rows}); break;
    case MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_1: declare(args.dtype, {rows, 5}); break;
    case MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_2: declare(args.dtype, {5, rows}); break;
    default: declare(MLUOP_DTYPE_INT32, {rows, 3});  // MLUOP_NMS_OUTPUT_TARGET_BATCH_AND_CLASS
  }
  call.output("output_size", args.output_size);
}

// Boxes and rows of the output are indexed by int32.
void check_counts(const Args& args) {
  constexpr int64_t kMaxCount = int64_t{1} << 31;
  constexpr auto kNotSupported = MLUOP_STATUS_NOT_SUPPORTED;
  require(args.N < kMaxCount, kNotSupported, "boxes has ", args.N, " boxes, expected fewer than 2^31");
  require(args.row_count < kMaxCount, kNotSupported, "output has ", args.B, " x ", args.C, " x ",
          args.max_output_size, " rows (batches x classes x max_output_size), expected fewer than 2^31");
}

// Checks everything except the workspace.
void check_arguments(Call& call, const Parameters& p, const Args& args) {
  call.check_pointers();
  require(p.nms_desc->is_set, kBadParam, "nms_desc is not set, expected mluOpSetNmsDescriptor before");
  check_counts(args);
  if (!args.has_confidence()) {
    require_missing("confidence", Input{p.confidence_desc, args.confidence}, "of boxes with 7 numbers");
  }
  require_element_type("boxes", args.dtype);
  call.check_tensors();
  require((args.B == 1 && args.C == 1) || args.output_mode == MLUOP_NMS_OUTPUT_TARGET_BATCH_AND_CLASS, kBadParam,
          "confidence has ", args.B, " batches and ", args.C, " classes, expected 1 of each in output mode ",
          static_cast<int>(args.output_mode));
}

}  // namespace
}  // namespace mluop::nms

mluOpStatus_t MLUOP_WIN_API mluOpGetNmsWorkspaceSize(mluOpHandle_t handle, mluOpNmsDescriptor_t nms_desc,
                                                     const mluOpTensorDescriptor_t boxes_desc,
                                                     const mluOpTensorDescriptor_t confidence_desc, size_t* size) {
  using namespace mluop;
  using namespace mluop::nms;
  return run_workspace_query("mluOpGetNmsWorkspaceSize", handle, size, [&](Call& call) {
    require_not_null("nms_desc", nms_desc);
    const Parameters parameters{nms_desc, boxes_desc, confidence_desc};
    const Args args = read_arguments(parameters, {});
    declare_inputs(call, parameters, args);
    check_arguments(call, parameters, args);
    return native::workspace_bytes(args);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpNms(mluOpHandle_t handle, const mluOpNmsDescriptor_t nms_desc,
                                     const mluOpTensorDescriptor_t boxes_desc, const void* boxes,
                                     const mluOpTensorDescriptor_t confidence_desc, const void* confidence,
                                     void* workspace, size_t workspace_size,
                                     const mluOpTensorDescriptor_t output_desc, void* output, void* output_size) {
  using namespace mluop;
  using namespace mluop::nms;
  return run_operator("mluOpNms", handle, [&](Call& call) {
    require_not_null("nms_desc", nms_desc);
    const Parameters parameters{nms_desc, boxes_desc, confidence_desc};
    const Args args = read_arguments(parameters, {boxes, confidence, output, output_size});
    declare_parameters(call, *nms_desc);
    declare_inputs(call, parameters, args);
    declare_outputs(call, output_desc, args);
    check_arguments(call, parameters, args);
    native::run(call, args, call.workspace(workspace, workspace_size, native::workspace_bytes(args)));
  });
}
