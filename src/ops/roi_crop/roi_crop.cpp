// mluOpRoiCropForward and mluOpRoiCropBackward in one file: rules, launches, entries.
// Start with the entries at the end, then forward() and backward(), which check and launch; add_taps() states
// where a point lies, primitives/sampling/sampled_maps.h has the sums of pixels and their gradients.
//
// Letters: B images of H x W pixels of C channels; n grids of oh x ow points, n / B of each image.
#include <algorithm>

#include "core/checks.h"
#include "mlu_op.h"
#include "primitives/sampling/sampled_maps.h"
#include "team/operator_call.h"

namespace mluop::roi_crop {
namespace {

// The coordinates of the points, [n, bins, 2].
struct Operands {
  int64_t bins;
  mluOpDataType_t dtype;
  const void* grid;
};

struct Images {
  Images(Arena& arena, int64_t n) : images(arena.take<int32_t>("images", {n})) {}

  int32_t* images;  // [n]: the image of each grid
};

void add_taps(const void* opaque, int64_t group, int64_t bin, TapSink& to) {
  const auto& operands = *static_cast<const Operands*>(opaque);
  dispatch_dtype(operands.dtype, [&](auto element) {
    const auto* point = static_cast<const decltype(element)*>(operands.grid) + 2 * (group * operands.bins + bin);
    const auto position = [](float coordinate, int64_t extent) {
      return (coordinate + 1) * static_cast<float>(extent - 1) / 2;
    };
    to.add_zero_padded_sample(position(to_f32(point[0]), to.height), position(to_f32(point[1]), to.width));
  });
}

// The sizes of a call, checked. `pixels`, `points`: the descriptors of images and of points.
SampledMaps sizes_of(const TensorDescriptor& pixels, const TensorDescriptor& points) {
  const int64_t B = pixels.dims[0], H = pixels.dims[1], W = pixels.dims[2], n = points.dims[0];
  require(B > 0 && n % B == 0, MLUOP_STATUS_BAD_PARAM, "grid dim 0 is ", n, ", expected a multiple of ", B,
          ", the number of images");
  require_int32_count("the number of pixels of an image", saturated_product({H, W}));
  return {.B = B,
          .H = H,
          .W = W,
          .C = pixels.dims[3],
          .groups = n,
          .bins = points.dims[1] * points.dims[2],
          .dtype = pixels.dtype,
          .images = nullptr,
          .divisors = nullptr,
          .add_taps = add_taps,
          .operands = nullptr};
}

void set_images(SampledMaps& maps, const Images& to) {
  for (int64_t k = 0; k < maps.groups; ++k) to.images[k] = static_cast<int32_t>(k / (maps.groups / maps.B));
  maps.images = to.images;
}

void forward(Call& call, const Input& input, const Input& grid, const Output& output) {
  const auto dtype = dtype_of(input.desc);
  const int64_t n = dim_of(grid.desc, 0), oh = dim_of(grid.desc, 1), ow = dim_of(grid.desc, 2);
  call.input("input", input.desc, input.data, dtype, MLUOP_LAYOUT_NHWC, {kAny, kAny, kAny, kAny});
  call.input("grid", grid.desc, grid.data, dtype, kAnyLayout, {kAny, kAny, kAny, 2});
  call.output("output", output.desc, output.data, dtype, MLUOP_LAYOUT_NHWC, {n, oh, ow, dim_of(input.desc, 3)});
  const bool is_empty = has_no_elements(output.desc);
  if (is_empty) call.reads_nothing();

  call.check_pointers();
  require_element_type("input", dtype);
  call.check_tensors();
  if (is_empty) return;
  SampledMaps maps = sizes_of(*input.desc, *output.desc);
  const Operands operands{maps.bins, dtype, grid.data};
  maps.operands = &operands;
  Arena pool = call.context().reserve(bytes_of<Images>(n));
  set_images(maps, Images(pool, n));
  gather_samples(call.context(), maps, input.data, output.data);
}

void backward(Call& call, const Input& grad_output, const Input& grid, const Output& grad_input) {
  const auto dtype = dtype_of(grad_output.desc);
  const int64_t n = dim_of(grid.desc, 0), oh = dim_of(grid.desc, 1), ow = dim_of(grid.desc, 2),
                C = dim_of(grad_input.desc, 3);
  call.input("grad_output", grad_output.desc, grad_output.data, dtype, MLUOP_LAYOUT_NHWC, {n, oh, ow, C});
  call.input("grid", grid.desc, grid.data, dtype, kAnyLayout, {kAny, kAny, kAny, 2});
  call.output("grad_input", grad_input.desc, grad_input.data, dtype, MLUOP_LAYOUT_NHWC, {kAny, kAny, kAny, kAny});
  const bool is_empty = has_no_elements(grad_input.desc);
  if (is_empty) call.reads_nothing();

  call.check_pointers();
  require_element_type("grad_output", dtype);
  call.check_tensors();
  if (is_empty) return;
  SampledMaps maps = sizes_of(*grad_input.desc, *grad_output.desc);
  const Operands operands{maps.bins, dtype, grid.data};
  maps.operands = &operands;
  struct Scratch : Images, ScatterMemory {
    Scratch(Arena& arena, const SampledMaps& of, const ScatterPlan& plan)
        : Images(arena, of.groups), ScatterMemory(arena, of, plan) {}
  };
  const ScatterPlan plan(call.context(), maps);
  Arena pool = call.context().reserve(bytes_of<Scratch>(maps, plan));
  const Scratch scratch(pool, maps, plan);
  set_images(maps, scratch);
  call.log_detail("taskDim ", plan.task_dim);
  scatter_samples(call.context(), maps, plan, scratch, grad_output.data, grad_input.data);
}

}  // namespace
}  // namespace mluop::roi_crop

mluOpStatus_t MLUOP_WIN_API mluOpRoiCropForward(mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc,
                                                const void* input, const mluOpTensorDescriptor_t grid_desc,
                                                const void* grid, const mluOpTensorDescriptor_t output_desc,
                                                void* output) {
  return mluop::run_operator("mluOpRoiCropForward", handle, [&](mluop::Call& call) {
    mluop::roi_crop::forward(call, {input_desc, input}, {grid_desc, grid}, {output_desc, output});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpRoiCropBackward(mluOpHandle_t handle,
                                                 const mluOpTensorDescriptor_t grad_output_desc,
                                                 const void* grad_output, const mluOpTensorDescriptor_t grid_desc,
                                                 const void* grid, const mluOpTensorDescriptor_t grad_input_desc,
                                                 void* grad_input) {
  return mluop::run_operator("mluOpRoiCropBackward", handle, [&](mluop::Call& call) {
    mluop::roi_crop::backward(call, {grad_output_desc, grad_output}, {grid_desc, grid},
                              {grad_input_desc, grad_input});
  });
}
