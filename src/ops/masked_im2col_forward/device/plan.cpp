#include "ops/masked_im2col_forward/device/plan.h"

#include "primitives/fill.h"
#include "primitives/transpose.h"

namespace mluop::masked_im2col_forward::device {
namespace {

struct Workspace {
  Workspace(Arena& workspace, const Args& args)
      : feature(workspace.take<std::byte>("feature", {args.height, args.width, args.channels, args.element_size})),
        data_col(workspace.take<std::byte>(
            "data_col", {args.mask_cnt, args.kernel_h, args.kernel_w, args.channels, args.element_size})) {}

  std::byte* feature;   // [H, W, C] elements
  std::byte* data_col;  // [mask_cnt, kernel_h * kernel_w, C] elements
};

// [C, H, W] to [H, W, C]
void transpose_feature(Context& context, const Args& args, std::byte* to) {
  const int64_t pixels = args.height * args.width;
  transpose(context, {{1, pixels, args.channels}, {0, 1, pixels}, args.element_size, args.feature, to});
}

// [mask_cnt, kernel_h * kernel_w, C] to [C, kernel_h * kernel_w, mask_cnt]
void transpose_data_col(Context& context, const Args& args, const std::byte* from) {
  const int64_t offsets = args.kernel_size();
  transpose(context, {{args.channels, offsets, args.mask_cnt},
                      {1, args.channels, offsets * args.channels},
                      args.element_size,
                      from,
                      args.data_col});
}

}  // namespace

size_t workspace_bytes(const Args& args) { return args.mask_cnt == 0 ? 0 : workspace_bytes_of<Workspace>(args); }

void run(Call& call, const Args& args, Arena workspace) {
  Context& context = call.context();
  const Workspace memory(workspace, args);
  const int task_dim = device_task_dim();
  call.log_detail("kernel ", args.kernel_h, " x ", args.kernel_w, ", pad ", args.pad_h, " x ", args.pad_w,
                  ", device, taskDim ", task_dim);
  context.reserve(0);
  transpose_feature(context, args, memory.feature);
  fill_zero(context, memory.data_col, args.mask_cnt * args.kernel_size() * args.pixel_bytes());
  launch(context, "copy_windows", task_dim, Evenly{args.mask_cnt}, copy_windows,
         {args, memory.feature, memory.data_col});
  transpose_data_col(context, args, memory.data_col);
}

}  // namespace mluop::masked_im2col_forward::device
