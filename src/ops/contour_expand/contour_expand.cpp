// mluOpOmpContourExpand in one file: kernel, launches, entry.
// Start with the entry at the end, then run() and the kernel expand(); primitives/geometry/pixel_regions.h has the
// flood fill.
#include <algorithm>

#include "core/checks.h"
#include "core/sizes.h"
#include "mlu_op_omp.h"
#include "primitives/geometry/pixel_regions.h"
#include "primitives/indices/point_indices.h"
#include "team/launch.h"
#include "team/operator_call.h"

namespace mluop::contour_expand {
namespace {

// Limits the memory of areas to 64 MiB.
constexpr int kMaxLabels = 1 << 24;

struct Args {
  int64_t H, W;
  bool grows;  // there are at least two masks
  int min_kernel_area, kernel_num;
  const uint8_t* mask;    // [H, W]: the first mask; unspecified if nothing grows
  const int32_t* labels;  // [H, W]
  int32_t* output;        // [H, W]
};

struct Scratch {
  Scratch(Arena& arena, const Args& args)
      : regions(arena, args.H, args.W), areas(arena.take<int32_t>("areas", {int64_t{args.kernel_num} + 1})) {}

  PixelRegions regions;
  int32_t* areas;  // [kernel_num + 1]: the number of pixels of each label
};

struct KernelArgs : Args {
  Scratch& scratch;
};

// One work item: a pixel has the label of the region that reaches it first.
void expand(const KernelArgs& args, int64_t, int64_t, Task&) {
  PixelRegions& regions = args.scratch.regions;
  int32_t* const areas = args.scratch.areas;
  std::fill_n(areas, int64_t{args.kernel_num} + 1, 0);
  for (int64_t i = 0; i < args.H * args.W; ++i) ++areas[args.labels[i]];
  regions.start([&](int64_t i) { return areas[args.labels[i]] < args.min_kernel_area ? 0 : args.labels[i]; },
                [&](int64_t i) { return args.grows && args.mask[i] != 0; }, [&](int64_t) { return args.grows; });
  regions.grow(PixelRegions::Order::kRowsFirst, [](int32_t, int64_t) { return true; });
  regions.write(args.output);
}

void run(Call& call, const Args& args, std::span<const int64_t> shape) {
  Context& context = call.context();
  call.log_detail("native");
  Arena arena = context.reserve(bytes_of<Scratch>(args));
  Scratch scratch(arena, args);
  check_point_indices(context, "internal_kernel_label",
                      {args.labels, args.H * args.W, int64_t{args.kernel_num} + 1}, shape);
  launch<KernelArgs>(context, "expand", 1, Evenly{1}, expand, {args, scratch});
}

}  // namespace
}  // namespace mluop::contour_expand

mluOpStatus_t MLUOP_WIN_API mluOpOmpContourExpand(mluOpHandle_t handle, const int min_kernel_area,
                                                  const int kernel_num,
                                                  const mluOpTensorDescriptor_t kernel_mask_desc,
                                                  const void* kernel_mask,
                                                  const mluOpTensorDescriptor_t internal_kernel_label_desc,
                                                  const void* internal_kernel_label,
                                                  const mluOpTensorDescriptor_t output_desc, void* output) {
  using namespace mluop;
  using namespace mluop::contour_expand;
  return run_operator("mluOpOmpContourExpand", handle, [&](Call& call) {
    const int64_t K = dim_of(kernel_mask_desc, 0);
    const int64_t H = dim_of(internal_kernel_label_desc, 0), W = dim_of(internal_kernel_label_desc, 1);
    call.parameter("min_kernel_area", min_kernel_area);
    call.parameter("kernel_num", kernel_num, AtLeast{0});
    call.input("kernel_mask", kernel_mask_desc, kernel_mask, MLUOP_DTYPE_UINT8, kAnyLayout, {kAny, H, W});
    call.input("internal_kernel_label", internal_kernel_label_desc, internal_kernel_label, MLUOP_DTYPE_INT32,
               kAnyLayout, {kAny, kAny});
    call.output("output", output_desc, output, MLUOP_DTYPE_INT32, kAnyLayout, {H, W});
    const bool is_empty = has_no_elements(output_desc);
    if (is_empty) call.reads_nothing();

    call.check_pointers();
    call.check_parameters();
    require(kernel_num <= kMaxLabels, MLUOP_STATUS_NOT_SUPPORTED, "kernel_num is ", kernel_num,
            ", expected at most ", kMaxLabels);
    if (!is_empty) PixelRegions::require_size("internal_kernel_label", H, W);
    call.check_tensors();
    if (is_empty) return;
    run(call,
        {
            .H = H,
            .W = W,
            .grows = K > 1,
            .min_kernel_area = min_kernel_area,
            .kernel_num = kernel_num,
            .mask = static_cast<const uint8_t*>(kernel_mask),
            .labels = static_cast<const int32_t*>(internal_kernel_label),
            .output = static_cast<int32_t*>(output),
        },
        internal_kernel_label_desc->shape());
  });
}
