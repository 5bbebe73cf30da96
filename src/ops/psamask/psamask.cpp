// mluOpPsamaskForward and mluOpPsamaskBackward in one file: rules, kernels, launches, entries.
// Start with the entries at the end, then run(), which checks and launches, and the kernels collect() and
// distribute().
//
// Letters: N images of H x W pixels, each with a mask of mask_h x mask_w elements around it. Element (a, b) of the
// mask of pixel (h, w) belongs to pixel (h + a - half_h, w + b - half_w). Elements are copied with all bits, so
// that half and bfloat16 share one implementation.
#include <algorithm>

#include "core/sizes.h"
#include "mlu_op.h"
#include "team/launch.h"
#include "team/operator_call.h"

namespace mluop::psamask {
namespace {

constexpr int kCollect = 0, kDistribute = 1;
struct Masks {
  int psa_type, h_mask, w_mask;
};

// Number of pixels of a row that a work item of distribute() writes, and of pixels that it reads at a time: a
// square of elements stays in L1.
constexpr int64_t kBlock = 16;

// The arguments of the call, checked.
struct Args {
  int64_t half_h() const { return (mask_h - 1) / 2; }
  int64_t half_w() const { return (mask_w - 1) / 2; }

  int64_t H, W, mask_h, mask_w;
  int64_t input_row, output_row;  // the elements of a pixel: its mask, or one for each pixel of the image
  const void* input;
  void* output;
};

// The range of elements of a mask of `size` around `center` that belong to pixels, along an axis of `extent`
// pixels.
Range inside(int64_t center, int64_t extent, int64_t size) {
  const int64_t half = (size - 1) / 2;
  return {std::max<int64_t>(half - center, 0), std::min(size, extent + half - center)};
}

// Work items: pixels (n, h, w). The elements of a mask row are consecutive in both tensors.
template <class T, bool kForward>
void collect(const Args& args, int64_t begin, int64_t end, Task&) {
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    const int64_t h = pixel / args.W % args.H, w = pixel % args.W;
    const T* const from = static_cast<const T*>(args.input) + pixel * args.input_row;
    T* const to = static_cast<T*>(args.output) + pixel * args.output_row;
    std::fill_n(to, args.output_row, T{});
    const Range rows = inside(h, args.H, args.mask_h), columns = inside(w, args.W, args.mask_w);
    for (int64_t a = rows.begin; a < rows.end; ++a) {
      const int64_t mask = a * args.mask_w + columns.begin;
      const int64_t image = (h + a - args.half_h()) * args.W + w + columns.begin - args.half_w();
      std::copy_n(from + (kForward ? mask : image), columns.size(), to + (kForward ? image : mask));
    }
  }
}

// Work items: (n, y, block of x), each a block of pixels of an output row. An element of the mask of pixel p that
// belongs to pixel q is at (p, mask element) of one tensor and at (q, p) of the other.
template <class T, bool kForward>
void distribute(const Args& args, int64_t begin, int64_t end, Task&) {
  const int64_t H = args.H, W = args.W, blocks = ceil_div(W, kBlock), half_w = args.half_w();
  for (int64_t item = begin; item < end; ++item) {
    const int64_t row = item / blocks, y = row % H, first_x = item % blocks * kBlock;
    const int64_t last_x = std::min(first_x + kBlock, W);
    T* const to = static_cast<T*>(args.output) + (row * W + first_x) * args.output_row;
    std::fill_n(to, (last_x - first_x) * args.output_row, T{});
    for (int64_t other_y = 0; other_y < H; ++other_y) {
      const int64_t a = (kForward ? y - other_y : other_y - y) + args.half_h();
      if (a < 0 || a >= args.mask_h) continue;
      const T* const from = static_cast<const T*>(args.input) + (row - y + other_y) * W * args.input_row;
      for (int64_t block = 0; block < W; block += kBlock) {
        for (int64_t x = first_x; x < last_x; ++x) {
          // b, half_w + x - other_x forward and half_w + other_x - x backward, is in [0, mask_w).
          const int64_t low = kForward ? x + half_w - args.mask_w + 1 : x - half_w;
          const int64_t last = std::min({block + kBlock, W, low + args.mask_w});
          for (int64_t other_x = std::max(block, low); other_x < last; ++other_x) {
            const int64_t mask = a * args.mask_w + half_w + (kForward ? x - other_x : other_x - x);
            const int64_t image = kForward ? other_y * W + other_x : y * W + x;
            to[(x - first_x) * args.output_row + (kForward ? image : mask)] =
                from[other_x * args.input_row + (kForward ? mask : image)];
          }
        }
      }
    }
  }
}

template <bool kForward>
void run(Call& call, const Masks& masks, const Input& input, const Output& output) {
  const auto dtype = dtype_of(input.desc);
  const int64_t N = dim_of(input.desc, 0), H = dim_of(input.desc, 1), W = dim_of(input.desc, 2);
  const int64_t mask_size = int64_t{masks.h_mask} * masks.w_mask, image_size = saturated_product({H, W});
  const int64_t input_row = kForward ? mask_size : image_size, output_row = kForward ? image_size : mask_size;
  call.parameter("psa_type", masks.psa_type);
  call.parameter("h_mask", masks.h_mask, AtLeast{0});
  call.parameter("w_mask", masks.w_mask, AtLeast{0});
  call.input(kForward ? "x" : "dy", input.desc, input.data, dtype, MLUOP_LAYOUT_NHWC,
             {kAny, kAny, kAny, input_row});
  call.output(kForward ? "y" : "dx", output.desc, output.data, dtype, MLUOP_LAYOUT_NHWC, {N, H, W, output_row});
  if (has_no_elements(output.desc)) call.reads_nothing();

  call.check_pointers();
  call.check_parameters();
  require(masks.psa_type == kCollect || masks.psa_type == kDistribute, MLUOP_STATUS_BAD_PARAM, "psa_type is ",
          masks.psa_type, ", expected 0 (collect) or 1 (distribute)");
  require_element_type(kForward ? "x" : "dy", dtype);
  call.check_tensors();
  if (has_no_elements(output.desc)) return;

  const bool collects = masks.psa_type == kCollect;
  const int64_t items = N * H * (collects ? W : ceil_div(W, kBlock));
  const int task_dim = choose_task_dim(items, byte_count(*output.desc));
  call.log_detail("native, taskDim ", task_dim);
  call.context().reserve(0);
  launch(call.context(), collects ? "collect" : "distribute", task_dim, Evenly{items},
         dispatch_size(dtype,
                       [&](auto element) -> RangeKernel<Args> {
                         using T = decltype(element);
                         return collects ? collect<T, kForward> : distribute<T, kForward>;
                       }),
         {H, W, masks.h_mask, masks.w_mask, input_row, output_row, input.data, output.data});
}

}  // namespace
}  // namespace mluop::psamask

mluOpStatus_t MLUOP_WIN_API mluOpPsamaskForward(mluOpHandle_t handle, const int psa_type,
                                                const mluOpTensorDescriptor_t x_desc, const void* x,
                                                const int h_mask, const int w_mask,
                                                const mluOpTensorDescriptor_t y_desc, void* y) {
  return mluop::run_operator("mluOpPsamaskForward", handle, [&](mluop::Call& call) {
    mluop::psamask::run<true>(call, {psa_type, h_mask, w_mask}, {x_desc, x}, {y_desc, y});
  });
}

mluOpStatus_t MLUOP_WIN_API mluOpPsamaskBackward(mluOpHandle_t handle, const int psa_type,
                                                 const mluOpTensorDescriptor_t dy_desc, const void* dy,
                                                 const int h_mask, const int w_mask,
                                                 const mluOpTensorDescriptor_t dx_desc, void* dx) {
  return mluop::run_operator("mluOpPsamaskBackward", handle, [&](mluop::Call& call) {
    mluop::psamask::run<false>(call, {psa_type, h_mask, w_mask}, {dy_desc, dy}, {dx_desc, dx});
  });
}
