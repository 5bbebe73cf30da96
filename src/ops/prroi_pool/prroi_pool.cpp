// mluOpOmpPrroiPoolForward, mluOpOmpPrroiPoolBackward and mluOpOmpPrroiPoolCoorBackward in one file: kernels,
// launches, entries.
// Start with the entries at the end, then run_map() and run_coor_backward(), fill(), which computes the weights,
// and the kernels pool(), add() and differentiate().
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/prroi_pool/prroi_pool.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "core/simd.h"
#include "core/sizes.h"
#include "mlu_op_omp.h"
#include "ops/prroi_pool/prroi_pool.h"
#include "primitives/geometry/roi_bins.h"
#include "primitives/simd/elements-inl.h"
#include "primitives/simd/for_each_vector-inl.h"
#include "team/launch.h"
#include "team/operator_call.h"

HWY_BEFORE_NAMESPACE();
namespace mluop::prroi_pool {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using mluop::HWY_NAMESPACE::for_each_vector;
using mluop::HWY_NAMESPACE::load_f32;
using mluop::HWY_NAMESPACE::round_row;
using mluop::HWY_NAMESPACE::store_f32;
using Bin = AxisTable::Bin;

// The pixels of all bins of a RoI along x.
HWY_INLINE Range columns_of(const Args& args, int64_t roi) {
  Range columns{args.W, 0};
  for (int64_t q = 0; q < args.PW; ++q) {
    const Bin bin = args.tables->x.bin(roi, q);
    if (bin.count == 0) continue;
    columns = {std::min(columns.begin, bin.first), std::max(columns.end, bin.first + bin.count)};
  }
  return columns;
}

// Work items: (RoI, range of channels). Adds the rows of pixels of each row of bins, then their columns.
template <class T>
void pool(const MapArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t ranges = ceil_div(args.C, args.range);
  float* const row = args.rows + task.taskId * args.W * args.range;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t roi = item / ranges, first = item % ranges * args.range;
    const int64_t channels = std::min(args.range, args.C - first);
    const float area = args.tables->areas[roi];
    const T* const from =
        static_cast<const T*>(args.from) + args.tables->images[roi] * args.pixels() * args.C + first;
    T* to = static_cast<T*>(args.to) + roi * args.bins() * args.C + first;
    const Range columns = columns_of(args, roi);
    for (int64_t p = 0; p < args.PH; ++p) {
      const Bin rows = args.tables->y.bin(roi, p);
      for (int64_t x = columns.begin; x < columns.end && rows.count > 0; ++x) {
        for_each_vector(channels, [&](auto d, int64_t c) HWY_ATTR {
          auto sum = hn::Zero(d);
          for (int64_t y = 0; y < rows.count; ++y) {
            const T* const pixel = from + ((rows.first + y) * args.W + x) * args.C + c;
            sum = hn::Add(sum, hn::Mul(hn::Set(d, rows.weights[y]), load_f32(d, pixel)));
          }
          hn::StoreU(sum, d, row + x * channels + c);
        });
      }
      for (int64_t q = 0; q < args.PW; ++q, to += args.C) {
        const Bin taps = args.tables->x.bin(roi, q);
        const int64_t count = rows.count > 0 ? taps.count : 0;
        for_each_vector(channels, [&](auto d, int64_t c) HWY_ATTR {
          auto sum = hn::Zero(d);
          for (int64_t x = 0; x < count; ++x) {
            const auto value = hn::LoadU(d, row + (taps.first + x) * channels + c);
            sum = hn::Add(sum, hn::Mul(hn::Set(d, taps.weights[x]), value));
          }
          store_f32(count > 0 ? hn::Div(sum, hn::Set(d, area)) : sum, d, to + c);
        });
      }
    }
  }
}

// Work items: (image, band of rows, range of channels), ranges fastest, which own their pixels. Adds the gradients
// of RoIs and rows of bins in their order; of a row of bins, the gradients along x first.
template <class T>
void add(const MapArgs& args, int64_t begin, int64_t end, Task& task) {
  const int64_t ranges = ceil_div(args.C, args.range);
  float* const row = args.rows + task.taskId * args.W * args.range;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t image = item / (args.bands() * ranges), first = item % ranges * args.range;
    const int64_t channels = std::min(args.range, args.C - first);
    const int64_t first_row = item / ranges % args.bands() * args.band_rows;
    const Range band{first_row, std::min(first_row + args.band_rows, args.H)};
    const int64_t pixels = band.size() * args.W;
    T* const to = static_cast<T*>(args.to) + (image * args.H + band.begin) * args.W * args.C + first;
    float* sums;
    int64_t stride = channels;
    if constexpr (sizeof(T) == sizeof(float)) {
      sums = to;
      stride = args.C;
    } else {
      sums = args.sums + task.taskId * args.band_rows * args.W * args.range;
    }
    for (int64_t i = 0; i < pixels; ++i) std::fill_n(sums + i * stride, channels, 0.0F);
    for (int64_t roi = 0; roi < args.R; ++roi) {
      if (args.tables->images[roi] != image) continue;
      const Range columns = columns_of(args, roi);
      if (columns.size() <= 0) continue;
      const float area = args.tables->areas[roi];
      for (int64_t p = 0; p < args.PH; ++p) {
        const Bin rows = args.tables->y.bin(roi, p);
        const Range ys{std::max(rows.first, band.begin), std::min(rows.first + rows.count, band.end)};
        if (ys.size() <= 0) continue;
        const T* from = static_cast<const T*>(args.from) + (roi * args.PH + p) * args.PW * args.C + first;
        std::fill_n(row + columns.begin * channels, columns.size() * channels, 0.0F);
        for (int64_t q = 0; q < args.PW; ++q, from += args.C) {
          const Bin taps = args.tables->x.bin(roi, q);
          for_each_vector(channels, [&](auto d, int64_t c) HWY_ATTR {
            const auto share = hn::Div(load_f32(d, from + c), hn::Set(d, area));
            for (int64_t x = 0; x < taps.count; ++x) {
              float* const sum = row + (taps.first + x) * channels + c;
              hn::StoreU(hn::Add(hn::LoadU(d, sum), hn::Mul(share, hn::Set(d, taps.weights[x]))), d, sum);
            }
          });
        }
        for (int64_t y = ys.begin; y < ys.end; ++y) {
          const float weight = rows.weights[y - rows.first];
          for (int64_t x = columns.begin; x < columns.end; ++x) {
            float* const sum = sums + ((y - band.begin) * args.W + x) * stride;
            for_each_vector(channels, [&](auto d, int64_t c) HWY_ATTR {
              const auto value = hn::LoadU(d, row + x * channels + c);
              hn::StoreU(hn::Add(hn::LoadU(d, sum + c), hn::Mul(value, hn::Set(d, weight))), d, sum + c);
            });
          }
        }
      }
    }
    if constexpr (sizeof(T) < sizeof(float)) {
      for (int64_t i = 0; i < pixels; ++i) round_row(sums + i * channels, channels, to + i * args.C);
    }
  }
}

MLUOP_SELECT_BY_DTYPE(pool, MapArgs);
MLUOP_SELECT_BY_DTYPE(add, MapArgs);

}  // namespace HWY_NAMESPACE
}  // namespace mluop::prroi_pool
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mluop::prroi_pool {
namespace {

MLUOP_EXPORT_KERNEL_OF_DTYPE(pool_kernel, pool, MapArgs);
MLUOP_EXPORT_KERNEL_OF_DTYPE(add_kernel, add, MapArgs);
using Bin = AxisTable::Bin;

constexpr int64_t kItemsPerTask = 8;
constexpr int64_t kVectorChannels = 16;
constexpr int64_t kMinBandRows = 4;
constexpr int64_t kBandsPerTask = 2;
// Channels of a work item: a row of pixels of usual RoIs stays in L2.
constexpr int64_t kMaxRange = 256;
// Estimated number of pixels that a channel of a RoI reads or adds to, used to choose the number of tasks.
constexpr int64_t kRoiPixels = 100;

// The integral of max(0, 1 - |t - pixel|) over [low, high]: a part on each side of the pixel, each the product of
// a length and a mean height, so that no large numbers cancel.
float weight_of(float low, float high, float pixel) {
  const float left0 = std::max(low, pixel - 1), left1 = std::min(high, pixel);
  const float right0 = std::max(low, pixel), right1 = std::min(high, pixel + 1);
  float weight = 0;
  if (left1 > left0) weight += (left1 - left0) * (((left0 - (pixel - 1)) + (left1 - (pixel - 1))) * 0.5F);
  if (right1 > right0) weight += (right1 - right0) * (((pixel + 1 - right0) + (pixel + 1 - right1)) * 0.5F);
  return weight;
}

// Writes the bins of a RoI along an axis. Returns the size of a bin.
float fill_axis(const AxisTable& table, int64_t roi, float low, float high, float scale) {
  const float start = low * scale, size = std::max(high * scale - start, 0.0F);
  const float bin = size / static_cast<float>(table.bins), limit = static_cast<float>(table.pixels);
  int32_t* const starts = table.starts + roi * (table.bins + 1);
  int64_t count = 0;
  for (int64_t i = 0; i < table.bins; ++i) {
    const int64_t at = roi * table.bins + i;
    const float begin = start + bin * static_cast<float>(i), end = begin + bin;
    table.edges[2 * at] = begin;
    table.edges[2 * at + 1] = end;
    starts[i] = static_cast<int32_t>(count);
    table.first[at] = 0;
    // Also false for NaN.
    if (!(end > -1 && begin < limit && end > begin)) continue;
    const auto first = static_cast<int64_t>(std::max(std::floor(begin), 0.0F));
    const auto last =
        std::min(static_cast<int64_t>(std::min(std::ceil(end), limit - 1)), first + table.capacity - count - 1);
    table.first[at] = static_cast<int32_t>(first);
    for (int64_t pixel = first; pixel <= last; ++pixel, ++count) {
      table.weights[roi * table.capacity + count] = weight_of(begin, end, static_cast<float>(pixel));
    }
  }
  starts[table.bins] = static_cast<int32_t>(count);
  return bin;
}

struct FillArgs : Args {
  FirstBadItem& first_bad;
};

// Work items: RoIs. Writes their tables.
template <class T>
void fill(const FillArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t r = begin; r < end; ++r) {
    const T* const roi = static_cast<const T*>(args.rois) + r * 5;
    args.tables->images[r] = read_roi_image(roi, args.B, r, args.first_bad);
    const auto fill_from = [&](const AxisTable& table, int low) {
      return fill_axis(table, r, to_f32(roi[low]), to_f32(roi[low + 2]), args.spatial_scale);
    };
    const float area = fill_from(args.tables->x, 1) * fill_from(args.tables->y, 2);
    args.tables->areas[r] = area;
    if (area > 0 && std::isfinite(area)) continue;
    args.tables->areas[r] = 0;
    for (const AxisTable* table : {&args.tables->y, &args.tables->x}) {
      std::fill_n(table->starts + r * (table->bins + 1), table->bins + 1, 0);
    }
  }
}

void fill_tables(Context& context, const Args& args) {
  constexpr int64_t kRoiBytes = 4096;
  FirstBadItem first_bad;
  launch(context, "fill", choose_task_dim(args.R, args.R * kRoiBytes), Evenly{args.R},
         dispatch_dtype(args.dtype, [](auto element) -> RangeKernel<FillArgs> { return fill<decltype(element)>; }),
         {args, first_bad});
  require_roi_images("rois", args.dtype, first_bad, args.rois, 5, args.B);
}

struct Scratch {
  Scratch(Arena& arena, const Args& args, int64_t row_count, int64_t sum_rows)
      : tables(arena, args.R, args.PH, args.PW, args.H, args.W),
        rows(arena.take<float>("rows", {row_count, args.W, args.range})),
        sums(arena.take<float>("sums", {sum_rows, args.W, args.range})) {}

  Tables tables;
  float *rows, *sums;
};

// The forward operator, or its gradient.
void run_map(Call& call, bool is_forward, MapArgs args) {
  Context& context = call.context();
  const int64_t bytes = saturated_product({args.R, args.C, kRoiPixels, int64_t{sizeof(float)}});
  args.range = std::min(args.C, kMaxRange);
  if (!is_forward) {
    // A row of bins is weighted along x again for each band that it touches: bands of several rows.
    const int64_t ranges = args.B * ceil_div(args.C, args.range), rows = ceil_div(args.H, kMinBandRows);
    const int64_t tasks = choose_task_dim(ranges * rows, bytes);
    if (tasks > 1) args.band_rows = ceil_div(args.H, std::min(rows, ceil_div(kBandsPerTask * tasks, ranges)));
  }
  const int64_t owners = is_forward ? args.R : args.B * args.bands();
  // Narrower ranges if these are too few for the tasks.
  while (args.range > kVectorChannels && owners * ceil_div(args.C, args.range) <
                                             choose_task_dim(owners * ceil_div(args.C, kVectorChannels), bytes)) {
    args.range = std::max(args.range / 2 / kVectorChannels * kVectorChannels, kVectorChannels);
  }
  const int64_t items = owners * ceil_div(args.C, args.range);
  const int task_dim = choose_task_dim(items, bytes);
  const int64_t sum_rows = !is_forward && is_16_bit(args.dtype) ? task_dim * args.band_rows : 0;
  Arena arena = context.reserve(bytes_of<Scratch>(args, task_dim, sum_rows));
  const Scratch scratch(arena, args, task_dim, sum_rows);
  args.tables = &scratch.tables;
  args.rows = scratch.rows;
  args.sums = scratch.sums;
  call.log_detail("native, taskDim ", task_dim, ", ranges of ", args.range, " channels");
  fill_tables(context, args);
  const auto chunks = static_cast<int>(std::min<int64_t>(items, kItemsPerTask * task_dim));
  launch_dynamic(context, is_forward ? "pool" : "add", task_dim, chunks, Evenly{items},
                 is_forward ? pool_kernel(args.dtype) : add_kernel(args.dtype), args);
}

struct CoorArgs : Args {
  const void *output, *grad_output;  // [R, PH, PW, C]
  const void* input;                 // [B, H, W, C]
  void* grad_rois;                   // [R, 5]
};

// The sum over the channels of a[c] b[c], in a fixed order. Zeros of a skip elements of b.
template <class T>
double dot(const T* a, const T* b, int64_t C) {
  constexpr int64_t kLanes = 4;
  double lanes[kLanes] = {};
  for (int64_t c = 0; c < C; ++c) {
    const double factor = to_f32(a[c]);
    lanes[c % kLanes] += factor == 0 ? 0 : factor * to_f32(b[c]);
  }
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

// The integral along one axis over a bin, at the position `at` of the other axis, of the interpolated products
// with the gradients. pixel(i, j): the product at pixel i of the bin and pixel j of the other axis.
template <class Pixel>
double edge_integral(const Bin& bin, float at, int64_t pixels, const Pixel& pixel) {
  const double low = std::floor(at);
  double integral = 0;
  for (const double node : {low, low + 1}) {
    const double weight = 1 - std::abs(at - node);
    if (weight == 0 || !(node >= 0 && node < static_cast<double>(pixels))) continue;
    for (int64_t i = 0; i < bin.count; ++i) {
      integral += weight * bin.weights[i] * pixel(bin.first + i, static_cast<int64_t>(node));
    }
  }
  return integral;
}

// Work items: RoIs. Adds the gradients of the bins in their order, in double.
template <class T>
void differentiate(const CoorArgs& args, int64_t begin, int64_t end, Task&) {
  for (int64_t r = begin; r < end; ++r) {
    const T* const image = static_cast<const T*>(args.input) + args.tables->images[r] * args.pixels() * args.C;
    double sums[5] = {};
    for (int64_t bin = 0; bin < args.bins() && args.tables->areas[r] > 0; ++bin) {
      const int64_t p = bin / args.PW, q = bin % args.PW, at = (r * args.bins() + bin) * args.C;
      const T* const grad = static_cast<const T*>(args.grad_output) + at;
      const double of_output = dot(grad, static_cast<const T*>(args.output) + at, args.C);
      const Bin y = args.tables->y.bin(r, p), x = args.tables->x.bin(r, q);
      const auto along_y = [&](int64_t i, int64_t j) {
        return dot(grad, image + (i * args.W + j) * args.C, args.C);
      };
      const auto along_x = [&](int64_t i, int64_t j) { return along_y(j, i); };
      const double scale = double{args.spatial_scale} / args.tables->areas[r];
      const double height = double{y.high} - y.low, width = double{x.high} - x.low;
      const double x1 = scale * (height * of_output - edge_integral(y, x.low, args.W, along_y));
      const double x2 = scale * (edge_integral(y, x.high, args.W, along_y) - height * of_output);
      const double y1 = scale * (width * of_output - edge_integral(x, y.low, args.H, along_x));
      const double y2 = scale * (edge_integral(x, y.high, args.H, along_x) - width * of_output);
      const double left = static_cast<double>(q) / static_cast<double>(args.PW);
      const double right = static_cast<double>(q + 1) / static_cast<double>(args.PW);
      const double top = static_cast<double>(p) / static_cast<double>(args.PH);
      const double bottom = static_cast<double>(p + 1) / static_cast<double>(args.PH);
      sums[1] += x1 * (1 - left) + x2 * (1 - right);
      sums[2] += y1 * (1 - top) + y2 * (1 - bottom);
      sums[3] += x1 * left + x2 * right;
      sums[4] += y1 * top + y2 * bottom;
    }
    for (int i = 0; i < 5; ++i) round_to(static_cast<float>(sums[i]), static_cast<T*>(args.grad_rois) + r * 5 + i);
  }
}

void run_coor_backward(Call& call, CoorArgs args) {
  Context& context = call.context();
  Arena arena = context.reserve(bytes_of<Scratch>(args, 0, 0));
  const Scratch scratch(arena, args, 0, 0);
  args.tables = &scratch.tables;
  const int task_dim = choose_task_dim(
      args.R, saturated_product({args.R, args.C, args.bins(), kRoiPixels, int64_t{sizeof(float)}}));
  call.log_detail("native, taskDim ", task_dim);
  fill_tables(context, args);
  const auto chunks = static_cast<int>(std::min<int64_t>(args.R, kItemsPerTask * task_dim));
  launch_dynamic(
      context, "differentiate", task_dim, chunks, Evenly{args.R},
      dispatch_dtype(args.dtype,
                     [](auto element) -> RangeKernel<CoorArgs> { return differentiate<decltype(element)>; }),
      args);
}

Args args_of(float spatial_scale, const TensorDescriptor* images, const Input& rois,
             const TensorDescriptor* bins) {
  return {.B = dim_of(images, 0),
          .C = dim_of(images, 3),
          .H = dim_of(images, 1),
          .W = dim_of(images, 2),
          .R = dim_of(rois.desc, 0),
          .PH = dim_of(bins, 1),
          .PW = dim_of(bins, 2),
          .spatial_scale = spatial_scale,
          .dtype = dtype_of(images),
          .rois = rois.data,
          .tables = nullptr,
          .range = 0,
          .rows = nullptr};
}

// The checks of all three operators, after the declarations. `images`: the name of the tensor of images.
void check(Call& call, const Args& args, std::string_view images) {
  call.check_pointers();
  require_element_type(images, args.dtype);
  call.check_tensors();
  // Positions of pixels are exact in fp32.
  constexpr int64_t kMaxPixels = 1 << 23;
  for (const int64_t extent : {args.H, args.W}) {
    require(extent <= kMaxPixels, MLUOP_STATUS_NOT_SUPPORTED, images, " has ", args.H, " x ", args.W,
            " pixels, expected at most 2^23 along an axis");
  }
}

}  // namespace
}  // namespace mluop::prroi_pool

mluOpStatus_t MLUOP_WIN_API mluOpOmpPrroiPoolForward(mluOpHandle_t handle, const float spatial_scale,
                                                     const mluOpTensorDescriptor_t input_desc, const void* input,
                                                     const mluOpTensorDescriptor_t rois_desc, const void* rois,
                                                     const mluOpTensorDescriptor_t output_desc, void* output) {
  using namespace mluop;
  using namespace mluop::prroi_pool;
  return run_operator("mluOpOmpPrroiPoolForward", handle, [&](Call& call) {
    const Args args = args_of(spatial_scale, input_desc, {rois_desc, rois}, output_desc);
    call.parameter("spatial_scale", spatial_scale);
    call.input("input", input_desc, input, args.dtype, MLUOP_LAYOUT_NHWC, {kAny, kAny, kAny, kAny});
    call.input("rois", rois_desc, rois, args.dtype, kAnyLayout, {kAny, 5});
    call.output("output", output_desc, output, args.dtype, MLUOP_LAYOUT_NHWC, {args.R, kAny, kAny, args.C});
    if (has_no_elements(output_desc)) call.reads_nothing();
    check(call, args, "input");
    if (!has_no_elements(output_desc)) run_map(call, true, {args, input, output, nullptr});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpPrroiPoolBackward(mluOpHandle_t handle, const float spatial_scale,
                                                      const mluOpTensorDescriptor_t grad_output_desc,
                                                      const void* grad_output,
                                                      const mluOpTensorDescriptor_t rois_desc, const void* rois,
                                                      const mluOpTensorDescriptor_t grad_input_desc,
                                                      void* grad_input) {
  using namespace mluop;
  using namespace mluop::prroi_pool;
  return run_operator("mluOpOmpPrroiPoolBackward", handle, [&](Call& call) {
    const Args args = args_of(spatial_scale, grad_input_desc, {rois_desc, rois}, grad_output_desc);
    call.parameter("spatial_scale", spatial_scale);
    call.input("grad_output", grad_output_desc, grad_output, args.dtype, MLUOP_LAYOUT_NHWC,
               {args.R, kAny, kAny, args.C});
    call.input("rois", rois_desc, rois, args.dtype, kAnyLayout, {kAny, 5});
    call.output("grad_input", grad_input_desc, grad_input, args.dtype, MLUOP_LAYOUT_NHWC,
                {kAny, kAny, kAny, kAny});
    if (has_no_elements(grad_input_desc)) call.reads_nothing();
    check(call, args, "grad_input");
    if (!has_no_elements(grad_input_desc)) run_map(call, false, {args, grad_output, grad_input, nullptr});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpOmpPrroiPoolCoorBackward(
    mluOpHandle_t handle, const float spatial_scale, const mluOpTensorDescriptor_t output_desc, const void* output,
    const mluOpTensorDescriptor_t grad_output_desc, const void* grad_output,
    const mluOpTensorDescriptor_t input_desc, const void* input, const mluOpTensorDescriptor_t rois_desc,
    const void* rois, const mluOpTensorDescriptor_t grad_rois_desc, void* grad_rois) {
  using namespace mluop;
  using namespace mluop::prroi_pool;
  return run_operator("mluOpOmpPrroiPoolCoorBackward", handle, [&](Call& call) {
    const Args args = args_of(spatial_scale, input_desc, {rois_desc, rois}, output_desc);
    call.parameter("spatial_scale", spatial_scale);
    call.input("output", output_desc, output, args.dtype, MLUOP_LAYOUT_NHWC, {args.R, kAny, kAny, args.C});
    call.input("grad_output", grad_output_desc, grad_output, args.dtype, MLUOP_LAYOUT_NHWC,
               {args.R, args.PH, args.PW, args.C});
    call.input("input", input_desc, input, args.dtype, MLUOP_LAYOUT_NHWC, {kAny, kAny, kAny, kAny});
    call.input("rois", rois_desc, rois, args.dtype, kAnyLayout, {kAny, 5});
    call.output("grad_rois", grad_rois_desc, grad_rois, args.dtype, kAnyLayout, {args.R, 5});
    if (has_no_elements(grad_rois_desc)) call.reads_nothing();
    check(call, args, "input");
    if (!has_no_elements(grad_rois_desc)) {
      run_coor_backward(call, {args, output, grad_output, input, grad_rois});
    }
  });
}
#endif
