// mluOpPsRoiPoolForward and mluOpPsRoiPoolBackward in one file: kernels, launches, rules, entries.
// Start with the entries at the end, then run_forward() and run_backward(), and the kernels pool() and add(). The
// bins are in primitives/geometry/roi_bins.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/psroipool/psroipool.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "core/simd.h"
#include "core/sizes.h"
#include "mlu_op.h"
#include "ops/psroipool/psroipool.h"
#include "primitives/indices/check_indices.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "team/launch.h"
#include "team/operator_call.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::psroipool {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::store_f32;

// Work items: RoIs. Adds the pixels of a bin by rows, in vectors of channels.
template <class T>
void pool(const PoolArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t P = args.P, K = args.K;
  for (int64_t r = begin; r < end; ++r) {
    for (int64_t g = 0; g < args.groups(); ++g) {
      const Range rows = args.bins.rows[r * P + g / P], columns = args.bins.columns[r * P + g % P];
      const auto area = static_cast<float>(std::max<int64_t>(rows.size() * columns.size(), 1));
      const float* const from =
          args.groups_of_images + (args.bins.images[r] * args.groups() + g) * args.pixels() * K;
      const int64_t first = (r * args.groups() + g) * K;
      for_each_vector(K, [&](auto d, int64_t k) HWY_ATTR {
        auto sum = hn::Zero(d);
        for (int64_t y = rows.begin; y < rows.end; ++y) {
          for (int64_t x = columns.begin; x < columns.end; ++x) {
            sum = hn::Add(sum, hn::LoadU(d, from + (y * args.W + x) * K + k));
          }
        }
        store_f32(hn::Div(sum, hn::Set(d, area)), d, static_cast<T*>(args.output) + first + k);
      });
      for (int64_t k = 0; k < K; ++k) {
        args.mapping_channel[first + k] = static_cast<int32_t>(k * args.groups() + g);
      }
    }
  }
}

// Calls visit(bin, group, columns, area) for the bins of the RoIs of an image that have row y.
template <class Visit>
void for_each_bin(const AddArgs& args, int64_t image, int64_t y, const Visit& visit) {
  const int64_t P = args.P;
  for (int64_t r = 0; r < args.R; ++r) {
    if (args.bins.images[r] != image) continue;
    for (int64_t p = 0; p < P; ++p) {
      const Range rows = args.bins.rows[r * P + p];
      if (y < rows.begin || y >= rows.end) continue;
      for (int64_t q = 0; q < P; ++q) {
        const Range columns = args.bins.columns[r * P + q];
        const int64_t group = p * P + q;
        visit(r * args.groups() + group, group, columns, static_cast<float>(rows.size() * columns.size()));
      }
    }
  }
}

// Adds the gradients of an image to a row of its pixels: sums [P^2, W, K], in vectors of channels.
template <class T>
void add_vectors(const AddArgs& args, int64_t image, int64_t y, float* sums) {
  const int64_t K = args.K;
  for_each_bin(args, image, y, [&](int64_t bin, int64_t group, const Range& columns, float area) {
    for_each_vector(K, [&](auto d, int64_t k) HWY_ATTR {
      const T* const grads = static_cast<const T*>(args.top_grad) + bin * K + k;
      const auto share = hn::Div(load_f32(d, grads), hn::Set(d, area));
      float* to = sums + (group * args.W + columns.begin) * K + k;
      for (int64_t x = columns.begin; x < columns.end; ++x, to += K) {
        hn::StoreU(hn::Add(hn::LoadU(d, to), share), d, to);
      }
    });
  });
}

// The same to the channels of mapping_channel: sums [W, C].
template <class T>
void add_channels(const AddArgs& args, int64_t image, int64_t y, float* sums) {
  for_each_bin(args, image, y, [&](int64_t bin, int64_t, const Range& columns, float area) {
    for (int64_t i = bin * args.K; i < (bin + 1) * args.K; ++i) {
      const float share = to_f32(static_cast<const T*>(args.top_grad)[i]) / area;
      float* const channel = sums + args.mapping_channel[i];
      for (int64_t x = columns.begin; x < columns.end; ++x) channel[x * args.C] += share;
    }
  });
}

// Work items: rows of pixels of all images, which own their elements. Adds the gradients of RoIs, bins and
// channels in their order.
template <class T>
void add(const AddArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t row_elements = args.W * args.C, groups = args.groups();
  float* const sums = args.sums + task.taskId * row_elements;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t image = row / args.H, y = row % args.H;
    T* const to = static_cast<T*>(args.bottom_grad) + row * row_elements;
    std::fill_n(sums, row_elements, 0.0F);
    if (args.mapping_channel == nullptr) {
      add_vectors<T>(args, image, y, sums);
      for (int64_t x = 0; x < args.W; ++x) {
        for (int64_t k = 0; k < args.K; ++k) {
          T* const pixel = to + x * args.C + k * groups;
          for (int64_t g = 0; g < groups; ++g) round_to(sums[(g * args.W + x) * args.K + k], pixel + g);
        }
      }
    } else {
      add_channels<T>(args, image, y, sums);
      for (int64_t i = 0; i < row_elements; ++i) round_to(sums[i], to + i);
    }
  }
}

MLUOP_SELECT_BY_DTYPE(pool, PoolArgs);
MLUOP_SELECT_BY_DTYPE(add, AddArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::psroipool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::psroipool {
namespace {

MLUOP_EXPORT_KERNEL_OF_DTYPE(pool_kernel, pool, PoolArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(add_kernel, add, AddArgs);

struct CompareArgs : AddArgs {
  FirstBadItem& first_other;
};

constexpr int64_t kItemsPerTask = 8;
// Estimated bytes of the pixels that an element of a bin reads or adds to, used to choose the number of tasks.
constexpr int64_t kElementBytes = 64;

// Work items: pixels of all images.
template <class T>
void regroup(const PoolArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t pixels = args.pixels(), groups = args.groups();
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    const T* const from = static_cast<const T*>(args.input) + pixel * args.C;
    for (int64_t g = 0; g < groups; ++g) {
      float* const to = args.groups_of_images + ((pixel / pixels * groups + g) * pixels + pixel % pixels) * args.K;
      for (int64_t k = 0; k < args.K; ++k) to[k] = to_f32(from[k * groups + g]);
    }
  }
}

RoiBinsArgs bins_of(const Args& args, float spatial_scale, const RoiBins& to) {
  return {BinRule::kRoundedCorners, spatial_scale, args.B, args.H, args.W, args.R, args.P, args.P, args.rois, to};
}

struct ForwardScratch {
  ForwardScratch(Arena& arena, const Args& args)
      : bins(arena, args.R, args.P, args.P),
        groups(arena.take<float>("groups", {args.B, args.pixels(), args.C})) {}

  RoiBins bins;
  float* groups;
};

void run_forward(Call& call, float spatial_scale, PoolArgs args) {
  Context& context = call.context();
  Arena arena = context.reserve(bytes_of<ForwardScratch>(args));
  const ForwardScratch scratch(arena, args);
  args.bins = scratch.bins;
  args.groups_of_images = scratch.groups;
  find_roi_bins(context, args.dtype, bins_of(args, spatial_scale, scratch.bins));
  const int64_t pixels = args.B * args.pixels();
  launch(
      context, "regroup", choose_task_dim(pixels, pixels * args.C * 2 * int64_t{sizeof(float)}), Evenly{pixels},
      dispatch_dtype(args.dtype, [](auto element) -> RangeKernel<PoolArgs> { return regroup<decltype(element)>; }),
      args);
  const int task_dim = choose_task_dim(args.R, saturated_product({args.R, args.groups(), args.K, kElementBytes}));
  call.log_detail("native, taskDim ", task_dim);
  const auto chunks = static_cast<int>(std::min<int64_t>(args.R, kItemsPerTask * task_dim));
  launch_dynamic(context, "pool", task_dim, chunks, Evenly{args.R}, pool_kernel(args.dtype), args);
}

// Work items: bins. Reports an element of mapping_channel that the forward operator does not write.
void compare_mapping(const CompareArgs& args, int64_t begin, int64_t end, Task&) {
  const int64_t groups = args.groups(), K = args.K;
  for (int64_t i = begin * K; i < end * K; ++i) {
    if (args.mapping_channel[i] == i % K * groups + i / K % groups) continue;
    args.first_other.report(i);
    return;
  }
}

// Removes mapping_channel from `args` if it is what the forward operator writes. Throws Failure with BAD_PARAM if
// a channel does not exist.
void check_mapping(Context& context, AddArgs& args) {
  if (args.mapping_channel == nullptr || args.R == 0) return;
  const int64_t bins = args.R * args.groups(), count = bins * args.K;
  FirstBadItem first_other;
  launch<CompareArgs>(context, "compare", choose_task_dim(bins, count * int64_t{sizeof(int32_t)}), Evenly{bins},
                      compare_mapping, {args, first_other});
  if (!first_other.found()) {
    args.mapping_channel = nullptr;
    return;
  }
  const FirstBadItem bad = check_indices(context, {args.mapping_channel, count, args.C});
  if (!bad.found()) return;
  const int64_t i = bad.item(), k = i % args.K, bin = i / args.K % args.groups();
  throw Failure(MLUOP_STATUS_BAD_PARAM,
                text("mapping_channel[", i / args.K / args.groups(), ", ", bin / args.P, ", ", bin % args.P, ", ",
                     k, "] is ", args.mapping_channel[i], ", expected 0 to ", args.C - 1));
}

struct BackwardScratch {
  BackwardScratch(Arena& arena, const Args& args, int task_dim)
      : bins(arena, args.R, args.P, args.P), sums(arena.take<float>("sums", {task_dim, args.W, args.C})) {}

  RoiBins bins;
  float* sums;
};

void run_backward(Call& call, float spatial_scale, AddArgs args) {
  Context& context = call.context();
  const int64_t rows = args.B * args.H, elements = args.R * args.groups() * args.K;
  const int task_dim = choose_task_dim(rows, saturated_product({elements, kElementBytes}));
  Arena arena = context.reserve(bytes_of<BackwardScratch>(args, task_dim));
  const BackwardScratch scratch(arena, args, task_dim);
  args.bins = scratch.bins;
  args.sums = scratch.sums;
  call.log_detail("native, taskDim ", task_dim);
  check_mapping(context, args);
  find_roi_bins(context, args.dtype, bins_of(args, spatial_scale, scratch.bins));
  const auto chunks = static_cast<int>(std::min<int64_t>(rows, kItemsPerTask * task_dim));
  launch_dynamic(context, "add", task_dim, chunks, Evenly{rows}, add_kernel(args.dtype), args);
}

struct Parameters {
  int pooled_height, pooled_width;
  float spatial_scale;
  int output_dim;
};

Args args_of(const Parameters& parameters, const TensorDescriptor* images, const Input& rois) {
  return {.B = dim_of(images, 0),
          .C = dim_of(images, 3),
          .H = dim_of(images, 1),
          .W = dim_of(images, 2),
          .R = dim_of(rois.desc, 0),
          .P = parameters.pooled_height,
          .K = parameters.output_dim,
          .dtype = dtype_of(images),
          .rois = rois.data};
}

// The rules for parameters and images, after the declarations.
void check(Call& call, const Parameters& parameters, const Args& args, std::string_view images) {
  const int P = parameters.pooled_height;
  call.check_parameters();
  require(parameters.pooled_width == P, MLUOP_STATUS_BAD_PARAM, "pooled_width is ", parameters.pooled_width,
          ", expected pooled_height, ", P);
  require(parameters.spatial_scale > 0, MLUOP_STATUS_BAD_PARAM, "spatial_scale is ", parameters.spatial_scale,
          ", expected a positive number");
  require_element_type(images, args.dtype);
  call.check_tensors();
  require_int32_count("the number of channels", args.C);
}

void declare(Call& call, const Parameters& parameters) {
  call.parameter("pooled_height", parameters.pooled_height, AtLeast{1});
  call.parameter("pooled_width", parameters.pooled_width, AtLeast{1});
  call.parameter("spatial_scale", parameters.spatial_scale);
  call.parameter("output_dim", parameters.output_dim, AtLeast{1});
}

int64_t channels_of(const Args& args) { return saturated_product({args.P, args.P, args.K}); }

}  // namespace
}  // namespace mluop::psroipool

mluOpStatus_t MLUOP_WIN_API mluOpPsRoiPoolForward(
    mluOpHandle_t handle, const int pooled_height, const int pooled_width, const float spatial_scale,
    const int group_size, const int output_dim, const mluOpTensorDescriptor_t input_desc, const void* input,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const mluOpTensorDescriptor_t output_desc,
    void* output, const mluOpTensorDescriptor_t mapping_channel_desc, void* mapping_channel) {
  using namespace mluop;
  using namespace mluop::psroipool;
  return run_operator("mluOpPsRoiPoolForward", handle, [&](Call& call) {
    const Parameters parameters{pooled_height, pooled_width, spatial_scale, output_dim};
    const Args args = args_of(parameters, input_desc, {rois_desc, rois});
    declare(call, parameters);
    call.parameter("group_size", group_size);
    call.input("input", input_desc, input, args.dtype, MLUOP_LAYOUT_NHWC, {kAny, kAny, kAny, channels_of(args)});
    call.input("rois", rois_desc, rois, args.dtype, kAnyLayout, {kAny, 5});
    call.output("output", output_desc, output, args.dtype, MLUOP_LAYOUT_NHWC, {args.R, args.P, args.P, args.K});
    call.output("mapping_channel", mapping_channel_desc, mapping_channel, MLUOP_DTYPE_INT32, MLUOP_LAYOUT_NHWC,
                {args.R, args.P, args.P, args.K});
    if (has_no_elements(output_desc)) call.reads_nothing();
    call.check_pointers();
    require(group_size == pooled_height, MLUOP_STATUS_BAD_PARAM, "group_size is ", group_size,
            ", expected pooled_height, ", pooled_height);
    check(call, parameters, args, "input");
    if (has_no_elements(output_desc)) return;
    run_forward(call, spatial_scale, {args, input, output, static_cast<int32_t*>(mapping_channel), {}, nullptr});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpPsRoiPoolBackward(
    mluOpHandle_t handle, const int pooled_height, const int pooled_width, const float spatial_scale,
    const int output_dim, const mluOpTensorDescriptor_t top_grad_desc, const void* top_grad,
    const mluOpTensorDescriptor_t rois_desc, const void* rois, const mluOpTensorDescriptor_t mapping_channel_desc,
    const void* mapping_channel, const mluOpTensorDescriptor_t bottom_grad_desc, void* bottom_grad) {
  using namespace mluop;
  using namespace mluop::psroipool;
  return run_operator("mluOpPsRoiPoolBackward", handle, [&](Call& call) {
    const Parameters parameters{pooled_height, pooled_width, spatial_scale, output_dim};
    const Args args = args_of(parameters, bottom_grad_desc, {rois_desc, rois});
    declare(call, parameters);
    call.input("top_grad", top_grad_desc, top_grad, args.dtype, MLUOP_LAYOUT_NHWC,
               {args.R, args.P, args.P, args.K});
    call.input("rois", rois_desc, rois, args.dtype, kAnyLayout, {kAny, 5});
    const void* const mapping =
        call.optional_input("mapping_channel", {mapping_channel_desc, mapping_channel}, MLUOP_DTYPE_INT32,
                            MLUOP_LAYOUT_NHWC, {args.R, args.P, args.P, args.K});
    call.output("bottom_grad", bottom_grad_desc, bottom_grad, args.dtype, MLUOP_LAYOUT_NHWC,
                {kAny, kAny, kAny, channels_of(args)});
    if (has_no_elements(bottom_grad_desc)) call.reads_nothing();
    call.check_pointers();
    check(call, parameters, args, "bottom_grad");
    if (has_no_elements(bottom_grad_desc)) return;
    run_backward(call, spatial_scale,
                 {args, top_grad, static_cast<const int32_t*>(mapping), bottom_grad, {}, nullptr});
  });
}
#endif
