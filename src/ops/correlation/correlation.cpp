// mluOpOmpCorrelationForward and mluOpOmpCorrelationBackward in one file: kernels, rules, launches, entries.
// Start with the entries at the end, then declare(), which has the rules of both, and the kernels correlate() and
// gather(); row_products-inl.h has the sums.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/correlation/correlation.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <numeric>

#include "core/simd.h"
#include "core/sizes.h"
#include "mlu_op_omp.h"
#include "ops/correlation/correlation.h"
#include "primitives/simd/row_products-inl.h"
#include "team/launch.h"
#include "team/operator_call.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::correlation {
namespace HWY_NAMESPACE {
using mluop::HWY_NAMESPACE::RowProducts;
using mluop::HWY_NAMESPACE::WeightedRows;

// Work items: pixels (n, h, w) of the output. Each multiplies pixels of input1 with their displaced pixels of
// input2, in the order of the kernel.
template <class T>
void correlate(const Args& args, int64_t begin, int64_t end, Task& task) {
  const RowTile tile(task.nram, args.capacity);
  const Axis &y = args.y, &x = args.x;
  const int64_t step = x.dilation_patch * args.C;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t n = item / args.plane(), h = item / x.output_size % y.output_size, w = item % x.output_size;
    const Range rows = y.elements(h), columns = x.elements(w);
    T* const output = static_cast<T*>(args.output) + n * args.patch_size() * args.plane() + item % args.plane();
    for (int64_t first = 0; first < args.patch_size(); first += args.capacity) {
      const int64_t count = std::min(args.capacity, args.patch_size() - first);
      std::fill_n(tile.sums, count, 0.0F);
      const auto add = [&](int64_t place, float product) { tile.sums[place] += product; };
      for (int64_t i = rows.begin; i < rows.end; ++i) {
        for (int64_t j = columns.begin; j < columns.end; ++j) {
          const int64_t i1 = y.position(h, i), j1 = x.position(w, j);
          const Range down = y.displacements(i1), right = x.displacements(j1);
          const auto pixel = [&](const void* input, int64_t row, int64_t column) {
            return static_cast<const T*>(input) + ((n * y.size + row) * x.size + column) * args.C;
          };
          RowProducts products(tile, pixel(args.input1, i1, j1), args.C, add);
          for (int64_t p = down.begin; p < down.end; ++p) {
            const int64_t place = p * x.patch - first;
            const int64_t q = std::max(right.begin, -place), last = std::min(right.end, count - place);
            if (q >= last) continue;
            const T* const row = pixel(args.input2, y.displaced(i1, p), x.displaced(j1, q));
            products.add_run(row, step, place + q, place + last);
          }
          products.finish();
        }
      }
      for (int64_t t = 0; t < count; ++t) round_to(tile.sums[t], output + (first + t) * args.plane());
    }
  }
}

// Work items: pixels (n, y, x) of an input. Each sums the pixels of the other input, in the order of
// displacements, times the gradients of the products that contain both.
template <class T>
void gather(const GatherArgs& args, int64_t begin, int64_t end, Task& task) {
  const RowTile tile(task.nram, args.capacity);
  const Axis &y = args.y, &x = args.x;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t column = item % x.size, row = item / x.size % y.size, n = item / x.size / y.size;
    const Range down = y.displacements(row), right = x.displacements(column);
    for (int64_t channel = 0; channel < args.C; channel += RowTile::kChannels) {
      const int64_t channels = std::min(RowTile::kChannels, args.C - channel);
      WeightedRows<T> sum(tile, channels);
      for (int64_t a = 0; a < down.size(); ++a) {
        // A displacement of input2 is the opposite displacement of input1.
        const int64_t at_y = args.is_first ? down.begin + a : down.end - 1 - a, other_y = y.displaced(row, at_y);
        const int64_t p = args.is_first ? at_y : y.patch - 1 - at_y;
        const Readers rows = y.readers[args.is_first ? row : other_y];
        for (int64_t b = 0; b < (rows.count > 0 ? right.size() : 0); ++b) {
          const int64_t at_x = args.is_first ? right.begin + b : right.end - 1 - b;
          const int64_t q = args.is_first ? at_x : x.patch - 1 - at_x, other_x = x.displaced(column, at_x);
          const Readers columns = x.readers[args.is_first ? column : other_x];
          if (columns.count == 0) continue;
          const T* from = static_cast<const T*>(args.grad_output) +
                          ((n * y.patch + p) * x.patch + q) * args.plane() + rows.first * x.output_size +
                          columns.first;
          float weight = 0;
          for (int64_t i = 0; i < rows.count; ++i, from -= y.step * x.output_size) {
            for (int64_t j = 0; j < columns.count; ++j) weight += to_f32(*(from - j * x.step));
          }
          sum.add(
              static_cast<const T*>(args.other) + ((n * y.size + other_y) * x.size + other_x) * args.C + channel,
              weight);
        }
      }
      sum.store(static_cast<T*>(args.gradient) + item * args.C + channel);
    }
  }
}

MLUOP_SELECT_BY_DTYPE(correlate, Args);
MLUOP_SELECT_BY_DTYPE(gather, GatherArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::correlation
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::correlation {
namespace {

MLUOP_EXPORT_KERNEL_OF_DTYPE(correlate_kernel, correlate, Args);
MLUOP_EXPORT_KERNEL_OF_DTYPE(gather_kernel, gather, GatherArgs);

// The parameters, in pairs of height and width.
struct Geometry {
  int kernel[2], patch[2], pad[2], dilation[2], dilation_patch[2], stride[2];
};

struct Tables {
  Tables(Arena& arena, const Args& args)
      : y(arena.take<Readers>("rows", {args.y.size})), x(arena.take<Readers>("columns", {args.x.size})) {}

  Readers *y, *x;
};

Axis axis_of(const Geometry& g, int at, int64_t size) {
  Axis axis{g.kernel[at], g.patch[at], g.pad[at], g.dilation[at], g.dilation_patch[at], g.stride[at],
            size,         0,           1,         nullptr};
  const int64_t room = size + 2 * axis.pad - (axis.kernel - 1) * axis.dilation - 1;
  if (axis.stride < 1) return axis;  // refused later
  axis.output_size = room < 0 ? 0 : room / axis.stride + 1;
  axis.step = axis.dilation / std::gcd(axis.dilation, axis.stride);
  return axis;
}

// Declares the parameters and inputs of both operators. Returns the arguments without the output.
Args declare(Call& call, const Geometry& g, const Input& input1, const Input& input2) {
  constexpr const char* kNames[][2] = {{"kernel_h", "kernel_w"},
                                       {"patch_h", "patch_w"},
                                       {"pad_h", "pad_w"},
                                       {"dilation_h", "dilation_w"},
                                       {"dilation_patch_h", "dilation_patch_w"},
                                       {"stride_h", "stride_w"}};
  const int(*const values[])[2] = {&g.kernel, &g.patch, &g.pad, &g.dilation, &g.dilation_patch, &g.stride};
  for (size_t i = 0; i < std::size(values); ++i) {
    const int64_t least = values[i] == &g.pad ? 0 : 1;
    for (const int at : {0, 1}) call.parameter(kNames[i][at], (*values[i])[at], AtLeast{least});
  }
  const auto dtype = dtype_of(input1.desc);
  const int64_t H = dim_of(input1.desc, 1), W = dim_of(input1.desc, 2);
  Args args{};
  args.N = dim_of(input1.desc, 0);
  args.C = dim_of(input1.desc, 3);
  args.y = axis_of(g, 0, H);
  args.x = axis_of(g, 1, W);
  args.dtype = dtype;
  args.input1 = input1.data;
  args.input2 = input2.data;
  call.input("input1", input1.desc, input1.data, dtype, MLUOP_LAYOUT_NHWC, {kAny, kAny, kAny, kAny});
  call.input("input2", input2.desc, input2.data, dtype, MLUOP_LAYOUT_NHWC, {args.N, H, W, args.C});
  return args;
}

void check(Call& call, const Args& args) {
  call.check_pointers();
  call.check_parameters();
  const auto require_odd = [](std::string_view name, int64_t patch) {
    require(patch % 2 == 1, MLUOP_STATUS_BAD_PARAM, name, " is ", patch, ", expected an odd number");
  };
  require_odd("patch_h", args.y.patch);
  require_odd("patch_w", args.x.patch);
  require_element_type("input1", args.dtype);
  call.check_tensors();
}

// The number of tasks for `items` pixels, each of which multiplies a row of channels for each displacement.
int count_tasks(const Args& args, int64_t items) {
  // Bytes of memory traffic that take as long as a product and its addition.
  constexpr double kProductBytes = 0.5;
  const double rows = static_cast<double>(args.patch_size()) * static_cast<double>(args.C + 16);
  return choose_task_dim(items, saturated(static_cast<double>(items) * rows * kProductBytes));
}

// Finds the pixels of the output that read each pixel.
void fill(const Axis& axis, Readers* to) {
  const int64_t period = axis.stride / std::gcd(axis.dilation, axis.stride);
  for (int64_t pixel = 0; pixel < axis.size; ++pixel) {
    const int64_t start = pixel + axis.pad, beyond = start - axis.output_size * axis.stride;
    int64_t i = beyond < 0 ? 0 : beyond / axis.dilation + 1;
    const int64_t end = std::min(axis.kernel, start / axis.dilation + 1), last = std::min(end, i + period);
    while (i < last && (start - i * axis.dilation) % axis.stride != 0) ++i;
    to[pixel] =
        i < last ? Readers{(start - i * axis.dilation) / axis.stride, ceil_div(end - i, period)} : Readers{0, 0};
  }
}

}  // namespace
}  // namespace mluop::correlation

mluOpStatus_t MLUOP_WIN_API mluOpOmpCorrelationForward(
    mluOpHandle_t handle, const int kernel_h, const int kernel_w, const int patch_h, const int patch_w,
    const int pad_h, const int pad_w, const int dilation_h, const int dilation_w, const int dilation_patch_h,
    const int dilation_patch_w, const int stride_h, const int stride_w, const mluOpTensorDescriptor_t input1_desc,
    const void* input1, const mluOpTensorDescriptor_t input2_desc, const void* input2,
    const mluOpTensorDescriptor_t output_desc, void* output) {
  using namespace mluop;
  using namespace mluop::correlation;
  const Geometry geometry{{kernel_h, kernel_w},
                          {patch_h, patch_w},
                          {pad_h, pad_w},
                          {dilation_h, dilation_w},
                          {dilation_patch_h, dilation_patch_w},
                          {stride_h, stride_w}};
  return run_operator("mluOpOmpCorrelationForward", handle, [&](Call& call) {
    Args args = declare(call, geometry, {input1_desc, input1}, {input2_desc, input2});
    args.output = output;
    call.output("output", output_desc, output, args.dtype, MLUOP_LAYOUT_ARRAY,
                {args.N, args.y.patch, args.x.patch, args.y.output_size, args.x.output_size});
    if (has_no_elements(output_desc)) call.reads_nothing();
    check(call, args);
    if (has_no_elements(output_desc)) return;
    args.capacity = row_capacity(call.context(), args.patch_size());
    call.context().reserve(0);
    const int64_t items = args.N * args.plane();
    const int task_dim = count_tasks(args, items);
    call.log_detail("taskDim ", task_dim);
    launch(call.context(), "correlate", task_dim, Evenly{items}, correlate_kernel(args.dtype), args);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpCorrelationBackward(
    mluOpHandle_t handle, const int kernel_h, const int kernel_w, const int patch_h, const int patch_w,
    const int pad_h, const int pad_w, const int dilation_h, const int dilation_w, const int dilation_patch_h,
    const int dilation_patch_w, const int stride_h, const int stride_w,
    const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t input1_desc, const void* input1, const mluOpTensorDescriptor_t input2_desc,
    const void* input2, const mluOpTensorDescriptor_t grad_input1_desc, void* grad_input1,
    const mluOpTensorDescriptor_t grad_input2_desc, void* grad_input2) {
  using namespace mluop;
  using namespace mluop::correlation;
  const Geometry geometry{{kernel_h, kernel_w},
                          {patch_h, patch_w},
                          {pad_h, pad_w},
                          {dilation_h, dilation_w},
                          {dilation_patch_h, dilation_patch_w},
                          {stride_h, stride_w}};
  return run_operator("mluOpOmpCorrelationBackward", handle, [&](Call& call) {
    Args args = declare(call, geometry, {input1_desc, input1}, {input2_desc, input2});
    args.grad_output = grad_output;
    call.input("grad_output", grad_output_desc, grad_output, args.dtype, MLUOP_LAYOUT_ARRAY,
               {args.N, args.y.patch, args.x.patch, args.y.output_size, args.x.output_size});
    for (const auto& [name, desc, data] : {std::tuple("grad_input1", grad_input1_desc, grad_input1),
                                           {"grad_input2", grad_input2_desc, grad_input2}}) {
      call.output(name, desc, data, args.dtype, MLUOP_LAYOUT_NHWC, {args.N, args.y.size, args.x.size, args.C});
    }
    if (has_no_elements(grad_input1_desc)) call.reads_nothing();
    check(call, args);
    if (has_no_elements(grad_input1_desc)) return;
    args.capacity = row_capacity(call.context(), args.patch_size());
    Arena arena = call.context().reserve(bytes_of<Tables>(args));
    const Tables tables(arena, args);
    fill(args.y, tables.y);
    fill(args.x, tables.x);
    args.y.readers = tables.y;
    args.x.readers = tables.x;
    const int64_t items = args.N * args.y.size * args.x.size;
    const int task_dim = count_tasks(args, items);
    call.log_detail("taskDim ", task_dim);
    const auto run = [&](const char* name, bool is_first, const void* other, void* gradient) {
      launch(call.context(), name, task_dim, Evenly{items}, gather_kernel(args.dtype),
             {args, is_first, other, gradient});
    };
    run("gather_input1", true, input2, grad_input1);
    run("gather_input2", false, input1, grad_input2);
  });
}
#endif
