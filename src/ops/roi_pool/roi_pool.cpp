// mluOpRoiPoolingForward, mluOpRoiPoolingBackward and mluOpOmpRoiPoolForward in one file: kernels, launches,
// rules, entries.
// Start with the entries at the end, then run_forward() and run_backward(), and the kernels pool() and add(). The
// bins are in primitives/geometry/roi_bins.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/roi_pool/roi_pool.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "core/simd.h"
#include "core/sizes.h"
#include "mlu_op.h"
#include "mlu_op_omp.h"
#include "ops/roi_pool/roi_pool.h"
#include "primitives/geometry/roi_bins.h"
#include "primitives/memory/prefetch.h"
#include "primitives/simd/channel_strip.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "team/launch.h"
#include "team/operator_call.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::roi_pool {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_f32;

// The first maximum of up to kStripChannels channels over the pixels of a bin, and its pixel; -1 if all are NaN or
// at most the lowest fp32 number. from: the channels of the first pixel of the image, `stride` apart.
template <class T>
HWY_INLINE void find_maxima(const T* from, int64_t stride, int64_t W, const Range& rows, const Range& columns,
                            int64_t channels, float* maxima, int32_t* places) {
  for_each_vector<kStripChannels>(channels, [&](auto d, int64_t c) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    auto best = hn::Set(d, std::numeric_limits<float>::lowest());
    auto place = hn::Set(di, -1);
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      const int64_t first = y * W + columns.begin;
      const T* pixel = from + first * stride + c;
      auto at = hn::Set(di, static_cast<int32_t>(first));
      for (int64_t x = columns.begin; x < columns.end; ++x, pixel += stride) {
        const auto value = load_f32(d, pixel);
        const auto is_greater = hn::Gt(value, best);
        best = hn::IfThenElse(is_greater, value, best);
        place = hn::IfThenElse(hn::RebindMask(di, is_greater), at, place);
        at = hn::Add(at, hn::Set(di, 1));
      }
    }
    hn::StoreU(best, d, maxima + c);
    hn::StoreU(place, di, places + c);
  });
}

// Copies the rows of pixels that the RoIs of an image may read: to[pixel, channel].
template <class T>
void copy_strip(const PoolArgs& args, const Range& rois, int64_t image, int64_t channels, const T* from, T* to) {
  Range rows{args.H, 0};
  for (int64_t r = rois.begin; r < rois.end; ++r) {
    if (args.rois_bins.images[r] != image) continue;
    for (int64_t p = 0; p < args.PH; ++p) {
      const Range& bin = args.rois_bins.rows[r * args.PH + p];
      if (bin.size() == 0) continue;
      rows = {std::min(rows.begin, bin.begin), std::max(rows.end, bin.end)};
    }
  }
  constexpr int64_t kRun = 64;  // pixels whose channels stay in L1
  for (int64_t run = rows.begin * args.W; run < rows.end * args.W; run += kRun) {
    const int64_t last = std::min(run + kRun, rows.end * args.W);
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = run; i < last; ++i) to[i * kStripChannels + c] = from[c * args.pixels() + i];
    }
  }
}

// Work items: (image, strip of channels, block of RoIs), blocks fastest.
template <class T>
void pool(const PoolArgs& args, int64_t begin, int64_t end, Task& task) {
  T* const copy = static_cast<T*>(args.copies) + task.taskId * args.pixels() * kStripChannels;
  const auto& [images, all_rows, all_columns] = args.rois_bins;
  const int64_t blocks = ceil_div(args.R, args.roi_block), to_channel = args.channel_stride(args.bins());
  for (int64_t item = begin; item < end; ++item) {
    const int64_t image = item / blocks / args.strips, first_roi = item % blocks * args.roi_block;
    const int64_t last_roi = std::min(first_roi + args.roi_block, args.R);
    const int64_t first = item / blocks % args.strips * kStripChannels;
    const int64_t channels = args.channels_last ? args.C : std::min(kStripChannels, args.C - first);
    const T* from = static_cast<const T*>(args.input) + (image * args.C + first) * args.pixels();
    const int64_t stride = args.channels_last ? args.C : kStripChannels;
    if (!args.channels_last) {
      copy_strip(args, {first_roi, last_roi}, image, channels, from, copy);
      from = copy;
    }
    for (int64_t r = first_roi; r < last_roi; ++r) {
      if (images[r] != image) continue;
      int64_t to = r * args.C * args.bins() + first * to_channel;
      for (int64_t bin = 0; bin < args.bins(); ++bin, to += args.inner()) {
        const Range rows = all_rows[r * args.PH + bin / args.PW],
                    columns = all_columns[r * args.PW + bin % args.PW];
        const bool is_empty = rows.size() == 0 || columns.size() == 0;
        for (int64_t c = 0; c < channels; c += kStripChannels) {
          const int64_t count = std::min(kStripChannels, channels - c);
          float maxima[kStripChannels] = {};
          int32_t places[kStripChannels];
          std::fill_n(places, count, -1);
          if (!is_empty) find_maxima(from + c, stride, args.W, rows, columns, count, maxima, places);
          for (int64_t i = 0; i < count; ++i) {
            const int64_t at = to + (c + i) * to_channel;
            round_to(maxima[i], static_cast<T*>(args.output) + at);
            args.argmax[at] = places[i];
          }
        }
      }
    }
  }
}

MLUOP_SELECT_BY_DTYPE(pool, PoolArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::roi_pool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::roi_pool {
namespace {

MLUOP_EXPORT_KERNEL_OF_DTYPE(pool_kernel, pool, PoolArgs);

constexpr int64_t kItemsPerTask = 8;
// Bins in NHWC whose gradients are prefetched.
constexpr int64_t kAhead = 4;
// Estimated number of pixels that a channel of a RoI reads, used to choose the number of tasks.
constexpr int64_t kRoiPixels = 200;

struct AddArgs : Args {
  const void* grads;      // [R, PH, PW, C] or [R, C, PH, PW]
  const int32_t* argmax;  // as grads
  void* grads_image;      // [B, H, W, C] or [B, C, H, W]
  const int64_t* images;  // [R]
  int64_t range;          // channels of a work item
  float* sums;            // [taskDim, H, W, range]; none for fp32 in NCHW
};

// Work items: (image, range of channels), which own their pixels. Adds the gradients of RoIs and bins in their
// order.
template <class T>
void add(const AddArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t ranges = ceil_div(args.C, args.range), pixels = args.pixels(), bins = args.bins();
  for (int64_t item = begin; item < end; ++item) {
    const int64_t image = item / ranges, first = item % ranges * args.range;
    const int64_t channels = std::min(args.range, args.C - first);
    T* const to =
        static_cast<T*>(args.grads_image) + image * args.C * pixels + first * args.channel_stride(pixels);
    // The sums are [H, W, channels] in NHWC, else [channels, H, W].
    float* sums = nullptr;
    if constexpr (sizeof(T) == sizeof(float)) {
      sums = args.channels_last ? args.sums + task.taskId * pixels * args.range : to;
    } else {
      sums = args.sums + task.taskId * pixels * args.range;
    }
    std::fill_n(sums, channels * pixels, 0.0F);
    const auto count = static_cast<uint32_t>(pixels);  // below 2^31; negative numbers of pixels are not below it
    for (int64_t r = 0; r < args.R; ++r) {
      if (args.images[r] != image) continue;
      const int64_t at = r * args.C * bins + first * args.channel_stride(bins);
      const T* const grads = static_cast<const T*>(args.grads) + at;
      const int32_t* const argmax = args.argmax + at;
      const auto prefetch = [&](int64_t from, int64_t elements) {
        prefetch_row<Use::kReadOnce>(grads + from, elements * int64_t{sizeof(T)});
        prefetch_row<Use::kReadOnce>(argmax + from, elements * int64_t{sizeof(int32_t)});
      };
      if (args.channels_last) {
        const int64_t left = (args.R - r) * bins;  // bins
        for (int64_t bin = 0; bin < bins; ++bin) {
          if (bin + kAhead < left) prefetch((bin + kAhead) * args.C, channels);
          for (int64_t c = 0; c < channels; ++c) {
            const auto pixel = static_cast<uint32_t>(argmax[bin * args.C + c]);
            if (pixel < count) sums[pixel * channels + c] += to_f32(grads[bin * args.C + c]);
          }
        }
      } else {
        for (int64_t c = 0; c < channels; ++c) {
          if (r + 1 < args.R) prefetch((args.C + c) * bins, bins);
          float* const plane = sums + c * pixels;
          for (int64_t i = c * bins; i < (c + 1) * bins; ++i) {
            const auto pixel = static_cast<uint32_t>(argmax[i]);
            if (pixel < count) plane[pixel] += to_f32(grads[i]);
          }
        }
      }
    }
    if (args.channels_last) {
      for (int64_t i = 0; i < pixels; ++i) {
        for (int64_t c = 0; c < channels; ++c) round_to(sums[i * channels + c], to + i * args.C + c);
      }
    } else if constexpr (sizeof(T) < sizeof(float)) {
      for (int64_t i = 0; i < channels * pixels; ++i) round_to(sums[i], to + i);
    }
  }
}

// Estimated bytes that a call moves.
int64_t traffic(const Args& args, int64_t roi_pixels) {
  constexpr int64_t kMany = int64_t{1} << 40;
  const int64_t bins = saturated_product({args.R, args.C, args.bins()});
  const int64_t read = saturated_product({args.R, args.C, roi_pixels});
  const int64_t pixels = saturated_product({args.B, args.C, args.pixels()});
  return (std::min(bins, kMany) + std::min(read, kMany) + std::min(pixels, kMany)) *
         static_cast<int64_t>(sizeof(float));
}

struct ForwardScratch {
  ForwardScratch(Arena& arena, const PoolArgs& args, int task_dim)
      : bins(arena, args.R, args.PH, args.PW),
        copies(arena.take<std::byte>("copies", {args.channels_last ? 0 : task_dim, args.pixels(), kStripChannels,
                                                static_cast<int64_t>(size_of(args.dtype))})) {}

  RoiBins bins;
  std::byte* copies;
};

void run_forward(Call& call, BinRule rule, float spatial_scale, PoolArgs args) {
  Context& context = call.context();
  args.strips = args.channels_last ? 1 : ceil_div(args.C, kStripChannels);
  const int64_t bytes = traffic(args, kRoiPixels);
  // Without images, find_roi_bins() fails.
  const int64_t owners = std::max<int64_t>(args.B * args.strips, 1);
  const int task_dim = choose_task_dim(saturated_product({owners, args.R}), bytes);
  // RoIs are divided if there are few images and strips: each work item of NCHW copies the pixels of its RoIs.
  args.roi_block = ceil_div(args.R, std::clamp<int64_t>(ceil_div(kItemsPerTask * task_dim, owners), 1, args.R));
  const int64_t items = owners * ceil_div(args.R, args.roi_block);
  Arena arena = context.reserve(bytes_of<ForwardScratch>(args, task_dim));
  const ForwardScratch scratch(arena, args, task_dim);
  args.rois_bins = scratch.bins;
  args.copies = scratch.copies;
  call.log_detail("native, taskDim ", task_dim, ", blocks of ", args.roi_block, " RoIs");
  find_roi_bins(context, args.dtype,
                {rule, spatial_scale, args.B, args.H, args.W, args.R, args.PH, args.PW, args.rois, scratch.bins});
  const auto chunks = static_cast<int>(std::min<int64_t>(items, kItemsPerTask * task_dim));
  launch_dynamic(context, "pool", task_dim, chunks, Evenly{items}, pool_kernel(args.dtype), args);
}

struct BackwardScratch {
  BackwardScratch(Arena& arena, const AddArgs& args, int task_dim)
      : bins(arena, args.R, 0, 0),
        sums(arena.take<float>(
            "sums", {args.channels_last || is_16_bit(args.dtype) ? task_dim : 0, args.pixels(), args.range})) {}

  RoiBins bins;
  float* sums;
};

// The channels of a work item of the gradients. In NCHW as many as the sums in L2 allow, in ranges that divide
// over the tasks. In NHWC a work item reads one run of channels of each bin, and long runs are worth more than
// sums in L2: on 2000 RoIs of 512 channels, runs of 256 channels take half as long as runs of 64.
int64_t gradient_range(const Args& args, int task_dim) {
  if (args.channels_last) return std::min(args.C, round_up(ceil_div(args.C, int64_t{task_dim}), kStripChannels));
  constexpr int64_t kSumBytes = 1 << 19;
  const int64_t most = kSumBytes / saturated_product({args.pixels(), int64_t{sizeof(float)}});
  const int64_t ranges = ceil_div(args.C, std::clamp<int64_t>(most, 1, args.C));
  return ceil_div(args.C, ceil_div(round_up(args.B * ranges, int64_t{task_dim}), args.B));
}

void run_backward(Call& call, AddArgs args) {
  Context& context = call.context();
  const int most_tasks = choose_task_dim(saturated_product({args.B, args.C}), traffic(args, 0));
  args.range = gradient_range(args, most_tasks);
  const int64_t items = args.B * ceil_div(args.C, args.range);
  const auto task_dim = static_cast<int>(std::min<int64_t>(most_tasks, items));
  Arena arena = context.reserve(bytes_of<BackwardScratch>(args, task_dim));
  const BackwardScratch scratch(arena, args, task_dim);
  args.images = scratch.bins.images;
  args.sums = scratch.sums;
  call.log_detail("native, taskDim ", task_dim);
  // Only the images are needed: without bins.
  find_roi_bins(context, args.dtype,
                {BinRule::kExact, 1, args.B, args.H, args.W, args.R, 0, 0, args.rois, scratch.bins});
  const auto chunks = static_cast<int>(std::min<int64_t>(items, kItemsPerTask * task_dim));
  launch_dynamic(
      context, "add", task_dim, chunks, Evenly{items},
      dispatch_dtype(args.dtype, [](auto element) -> RangeKernel<AddArgs> { return add<decltype(element)>; }),
      args);
}

// The sizes of a call, from its descriptors, which may be null. NCHW if both maps have it, otherwise NHWC.
Args args_of(const TensorDescriptor* images, const Input& rois, const TensorDescriptor* bins) {
  const auto is_nchw = [](const TensorDescriptor* desc) {
    return desc != nullptr && desc->layout == MLUOP_LAYOUT_NCHW;
  };
  const bool channels_last = !is_nchw(images) || !is_nchw(bins);
  const int height = channels_last ? 1 : 2, channel = channels_last ? 3 : 1;
  return {.B = dim_of(images, 0),
          .C = dim_of(images, channel),
          .H = dim_of(images, height),
          .W = dim_of(images, height + 1),
          .R = dim_of(rois.desc, 0),
          .PH = dim_of(bins, height),
          .PW = dim_of(bins, height + 1),
          .channels_last = channels_last,
          .dtype = dtype_of(images),
          .rois = rois.data};
}

using Dims = std::initializer_list<int64_t>;

// Declares a map of `count` images or RoIs, by call.input() or call.output().
template <class Declare>
void declare_map(const Args& args, int64_t count, int64_t height, int64_t width, const Declare& declare) {
  if (args.channels_last) return declare(MLUOP_LAYOUT_NHWC, Dims{count, height, width, args.C});
  declare(MLUOP_LAYOUT_NCHW, Dims{count, args.C, height, width});
}

// The checks of all three operators, after the declarations. `images`: the name of the tensor of images.
void check(Call& call, const Args& args, std::string_view images, mluOpPoolingMode_t mode) {
  call.check_pointers();
  require(mode == MLUOP_POOLING_MAX, MLUOP_STATUS_NOT_SUPPORTED, "pooling_mode is ", static_cast<int>(mode),
          ", expected 0 (MLUOP_POOLING_MAX)");
  require_element_type(images, args.dtype);
  call.check_tensors();
  require(saturated_product({args.H, args.W}) < (int64_t{1} << 31), MLUOP_STATUS_NOT_SUPPORTED, images, " has ",
          args.H, " x ", args.W, " pixels, expected fewer than 2^31");
}

void forward(Call& call, BinRule rule, float spatial_scale, const Input& input, const Input& rois,
             const Output& output, const Output& argmax, mluOpPoolingMode_t mode = MLUOP_POOLING_MAX) {
  const Args args = args_of(input.desc, rois, output.desc);
  declare_map(args, kAny, kAny, kAny, [&](mluOpTensorLayout_t layout, Dims dims) {
    call.input("input", input.desc, input.data, args.dtype, layout, dims);
  });
  call.input("rois", rois.desc, rois.data, args.dtype, kAnyLayout, {kAny, 5});
  declare_map(args, args.R, kAny, kAny, [&](mluOpTensorLayout_t layout, Dims dims) {
    call.output("output", output.desc, output.data, args.dtype, layout, dims);
  });
  declare_map(args, args.R, args.PH, args.PW, [&](mluOpTensorLayout_t layout, Dims dims) {
    call.output("argmax", argmax.desc, argmax.data, MLUOP_DTYPE_INT32, layout, dims);
  });
  if (has_no_elements(output.desc)) call.reads_nothing();
  check(call, args, "input", mode);
  if (has_no_elements(output.desc)) return;
  run_forward(call, rule, spatial_scale,
              {args, input.data, output.data, static_cast<int32_t*>(argmax.data), {}, 0, 0, nullptr});
}

}  // namespace
}  // namespace mluop::roi_pool

mluOpStatus_t MLUOP_WIN_API mluOpRoiPoolingForward(mluOpHandle_t handle, mluOpPoolingMode_t pooling_mode,
                                                   const mluOpTensorDescriptor_t input_desc, const void* input,
                                                   const mluOpTensorDescriptor_t rois_desc, const void* rois,
                                                   float spatial_scale, const mluOpTensorDescriptor_t output_desc,
                                                   void* output, int* argmax) {
  using namespace mluop;
  // argmax has no descriptor: it is as output. The descriptor outlives the call, which logs it at its end.
  TensorDescriptor argmax_desc = output_desc == nullptr ? TensorDescriptor{} : *output_desc;
  argmax_desc.dtype = MLUOP_DTYPE_INT32;
  set_contiguous_strides(argmax_desc);
  return run_operator("mluOpRoiPoolingForward", handle, [&](Call& call) {
    call.parameter("mode", static_cast<int>(pooling_mode));
    call.parameter("spatial_scale", spatial_scale);
    roi_pool::forward(call, BinRule::kRoundedPixels, spatial_scale, {input_desc, input}, {rois_desc, rois},
                      {output_desc, output}, {&argmax_desc, argmax}, pooling_mode);
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpRoiPoolForward(mluOpHandle_t handle, const bool rounded,
                                                   const float spatial_scale,
                                                   const mluOpTensorDescriptor_t input_desc, const void* input,
                                                   const mluOpTensorDescriptor_t rois_desc, const void* rois,
                                                   const mluOpTensorDescriptor_t output_desc, void* output,
                                                   const mluOpTensorDescriptor_t argmax_desc, void* argmax) {
  using namespace mluop;
  return run_operator("mluOpOmpRoiPoolForward", handle, [&](Call& call) {
    call.parameter("rounded", rounded);
    call.parameter("spatial_scale", spatial_scale);
    roi_pool::forward(call, rounded ? BinRule::kRoundedPixels : BinRule::kExact, spatial_scale,
                      {input_desc, input}, {rois_desc, rois}, {output_desc, output}, {argmax_desc, argmax});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpRoiPoolingBackward(mluOpHandle_t handle, mluOpPoolingMode_t pooling_mode,
                                                    const mluOpTensorDescriptor_t grads_desc, const void* grads,
                                                    const mluOpTensorDescriptor_t rois_desc, const void* rois,
                                                    const mluOpTensorDescriptor_t argmax_desc, const int* argmax,
                                                    const float spatial_scale,
                                                    const mluOpTensorDescriptor_t grads_image_desc,
                                                    void* grads_image) {
  using namespace mluop;
  using namespace mluop::roi_pool;
  return run_operator("mluOpRoiPoolingBackward", handle, [&](Call& call) {
    const Args args = args_of(grads_image_desc, {rois_desc, rois}, grads_desc);
    call.parameter("mode", static_cast<int>(pooling_mode));
    call.parameter("spatial_scale", spatial_scale);
    declare_map(args, args.R, kAny, kAny, [&](mluOpTensorLayout_t layout, Dims dims) {
      call.input("grads", grads_desc, grads, args.dtype, layout, dims);
    });
    call.input("rois", rois_desc, rois, args.dtype, kAnyLayout, {kAny, 5});
    declare_map(args, args.R, args.PH, args.PW, [&](mluOpTensorLayout_t layout, Dims dims) {
      call.input("argmax", argmax_desc, argmax, MLUOP_DTYPE_INT32, layout, dims);
    });
    declare_map(args, kAny, kAny, kAny, [&](mluOpTensorLayout_t layout, Dims dims) {
      call.output("grads_image", grads_image_desc, grads_image, args.dtype, layout, dims);
    });
    if (has_no_elements(grads_image_desc)) call.reads_nothing();
    check(call, args, "grads_image", pooling_mode);
    if (has_no_elements(grads_image_desc)) return;
    run_backward(call, {args, grads, argmax, grads_image, nullptr, 0, nullptr});
  });
}
#endif
