// mluOpBorderAlignForward and mluOpBorderAlignBackward in one file: rules, samples, kernel of the gradient,
// entries. Start with the entries at the end, then run_forward(), whose maxima are in
// primitives/sampling/sampled_maps.h, and run_backward(), which launches add_maxima().
//
// Letters: B images of 4 C channels, H x W pixels; K boxes, each with 4 borders of C channels.
#include <algorithm>
#include <cmath>

#include "core/checks.h"
#include "mlu_op.h"
#include "primitives/sampling/sampled_maps.h"
#include "team/launch.h"
#include "team/operator_call.h"

namespace mluop::border_align {
namespace {

constexpr int64_t kBorders = 4;
// Channels of a work item of the gradient: fewer, a cache line of fp32, where there would be too few items for the
// tasks.
constexpr int64_t kMaxRange = 64, kMinRange = 16;
constexpr int64_t kItemsPerTask = 2;

// The points of a border of a box: top and left from (x1, y1), bottom and right from (x2, y2).
struct Border {
  // box: x1, y1, x2, y2. border: top 0, left 1, bottom 2, right 3.
  Border(const float* box, int64_t border, int pool_size)
      : y(box[border < 2 ? 1 : 3]), x(box[border < 2 ? 0 : 2]) {
    const auto parts = static_cast<float>(pool_size);
    const float width = box[2] - box[0], height = box[3] - box[1];
    (border % 2 == 0 ? step_x : step_y) = (border % 2 == 0 ? width : height) / parts * (border < 2 ? 1.0F : -1.0F);
  }

  // Point n, as the gradient computes it. The maximum adds the step n times, which may differ in the last bits.
  Tap tap(int32_t n, int64_t H, int64_t W) const {
    const auto steps = static_cast<float>(n);
    return clamped_tap(y + step_y * steps, x + step_x * steps, H, W);
  }

  float y, x, step_y = 0, step_x = 0;
};

struct Args {
  Border border_of(int64_t box, int64_t border) const {
    float numbers[4];
    dispatch_dtype(dtype, [&](auto element) {
      const auto* from = static_cast<const decltype(element)*>(boxes) + box * 4;
      for (float& number : numbers) number = to_f32(*from++);
    });
    return {numbers, border, pool_size};
  }

  int64_t B, H, W, K, C;
  int pool_size;
  mluOpDataType_t dtype;
  const void* boxes;  // [B, K, 4]
};

// `output`: a border of a box.
void add_taps(const void* operands, int64_t image, int64_t output, TapSink& to) {
  const Args& args = *static_cast<const Args*>(operands);
  const Border border = args.border_of(image * args.K + output / kBorders, output % kBorders);
  float y = border.y, x = border.x;
  for (int64_t n = 0; n <= args.pool_size; ++n, y += border.step_y, x += border.step_x) to.add_sample(y, x);
}

struct AddArgs : Args {
  int64_t ranges() const { return ceil_div(C, range); }
  int64_t items() const { return B * kBorders * ranges(); }

  const void* grads;      // [B, K, 4, C]
  const int32_t* argmax;  // as grads
  void* grad_input;       // [B, H, W, 4, C]
  int64_t range;          // channels of a work item
  float* sums;            // of 16-bit types: [taskDim, H, W, range]
};

// Work items: (image, border, range of channels). Adds the gradients of all boxes to the pixels of these channels.
template <class T>
void add_maxima(const AddArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t pixels = args.H * args.W;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t image = item / args.ranges() / kBorders, border = item / args.ranges() % kBorders;
    const int64_t first = item % args.ranges() * args.range, channels = std::min(args.range, args.C - first);
    T* const to = static_cast<T*>(args.grad_input) + (image * pixels * kBorders + border) * args.C + first;
    float* sums = args.sums + task.taskId * pixels * args.range;
    int64_t stride = args.range;
    if constexpr (sizeof(T) == sizeof(float)) {
      sums = to;
      stride = kBorders * args.C;
    }
    for (int64_t i = 0; i < pixels; ++i) std::fill_n(sums + i * stride, channels, 0.0F);
    for (int64_t k = 0; k < args.K; ++k) {
      const Border points = args.border_of(image * args.K + k, border);
      const int64_t row = ((image * args.K + k) * kBorders + border) * args.C + first;
      const T* const grads = static_cast<const T*>(args.grads) + row;
      int32_t last = -1;
      Tap tap;
      for (int64_t c = 0; c < channels; ++c) {
        const int32_t n = args.argmax[row + c];
        if (n < 0 || n > args.pool_size) continue;
        if (n != last) tap = points.tap(n, args.H, args.W);
        last = n;
        for (int32_t i = 0; i < tap.count; ++i) {
          if (!std::isnan(tap.weights[i])) sums[tap.pixels[i] * stride + c] += to_f32(grads[c]) * tap.weights[i];
        }
      }
    }
    if constexpr (sizeof(T) < sizeof(float)) {
      for (int64_t i = 0; i < pixels; ++i) {
        for (int64_t c = 0; c < channels; ++c) round_to(sums[i * stride + c], to + i * kBorders * args.C + c);
      }
    }
  }
}

// Checks what both operators share. `first`, `maps`: the names of the first tensor, and of the tensor [B, H, W, 4
// C].
Args checked(Call& call, const char* first, mluOpDataType_t dtype, const char* maps,
             const TensorDescriptor* maps_desc, const Input& boxes, int64_t K, int64_t C, int pool_size) {
  const Args args{
      dim_of(maps_desc, 0), dim_of(maps_desc, 1), dim_of(maps_desc, 2), K, C, pool_size, dtype, boxes.data};
  call.check_pointers();
  call.check_parameters();
  require_element_type(first, dtype);
  require(dim_of(maps_desc, 3) % kBorders == 0, MLUOP_STATUS_BAD_PARAM, maps, " dim 3 is ", dim_of(maps_desc, 3),
          ", expected a multiple of 4");
  call.check_tensors();
  constexpr int kMaxPoolSize = 4096;
  require(pool_size <= kMaxPoolSize, MLUOP_STATUS_NOT_SUPPORTED, "pool_size is ", pool_size, ", expected at most ",
          kMaxPoolSize);
  require_int32_count("the number of pixels of an image", saturated_product({args.H, args.W}));
  require(args.B * K * C == 0 || args.H * args.W > 0, MLUOP_STATUS_BAD_PARAM, maps, " has images of ", args.H,
          " x ", args.W, " pixels, expected at least 1 x 1");
  return args;
}

void run_forward(Call& call, const Args& args, const void* input, void* output, int32_t* argmax) {
  if (args.B * args.K * args.C == 0) return;
  struct Scratch {
    Scratch(Arena& arena, int64_t B) : images(arena.take<int32_t>("images", {B})) {}
    int32_t* images;
  };
  Context& context = call.context();
  Arena arena = context.reserve(bytes_of<Scratch>(args.B));
  const Scratch scratch(arena, args.B);
  for (int64_t b = 0; b < args.B; ++b) scratch.images[b] = static_cast<int32_t>(b);
  const SampledMaps maps{.B = args.B,
                         .H = args.H,
                         .W = args.W,
                         .C = args.C,
                         .groups = args.B,
                         .bins = args.K * kBorders,
                         .dtype = args.dtype,
                         .images = scratch.images,
                         .divisors = nullptr,
                         .add_taps = add_taps,
                         .operands = &args,
                         .blocks = kBorders};
  gather_maxima(context, maps, input, output, argmax);
}

void run_backward(Call& call, const Args& args, const void* grads, const int32_t* argmax, void* grad_input) {
  if (args.B * args.C * args.H * args.W == 0) return;
  AddArgs added{args, grads, argmax, grad_input, kMaxRange, nullptr};
  const int64_t elements = saturated_product({args.B, kBorders * args.C, args.K + args.H * args.W, 4});
  const int64_t most_items = args.B * kBorders * ceil_div(args.C, kMinRange);
  const int task_dim = choose_task_dim(most_items, saturated_product({elements, 4}));
  while (added.range > kMinRange && added.items() < kItemsPerTask * task_dim) added.range /= 2;
  struct Scratch {
    Scratch(Arena& arena, const AddArgs& sizes, int tasks)
        : sums(arena.take<float>("sums", {is_16_bit(sizes.dtype) ? tasks : 0, sizes.H, sizes.W, sizes.range})) {}
    float* sums;
  };
  Context& context = call.context();
  Arena arena = context.reserve(bytes_of<Scratch>(added, task_dim));
  added.sums = Scratch(arena, added, task_dim).sums;
  call.log_detail("taskDim ", task_dim, ", ranges of ", added.range, " channels");
  const int64_t items = added.items();
  launch_dynamic(
      context, "add_maxima", task_dim, static_cast<int>(std::min<int64_t>(items, 1 << 20)), Evenly{items},
      dispatch_dtype(args.dtype,
                     [](auto element) -> RangeKernel<AddArgs> { return add_maxima<decltype(element)>; }),
      added);
}

}  // namespace
}  // namespace mluop::border_align

mluOpStatus_t MLUOP_WIN_API mluOpBorderAlignForward(mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc,
                                                    const void* input, const mluOpTensorDescriptor_t boxes_desc,
                                                    const void* boxes, const int32_t pool_size,
                                                    const mluOpTensorDescriptor_t output_desc, void* output,
                                                    const mluOpTensorDescriptor_t argmax_idx_desc,
                                                    void* argmax_idx) {
  using namespace mluop;
  using namespace mluop::border_align;
  return run_operator("mluOpBorderAlignForward", handle, [&](Call& call) {
    const auto dtype = dtype_of(input_desc);
    const int64_t B = dim_of(input_desc, 0), C = dim_of(input_desc, 3) / kBorders, K = dim_of(boxes_desc, 1);
    call.parameter("pool_size", int64_t{pool_size}, AtLeast{1});
    call.input("input", input_desc, input, dtype, MLUOP_LAYOUT_NHWC, {kAny, kAny, kAny, kAny});
    call.input("boxes", boxes_desc, boxes, dtype, kAnyLayout, {B, kAny, 4});
    call.output("output", output_desc, output, dtype, MLUOP_LAYOUT_NHWC, {B, K, kBorders, C});
    call.output("argmax_idx", argmax_idx_desc, argmax_idx, MLUOP_DTYPE_INT32, MLUOP_LAYOUT_NHWC,
                {B, K, kBorders, C});
    if (has_no_elements(output_desc)) call.reads_nothing();
    const Args args = checked(call, "input", dtype, "input", input_desc, {boxes_desc, boxes}, K, C, pool_size);
    run_forward(call, args, input, output, static_cast<int32_t*>(argmax_idx));
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpBorderAlignBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t boxes_desc, const void* boxes, const mluOpTensorDescriptor_t argmax_idx_desc,
    const void* argmax_idx, const int32_t pool_size, const mluOpTensorDescriptor_t grad_input_desc,
    void* grad_input) {
  using namespace mluop;
  using namespace mluop::border_align;
  return run_operator("mluOpBorderAlignBackward", handle, [&](Call& call) {
    const auto dtype = dtype_of(grad_output_desc);
    const int64_t B = dim_of(grad_output_desc, 0), K = dim_of(grad_output_desc, 1),
                  C = dim_of(grad_output_desc, 3);
    call.parameter("pool_size", int64_t{pool_size}, AtLeast{1});
    call.input("grad_output", grad_output_desc, grad_output, dtype, MLUOP_LAYOUT_NHWC,
               {kAny, kAny, kBorders, kAny});
    call.input("boxes", boxes_desc, boxes, dtype, kAnyLayout, {B, K, 4});
    call.input("argmax_idx", argmax_idx_desc, argmax_idx, MLUOP_DTYPE_INT32, MLUOP_LAYOUT_NHWC,
               {B, K, kBorders, C});
    call.output("grad_input", grad_input_desc, grad_input, dtype, MLUOP_LAYOUT_NHWC,
                {B, kAny, kAny, saturated_product({kBorders, C})});
    if (has_no_elements(grad_input_desc)) call.reads_nothing();
    const Args args =
        checked(call, "grad_output", dtype, "grad_input", grad_input_desc, {boxes_desc, boxes}, K, C, pool_size);
    run_backward(call, args, grad_output, static_cast<const int32_t*>(argmax_idx), grad_input);
  });
}
