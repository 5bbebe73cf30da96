// mluOpPriorBox in one file: rules, launches, entry.
// Start with the entry at the end, then run(), half_sizes_of() and the kernel write().
//
// Letters: H x W pixels of a feature map, each with P boxes.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/checks.h"
#include "core/sizes.h"
#include "mlu_op.h"
#include "team/launch.h"
#include "team/operator_call.h"

namespace mluop::prior_box {
namespace {

struct HalfSize {
  float width, height;
};

struct Args {
  int64_t m, r, P, W;
  bool has_max, ratios_after_squares, clips;
  float im_height, im_width, step_h, step_w, offset;
  const float *min_sizes, *aspect_ratios, *variances, *max_sizes;
  float *output, *var;  // [H, W, P, 4]
  const HalfSize* half_sizes;
};

struct Scratch {
  Scratch(Arena& arena, int64_t P) : half_sizes(arena.take<HalfSize>("half_sizes", {P})) {}

  HalfSize* half_sizes;
};

bool is_one(float ratio) { return std::abs(double{ratio} - 1) < 1e-6; }

// Writes the half sizes of the boxes of a pixel, [P].
void half_sizes_of(const Args& args, HalfSize* to) {
  for (int64_t i = 0; i < args.m; ++i) {
    const double size = args.min_sizes[i];
    const auto append = [&](double width, double height) {
      *to++ = {static_cast<float>(width / 2), static_cast<float>(height / 2)};
    };
    const auto append_max = [&] {
      if (!args.has_max) return;
      const double side = std::sqrt(size * args.max_sizes[i]);
      append(side, side);
    };
    if (args.ratios_after_squares) {
      append(size, size);
      append_max();
    }
    for (int64_t k = 0; k < args.r; ++k) {
      if (args.ratios_after_squares && is_one(args.aspect_ratios[k])) continue;
      const double root = std::sqrt(double{args.aspect_ratios[k]});
      append(size * root, size / root);
    }
    if (!args.ratios_after_squares) append_max();
  }
}

// Work items: pixels.
void write(const Args& args, int64_t begin, int64_t end, Task&) {
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    const int64_t row = pixel / args.W, column = pixel % args.W;
    const float x = (static_cast<float>(column) + args.offset) * args.step_w;
    const float y = (static_cast<float>(row) + args.offset) * args.step_h;
    float* box = args.output + pixel * args.P * 4;
    float* var = args.var + pixel * args.P * 4;
    for (int64_t p = 0; p < args.P; ++p, box += 4, var += 4) {
      const HalfSize half = args.half_sizes[p];
      box[0] = (x - half.width) / args.im_width;
      box[1] = (y - half.height) / args.im_height;
      box[2] = (x + half.width) / args.im_width;
      box[3] = (y + half.height) / args.im_height;
      // NaN propagates.
      if (args.clips) std::transform(box, box + 4, box, [](float each) { return std::clamp(each, 0.0F, 1.0F); });
      std::copy_n(args.variances, 4, var);
    }
  }
}

void run(Call& call, Args args, int64_t pixels) {
  if (args.ratios_after_squares) {
    const auto ones = std::count_if(args.aspect_ratios, args.aspect_ratios + args.r, is_one);
    require(ones == 1, MLUOP_STATUS_BAD_PARAM, "aspect_ratios has ", ones,
            " ratios of 1, expected exactly one, because min_max_aspect_ratios_order is true");
  }
  Arena arena = call.context().reserve(bytes_of<Scratch>(args.P));
  const Scratch scratch(arena, args.P);
  half_sizes_of(args, scratch.half_sizes);
  args.half_sizes = scratch.half_sizes;
  constexpr int64_t kBoxBytes = 64;  // cost of a box, in bytes of memory traffic
  const int task_dim = choose_task_dim(pixels, saturated_product({pixels, args.P, kBoxBytes}));
  call.log_detail("native, taskDim ", task_dim);
  launch(call.context(), "write", task_dim, Evenly{pixels}, write, args);
}

}  // namespace
}  // namespace mluop::prior_box

mluOpStatus_t MLUOP_WIN_API mluOpPriorBox(mluOpHandle_t handle, const mluOpTensorDescriptor_t min_sizes_desc,
                                          const void* min_sizes, const mluOpTensorDescriptor_t aspect_ratios_desc,
                                          const void* aspect_ratios, const mluOpTensorDescriptor_t variances_desc,
                                          const void* variances, const mluOpTensorDescriptor_t max_sizes_desc,
                                          const void* max_sizes, const int height, const int width,
                                          const int im_height, const int im_width, const float step_h,
                                          const float step_w, const float offset, const bool clip,
                                          const bool min_max_aspect_ratios_order,
                                          const mluOpTensorDescriptor_t output_desc, void* output,
                                          const mluOpTensorDescriptor_t var_desc, void* var) {
  using namespace mluop;
  return run_operator("mluOpPriorBox", handle, [&](Call& call) {
    constexpr auto kFloat = MLUOP_DTYPE_FLOAT;
    const int64_t m = dim_of(min_sizes_desc, 0), r = dim_of(aspect_ratios_desc, 0);
    const bool has_max = dim_of(max_sizes_desc, 0) != 0;
    const int64_t P = saturated_product({m, checked_sum(r, has_max ? 1 : 0).value_or(INT64_MAX)});
    call.parameter("height", height, AtLeast{0});
    call.parameter("width", width, AtLeast{0});
    call.parameter("im_height", im_height);
    call.parameter("im_width", im_width);
    call.parameter("step_h", step_h);
    call.parameter("step_w", step_w);
    call.parameter("offset", offset);
    call.parameter("clip", clip);
    call.parameter("min_max_aspect_ratios_order", min_max_aspect_ratios_order);
    call.input("min_sizes", min_sizes_desc, min_sizes, kFloat, kAnyLayout, {kAny});
    call.input("aspect_ratios", aspect_ratios_desc, aspect_ratios, kFloat, kAnyLayout, {kAny});
    call.input("variances", variances_desc, variances, kFloat, kAnyLayout, {4});
    call.input("max_sizes", max_sizes_desc, max_sizes, kFloat, kAnyLayout, {has_max ? m : 0});
    call.output("output", output_desc, output, kFloat, kAnyLayout, {height, width, P, 4});
    call.output("var", var_desc, var, kFloat, kAnyLayout, {height, width, P, 4});
    if (has_no_elements(output_desc)) call.reads_nothing();

    call.check_pointers();
    call.check_parameters();
    for (const auto& [name, step] : {std::pair("step_h", step_h), std::pair("step_w", step_w)}) {
      require(step > 0, MLUOP_STATUS_BAD_PARAM, name, " is ", step, ", expected a positive number");
    }
    call.check_tensors();
    for (const auto& [name, count] : {std::pair("min_sizes", m), std::pair("aspect_ratios", r)}) {
      require(count > 0, MLUOP_STATUS_BAD_PARAM, name, " dim 0 is ", count, ", expected at least 1");
    }
    if (has_no_elements(output_desc)) return;
    const auto numbers = [](const void* data) { return static_cast<const float*>(data); };
    prior_box::run(
        call,
        {m, r, P, width, has_max, min_max_aspect_ratios_order, clip, static_cast<float>(im_height),
         static_cast<float>(im_width), step_h, step_w, offset, numbers(min_sizes), numbers(aspect_ratios),
         numbers(variances), numbers(max_sizes), static_cast<float*>(output), static_cast<float*>(var), nullptr},
        int64_t{height} * width);
  });
}
