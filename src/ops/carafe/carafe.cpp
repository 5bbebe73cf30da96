// mluOpCarafeForward and mluOpCarafeBackward in one file: kernels, rules, launches, entries.
// Start with the entries at the end, then declare(), which has the rules of both, and the kernels assemble(),
// gather_input() and multiply_mask(). src/api/carafe_descriptor.cpp has the descriptor, row_products-inl.h the
// sums.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/carafe/carafe.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/carafe.h"
#include "core/simd.h"
#include "core/sizes.h"
#include "ops/carafe/carafe.h"
#include "primitives/simd/row_products-inl.h"
#include "team/launch.h"
#include "team/operator_call.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::carafe {
namespace HWY_NAMESPACE {
using mluop::HWY_NAMESPACE::RowProducts;
using mluop::HWY_NAMESPACE::WeightedRows;

// Calls body(group, first, count) for the channels of a pixel, at most RowTile::kChannels at a time.
template <class Body>
HWY_INLINE void for_each_channels(const Args& args, const Body& body) {
  const int64_t channels = args.group_channels();
  for (int64_t group = 0; group < args.G; ++group) {
    for (int64_t first = 0; first < channels; first += RowTile::kChannels) {
      body(group, group * channels + first, std::min(RowTile::kChannels, channels - first));
    }
  }
}

// A pixel of an image of `height` x `width` pixels.
struct Pixel {
  Pixel(int64_t number, int64_t height, int64_t width)
      : n(number / width / height), y(number / width % height), x(number % width) {}

  int64_t n, y, x;
};

// Work items: pixels of the output. Each sums the neighbors of its input pixel.
template <class T>
void assemble(const Args& args, int64_t begin, int64_t end, Task& task) {
  const RowTile tile(task.nram, args.capacity);
  for (int64_t item = begin; item < end; ++item) {
    const Pixel pixel(item, args.output_height(), args.output_width());
    const int64_t h = pixel.y / args.scale, w = pixel.x / args.scale;
    const Range rows = args.inside(h, args.H), columns = args.inside(w, args.W);
    for_each_channels(args, [&](int64_t group, int64_t first, int64_t count) HWY_ATTR {
      const T* const weights = static_cast<const T*>(args.mask) + (item * args.G + group) * args.taps();
      WeightedRows<T> sum(tile, count);
      for (int64_t i = rows.begin; i < rows.end; ++i) {
        const int64_t neighbor = (pixel.n * args.H + h + i - args.k / 2) * args.W + w - args.k / 2;
        for (int64_t j = columns.begin; j < columns.end; ++j) {
          sum.add(static_cast<const T*>(args.input) + (neighbor + j) * args.C + first,
                  to_f32(weights[i * args.k + j]));
        }
      }
      sum.store(static_cast<T*>(args.output) + item * args.C + first);
    });
  }
}

// Work items: pixels of the input. Each sums the gradients of the output pixels that read it, in their order.
template <class T>
void gather_input(const Args& args, int64_t begin, int64_t end, Task& task) {
  const RowTile tile(task.nram, args.capacity);
  const int64_t scale = args.scale;
  for (int64_t item = begin; item < end; ++item) {
    const Pixel pixel(item, args.H, args.W);
    const Range rows = args.pixels(pixel.y, args.H), columns = args.pixels(pixel.x, args.W);
    for_each_channels(args, [&](int64_t group, int64_t first, int64_t count) HWY_ATTR {
      WeightedRows<T> sum(tile, count);
      for (int64_t y = rows.begin * scale; y < rows.end * scale; ++y) {
        const int64_t i = pixel.y - y / scale + args.k / 2;
        const int64_t row = (pixel.n * args.output_height() + y) * args.output_width();
        for (int64_t w = columns.begin; w < columns.end; ++w) {
          const int64_t tap = i * args.k + pixel.x - w + args.k / 2;
          for (int64_t reader = row + w * scale; reader < row + (w + 1) * scale; ++reader) {
            sum.add(static_cast<const T*>(args.grad_output) + reader * args.C + first,
                    to_f32(static_cast<const T*>(args.mask)[(reader * args.G + group) * args.taps() + tap]));
          }
        }
      }
      sum.store(static_cast<T*>(args.grad_input) + item * args.C + first);
    });
  }
}

// Work items: pixels of the output. The gradient of a weight is the product of the gradient and a neighbor.
template <class T>
void multiply_mask(const Args& args, int64_t begin, int64_t end, Task& task) {
  const RowTile tile(task.nram, args.capacity);
  const int64_t channels = args.group_channels();
  for (int64_t item = begin; item < end; ++item) {
    const Pixel pixel(item, args.output_height(), args.output_width());
    const int64_t h = pixel.y / args.scale, w = pixel.x / args.scale;
    const Range rows = args.inside(h, args.H), columns = args.inside(w, args.W);
    for (int64_t group = 0; group < args.G; ++group) {
      const int64_t first = group * channels;
      T* const gradients = static_cast<T*>(args.grad_mask) + (item * args.G + group) * args.taps();
      std::fill_n(gradients, args.taps(), T{});
      const auto store = [=](int64_t tap, float product) { round_to(product, gradients + tap); };
      RowProducts products(tile, static_cast<const T*>(args.grad_output) + item * args.C + first, channels, store);
      for (int64_t i = rows.begin; i < rows.end; ++i) {
        const int64_t neighbor = (pixel.n * args.H + h + i - args.k / 2) * args.W + w - args.k / 2;
        for (int64_t j = columns.begin; j < columns.end; ++j) {
          products.add(static_cast<const T*>(args.input) + (neighbor + j) * args.C + first, i * args.k + j);
        }
      }
      products.finish();
    }
  }
}

MLUOP_SELECT_BY_DTYPE(assemble, Args);
MLUOP_SELECT_BY_DTYPE(gather_input, Args);
MLUOP_SELECT_BY_DTYPE(multiply_mask, Args);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::carafe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::carafe {
namespace {

MLUOP_EXPORT_KERNEL_OF_DTYPE(assemble_kernel, assemble, Args);
MLUOP_EXPORT_KERNEL_OF_DTYPE(gather_input_kernel, gather_input, Args);
MLUOP_EXPORT_KERNEL_OF_DTYPE(multiply_mask_kernel, multiply_mask, Args);

// Declares the parameters and inputs of both operators. Returns the arguments without the tensors that are passed
// to one of them.
Args declare(Call& call, const CarafeDescriptor* carafe_desc, const Input& input, const Input& mask) {
  require_not_null("carafe_desc", carafe_desc);
  const CarafeDescriptor& p = *carafe_desc;
  const auto dtype = dtype_of(input.desc);
  Args args{};
  args.N = dim_of(input.desc, 0);
  args.H = dim_of(input.desc, 1);
  args.W = dim_of(input.desc, 2);
  args.C = dim_of(input.desc, 3);
  args.k = p.kernel_size;
  args.G = p.group_size;
  args.scale = p.scale_factor;
  args.dtype = dtype;
  args.input = input.data;
  args.mask = mask.data;
  call.parameter("dimnb", p.dim_count);
  call.parameter("kernel_size", p.kernel_size);
  call.parameter("group_size", p.group_size);
  call.parameter("scale_factor", p.scale_factor);
  call.input("input", input.desc, input.data, dtype, MLUOP_LAYOUT_NHWC, {kAny, kAny, kAny, kAny});
  call.input("mask", mask.desc, mask.data, dtype, MLUOP_LAYOUT_NHWC,
             {args.N, saturated_product({args.H, args.scale}), saturated_product({args.W, args.scale}),
              saturated_product({args.G, args.k, args.k})});
  return args;
}

void check(Call& call, const CarafeDescriptor& carafe_desc, const Args& args) {
  call.check_pointers();
  require(carafe_desc.is_set, MLUOP_STATUS_BAD_PARAM,
          "carafe_desc is not set, expected mluOpSetCarafeDescriptor before");
  require_element_type("input", args.dtype);
  require(args.C % args.G == 0, MLUOP_STATUS_BAD_PARAM, "input dim 3 is ", args.C, ", expected a multiple of ",
          args.G, ", the group_size");
  call.check_tensors();
}

// `items` pixels, each of which sums up to `rows` rows of channels.
struct Pass {
  int task_dim(const Args& args) const {
    // Bytes of memory traffic that take as long as a product and its addition.
    constexpr double kProductBytes = 0.5;
    const double products = static_cast<double>(items) * static_cast<double>(rows) * static_cast<double>(args.C);
    return choose_task_dim(items, saturated(products * kProductBytes));
  }
  void run(Context& context, const char* name, RangeKernel<Args> kernel, const Args& args) const {
    launch(context, name, task_dim(args), Evenly{items}, kernel, args);
  }

  int64_t items, rows;
};

// Number of pixels of the input that a kernel of the output may read.
int64_t neighbor_count(const Args& args) { return std::min(args.k, args.H) * std::min(args.k, args.W); }

}  // namespace
}  // namespace mluop::carafe

mluOpStatus_t MLUOP_WIN_API mluOpCarafeForward(mluOpHandle_t handle, const mluOpCarafeDescriptor_t carafe_desc,
                                               const mluOpTensorDescriptor_t input_desc, const void* input,
                                               const mluOpTensorDescriptor_t mask_desc, const void* mask,
                                               const mluOpTensorDescriptor_t output_desc, void* output) {
  using namespace mluop;
  using namespace mluop::carafe;
  return run_operator("mluOpCarafeForward", handle, [&](Call& call) {
    Args args = declare(call, carafe_desc, {input_desc, input}, {mask_desc, mask});
    args.output = output;
    call.output(
        "output", output_desc, output, args.dtype, MLUOP_LAYOUT_NHWC,
        {args.N, saturated_product({args.H, args.scale}), saturated_product({args.W, args.scale}), args.C});
    if (has_no_elements(output_desc)) call.reads_nothing();
    check(call, *carafe_desc, args);
    if (has_no_elements(output_desc)) return;
    call.context().reserve(0);
    args.capacity = row_capacity(call.context(), neighbor_count(args));
    const Pass pass{args.N * args.output_height() * args.output_width(), neighbor_count(args)};
    call.log_detail("taskDim ", pass.task_dim(args));
    pass.run(call.context(), "assemble", assemble_kernel(args.dtype), args);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpCarafeBackward(mluOpHandle_t handle, const mluOpCarafeDescriptor_t carafe_desc,
                                                const mluOpTensorDescriptor_t input_desc, const void* input,
                                                const mluOpTensorDescriptor_t mask_desc, const void* mask,
                                                const mluOpTensorDescriptor_t grad_output_desc,
                                                const void* grad_output,
                                                const mluOpTensorDescriptor_t grad_input_desc, void* grad_input,
                                                const mluOpTensorDescriptor_t grad_mask_desc, void* grad_mask) {
  using namespace mluop;
  using namespace mluop::carafe;
  return run_operator("mluOpCarafeBackward", handle, [&](Call& call) {
    Args args = declare(call, carafe_desc, {input_desc, input}, {mask_desc, mask});
    const int64_t Ho = saturated_product({args.H, args.scale}), Wo = saturated_product({args.W, args.scale});
    args.grad_output = grad_output;
    args.grad_input = grad_input;
    args.grad_mask = grad_mask;
    call.input("grad_output", grad_output_desc, grad_output, args.dtype, MLUOP_LAYOUT_NHWC,
               {args.N, Ho, Wo, args.C});
    call.output("grad_input", grad_input_desc, grad_input, args.dtype, MLUOP_LAYOUT_NHWC,
                {args.N, args.H, args.W, args.C});
    call.output("grad_mask", grad_mask_desc, grad_mask, args.dtype, MLUOP_LAYOUT_NHWC,
                {args.N, Ho, Wo, saturated_product({args.G, args.k, args.k})});
    const int64_t pixels = args.N * args.H * args.W;
    if (pixels == 0) call.reads_nothing();
    check(call, *carafe_desc, args);
    if (pixels == 0) return;
    call.context().reserve(0);
    const int64_t readers = saturated_product({neighbor_count(args), args.scale, args.scale});
    args.capacity = row_capacity(call.context(), readers);
    const Pass of_input{pixels, readers}, of_mask{pixels * args.scale * args.scale, neighbor_count(args)};
    call.log_detail("taskDim ", of_input.task_dim(args), ", ", of_mask.task_dim(args));
    of_input.run(call.context(), "gather_input", gather_input_kernel(args.dtype), args);
    of_mask.run(call.context(), "multiply_mask", multiply_mask_kernel(args.dtype), args);
  });
}
#endif
