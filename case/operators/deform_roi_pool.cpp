#include <algorithm>
#include <cmath>

#include "case/description.h"
#include "reference/clamped_samples.h"

namespace mluop::cases::deform_roi_pool {
namespace {

using reference::for_each_pixel;
using reference::SampleAxis;
using reference::to_f32;

// Positions of maps and bins among the tensors: input, rois, offset, output; in the backward pass grad_output,
// input, rois, offset, grad_input, grad_offset.
template <bool kForward>
constexpr size_t kInput = kForward ? 0 : 1;
template <bool kForward>
constexpr size_t kBins = kForward ? 3 : 0;

struct Sample {
  int64_t image, bin;  // bins are numbered through all RoIs
  double count;        // samples of the bin
  float y, x;
  double slope_y, slope_x;  // of the position, along the offset
};

double number(const Operand& tensor, int64_t i) {
  double value = 0;
  with_element_type(tensor, [&]<class T>() { value = to_f32(tensor.as<T>()[i]); });
  return value;
}

// Calls visit(sample) for each sample that is not outside, by the definition. Positions are fp32.
template <bool kForward, class Visit>
void for_each_sample(const Arguments& a, const Visit& visit) {
  const size_t first = kInput<kForward>;
  const Operand &map = a[first], &rois = a[first + 1], &offset = a[first + 2], &output = a[kBins<kForward>];
  const int64_t PH = output.dim(1), PW = output.dim(2), bins = PH * PW;
  const auto scale = static_cast<float>(a.parameters->real("spatial_scale"));
  const auto gamma = static_cast<float>(a.parameters->real("gamma"));
  for (int64_t r = 0; r < output.dim(0); ++r) {
    const auto axis = [&](int64_t column, int64_t count) {
      const float low = static_cast<float>(number(rois, r * 5 + column)) * scale - 0.5F;
      const float high = static_cast<float>(number(rois, r * 5 + column + 2)) * scale - 0.5F;
      return SampleAxis(low, high - low, count, a.int32("sampling_ratio"));
    };
    const SampleAxis of_y = axis(2, PH), of_x = axis(1, PW);
    const double count = std::max(static_cast<double>(of_y.samples) * of_x.samples, 1.0);
    for (int64_t bin = 0; bin < bins; ++bin) {
      SampleAxis y = of_y, x = of_x;
      if (offset.count() > 0) {
        x.start += gamma * x.size * static_cast<float>(number(offset, r * 2 * bins + bin));
        y.start += gamma * y.size * static_cast<float>(number(offset, (r * 2 + 1) * bins + bin));
      }
      for_each_position(y, bin / PW, map.dim(1), [&](float at_y) {
        for_each_position(x, bin % PW, map.dim(2), [&](float at_x) {
          visit(Sample{static_cast<int64_t>(number(rois, r * 5)), r * bins + bin, count, at_y, at_x,
                       double{gamma} * y.size, double{gamma} * x.size});
        });
      });
    }
  }
}

// Adds the products of weights: output, or grad_input.
template <bool kForward>
void add_samples(Arguments& a) {
  const Operand &map = a[kInput<kForward>], &from = a[0];
  double* const sums = sums_of(a[kForward ? 3 : 4]);
  const int64_t H = map.dim(1), W = map.dim(2), C = map.dim(3);
  if (a[kForward ? 3 : 4].count() == 0) return;
  with_element_type(from, [&]<class T>() {
    for_each_sample<kForward>(a, [&](const Sample& sample) {
      for_each_pixel(sample.y, sample.x, H, W, [&](int64_t pixel, double weight) {
        if (!kForward && std::isnan(weight)) return;
        const int64_t at = (sample.image * H * W + pixel) * C, bin = sample.bin * C;
        for (int64_t c = 0; c < C; ++c) {
          sums[(kForward ? bin : at) + c] +=
              weight / sample.count * to_f32(from.as<T>()[(kForward ? at : bin) + c]);
        }
      });
    });
  });
}

// Adds grad_offset. Distances to pixels are not clamped.
void add_slopes(Arguments& a) {
  const Operand& map = a[1];
  double* const sums = sums_of(a[5]);
  const int64_t H = map.dim(1), W = map.dim(2), C = map.dim(3), bins = a[0].dim(1) * a[0].dim(2);
  if (a[5].count() == 0) return;
  for_each_sample<false>(a, [&](const Sample& sample) {
    const auto& [image_number, bin, count, y, x, slope_y, slope_x] = sample;
    const int64_t image = image_number;  // for lambdas
    if (std::isnan(y) || std::isnan(x)) return;
    const auto low = [](float position, int64_t pixels) {
      return std::min(static_cast<int64_t>(std::max(position, 0.0F)), pixels - 1);
    };
    const int64_t rows[] = {low(y, H), std::min(low(y, H) + 1, H - 1)};
    const int64_t columns[] = {low(x, W), std::min(low(x, W) + 1, W - 1)};
    const auto magnitude = [&](double distance) { return a.are_magnitudes ? std::abs(distance) : distance; };
    const double sign = a.are_magnitudes ? 1 : -1;
    for (int64_t c = 0; c < C; ++c) {
      const auto value = [&](int down, int right) {
        return number(map, ((image * H + rows[down]) * W + columns[right]) * C + c);
      };
      const double g = number(a[0], bin * C + c) / count;
      const auto of_x = [&](int down) { return value(down, 1) + sign * value(down, 0); };
      const auto of_y = [&](int right) { return value(1, right) + sign * value(0, right); };
      double* const to = sums + bin / bins * 2 * bins + bin % bins;
      to[0] += magnitude(slope_x) * g *
               (of_x(1) * magnitude(y - double(rows[0])) + of_x(0) * magnitude(double(rows[1]) - y));
      to[bins] += magnitude(slope_y) * g *
                  (of_y(1) * magnitude(x - double(columns[0])) + of_y(0) * magnitude(double(columns[1]) - x));
    }
  });
}

// The operand that a call passes for an optional tensor.
Operand optional(const Operand& tensor) { return tensor.count() == 0 ? Operand{} : tensor; }

template <bool kForward>
mluOpStatus_t run(const Arguments& a) {
  const int PH = a.int32("pooled_height"), PW = a.int32("pooled_width"), ratio = a.int32("sampling_ratio");
  const auto scale = static_cast<float>(a.parameters->real("spatial_scale"));
  const auto gamma = static_cast<float>(a.parameters->real("gamma"));
  if constexpr (kForward) {
    return call(mluOpDeformRoiPoolForward, a.handle, a[0], a[1], optional(a[2]), PH, PW, scale, ratio, gamma,
                a[3]);
  } else {
    return call(mluOpDeformRoiPoolBackward, a.handle, a[0], a[1], a[2], optional(a[3]), PH, PW, scale, ratio,
                gamma, a[4], optional(a[5]));
  }
}

template <bool kForward>
void fit(Case& c) {
  if constexpr (kForward) {
    set_shape(c.outputs[0], {c.inputs[1].dims[0], c.parameters.integer("pooled_height"),
                             c.parameters.integer("pooled_width"), c.inputs[0].dims[3]});
  } else {
    set_shape(c.outputs[0], c.inputs[1].dims);
    if (c.outputs.size() > 1) set_shape(c.outputs[1], c.inputs[3].dims);
  }
}

// Corners at multiples of 1/8 pixel; some RoIs extend past the map, or have a zero or negative size.
Tensor random_rois(const Recipe& r, float scale) {
  Integers random(r.seed + 1);
  const auto eighths = [&](int64_t pixels) { return static_cast<float>(random.below(8 * pixels)) / 8; };
  std::vector<float> rois;
  for (int64_t i = 0; i < checked_product({r["r"], 5}) / 5; ++i) {
    const int64_t largest = std::min<int64_t>(std::max(r["h"], r["w"]), 28) + 2;
    const float x = eighths(r["w"] + 1), y = eighths(r["h"] + 1), sign = random.below(8) == 0 ? -1.0F : 1.0F;
    rois.push_back(static_cast<float>(random.below(r["b"])));
    for (const float each : {x, y, x + eighths(largest), y + sign * eighths(largest)})
      rois.push_back(each / scale);
  }
  return with_numbers(make_tensor("rois", r.dtype, {r["r"], 5}), rois);
}

Tensor make_offset(const Recipe& r) {
  Integers random(r.seed + 2);
  std::vector<float> quarters(static_cast<size_t>(checked_product({r["r"], 2, r["ph"], r["pw"]})));
  for (float& each : quarters) each = static_cast<float>(random.below(17) - 8) / 4;
  return with_numbers(make_tensor("offset", r.dtype, {r["r"], 2, r["ph"], r["pw"]}), quarters);
}

template <bool kForward>
Case make(const Recipe& r) {
  checked_product({r["r"], r["c"], r["ph"], r["pw"]}, int64_t{1} << 40);
  checked_product({r["b"], r["c"], r["h"], r["w"]}, int64_t{1} << 40);
  Case c = new_case(kForward ? "deform_roi_pool_forward" : "deform_roi_pool_backward", r);
  const float scale = 0.25F;
  c.parameters.message = c.op_name + "_param";
  c.parameters.set("pooled_height", r["ph"]);
  c.parameters.set("pooled_width", r["pw"]);
  c.parameters.set_real("spatial_scale", scale);
  c.parameters.set("sampling_ratio", r["sampling_ratio"]);
  c.parameters.set_real("gamma", 0.125);
  const Dims maps = {r["b"], r["h"], r["w"], r["c"]}, bins = {r["r"], r["ph"], r["pw"], r["c"]};
  const auto tensor = [&](const char* id, const Dims& dims) {
    return make_tensor(id, r.dtype, dims, MLUOP_LAYOUT_NHWC);
  };
  if (!kForward) c.inputs.push_back(with_uniform(tensor("grad_output", bins), r.seed + 3));
  c.inputs.push_back(with_uniform(tensor("input", maps), r.seed));
  c.inputs.push_back(random_rois(r, scale));
  c.outputs = {tensor(kForward ? "output" : "grad_input", kForward ? bins : maps)};
  if (r["offset"] == 0) return c;
  c.inputs.push_back(make_offset(r));
  if (!kForward) c.outputs.push_back(make_tensor("grad_offset", r.dtype, c.inputs.back().dims));
  return c;
}

template <bool kForward>
Operator described() {
  const std::vector<std::string> pixels = {"image", "row", "column", "channel"},
                                 bins = {"roi", "row", "column", "channel"},
                                 offsets = {"roi", "axis", "row", "column"};
  TensorRule input{"input", Role::kInput, pixels}, rois{"rois", Role::kInput, {"roi", "number"}, kAnyLayout},
      offset{"offset", Role::kInput, offsets, kAnyLayout},
      grad_offset{"grad_offset", Role::kOutput, offsets, kAnyLayout};
  rois.keeps_signs = offset.keeps_signs = true;
  offset.is_optional = grad_offset.is_optional = true;
  if (kForward) input.free_dims = {0, 1, 2};
  Operator op;
  op.name = kForward ? "deform_roi_pool_forward" : "deform_roi_pool_backward";
  op.function = kForward ? "mluOpDeformRoiPoolForward" : "mluOpDeformRoiPoolBackward";
  op.tensors = {input, rois, offset, {"output", Role::kOutput, bins}};
  if (!kForward) {
    op.tensors = {{"grad_output", Role::kInput, bins},   input,      rois, offset,
                  {"grad_input", Role::kOutput, pixels}, grad_offset};
  }
  op.parameter_messages = {op.name + "_param"};
  op.run = run<kForward>;
  op.expect = [](Arguments& a) {
    add_samples<kForward>(a);
    if (!kForward) add_slopes(a);
  };
  op.terms = [](const Arguments& a) { return 64 + 16 * a[0].count(); };
  op.criteria = sum_criteria;
  // Four samples of a bin, each with four pixels for the mean and, in the backward pass, for two slopes.
  op.work = [](const Arguments& a) {
    return each_once(a, kForward ? 3 : 4, (kForward ? 32 : 96) * a[kBins<kForward>].count());
  };
  op.multiplies = true;
  op.sizes = {{"b", 2, 1, 3},
              {"c", 5, 1, 70},
              {"h", 9, 1, 30},
              {"w", 11, 1, 40},
              {"r", 6, 1, 20},
              {"ph", 3, 1, 8},
              {"pw", 2, 1, 8},
              {"offset", 1, 0, 1, false},
              {"sampling_ratio", 0, 0, 3, false}};
  op.parallel_sizes = {{{"c", 70}, {"h", 40}, {"w", 50}, {"r", 60}, {"ph", 7}, {"pw", 7}}};
  // Faster R-CNN with DeformRoIPoolPack, mmdetection: two levels of a feature pyramid on 800 x 1344 pixels.
  const auto level = [](int64_t h, int64_t w) {
    return NetworkSize{"dpool " + std::to_string(h) + "x" + std::to_string(w),
                       {{"b", 1}, {"c", 256}, {"h", h}, {"w", w}, {"r", 512}, {"ph", 7}, {"pw", 7}}};
  };
  op.networks = {level(200, 336), level(50, 84)};
  op.make = make<kForward>;
  op.fit = fit<kForward>;
  op.reductions = {kForward ? axis_reduction("rois", {{1, 0}, {2, 0}}, {{0, 0}})
                            : axis_reduction("rois", {{0, 0}, {2, 0}, {3, 0}}, {{1, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() { return {described<true>(), described<false>()}; }

}  // namespace mluop::cases::deform_roi_pool
