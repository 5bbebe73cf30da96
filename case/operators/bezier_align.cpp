#include <algorithm>
#include <cmath>

#include "case/description.h"
#include "reference/clamped_samples.h"

namespace mluop::cases::bezier_align {
namespace {

using reference::for_each_pixel;
using reference::SampleAxis;
using reference::to_f32;

// Calls visit(pixel of the maps, bin, weight / number of samples) for each pixel of each sample of each bin, by
// the definition. `maps`, `bins`: the tensors of pixels and of bins.
template <class Visit>
void for_each_tap(const Arguments& a, const Operand& maps, const Operand& bins, const Visit& visit) {
  const int64_t H = maps.dim(1), W = maps.dim(2), R = bins.dim(0), PH = bins.dim(1), PW = bins.dim(2);
  const auto scale = static_cast<float>(a.parameters->real("spatial_scale"));
  const bool aligned = a.integer("aligned") != 0;
  with_element_type(a[1], [&]<class T>() {
    for (int64_t r = 0; r < R; ++r) {
      float numbers[16];
      for (int i = 0; i < 16; ++i) numbers[i] = to_f32(a[1].as<T>()[r * 17 + 1 + i]) * scale;
      const auto axis = [&](int first, int64_t count) {
        const float* p = numbers + first;
        const float size = std::fmax(std::abs(p[0] - p[6]), std::abs(p[8] - p[14]));
        return SampleAxis(0, aligned ? size : std::fmax(size, 1.0F), count, a.int32("sampling_ratio"));
      };
      SampleAxis y = axis(1, PH), x = axis(0, PW);
      const double samples = std::max<double>(double(y.samples) * x.samples, 1);
      const auto image = static_cast<int64_t>(to_f32(a[1].as<T>()[r * 17]));
      for (int64_t bin = 0; bin < PH * PW; ++bin) {
        const float u = static_cast<float>(bin % PW) / static_cast<float>(PW);
        const float v = static_cast<float>(bin / PW) / static_cast<float>(PH);
        const auto center = [&](int first) {
          const float* p = numbers + first;
          const double t = double{u}, s = 1 - t;
          const auto curve = [&](int i0, int step) {
            return static_cast<float>(s * s * s * p[i0] + 3 * t * s * s * p[i0 + step] +
                                      3 * t * t * s * p[i0 + 2 * step] + t * t * t * p[i0 + 3 * step]);
          };
          return curve(14, -2) * v + curve(0, 2) * (1 - v) - (aligned ? 0.5F : 0.0F);
        };
        y.start = center(1) - y.bin / 2;
        x.start = center(0) - x.bin / 2;
        for_each_position(y, 0, H, [&](float at_y) {
          for_each_position(x, 0, W, [&](float at_x) {
            for_each_pixel(at_y, at_x, H, W, [&](int64_t pixel, double weight) {
              visit(image * H * W + pixel, r * PH * PW + bin, weight / samples);
            });
          });
        });
      }
    }
  });
}

template <bool kForward>
void expect(Arguments& a) {
  double* const sums = sums_of(a[2]);
  if (a[2].count() == 0) return;
  const int64_t C = a[0].dim(3);
  with_element_type(a[0], [&]<class T>() {
    for_each_tap(a, kForward ? a[0] : a[2], kForward ? a[2] : a[0],
                 [&](int64_t pixel, int64_t bin, double weight) {
                   if (!kForward && std::isnan(weight)) return;
                   const int64_t from = (kForward ? pixel : bin) * C, to = (kForward ? bin : pixel) * C;
                   for (int64_t c = 0; c < C; ++c) sums[to + c] += weight * to_f32(a[0].as<T>()[from + c]);
                 });
  });
}

void fit_forward(Case& c) {
  const auto size = [&](const char* name) { return c.parameters.integer(name); };
  set_shape(c.outputs[0],
            {c.inputs[1].dims[0], size("aligned_height"), size("aligned_width"), c.inputs[0].dims[3]});
}

void fit_backward(Case& c) {
  Dims dims = c.outputs[0].dims;
  dims[3] = c.inputs[0].dims[3];
  set_shape(c.outputs[0], dims);
}

// RoIs at multiples of 1/8, of text that is roughly horizontal; some extend past the map.
template <bool kForward>
Case make(const Recipe& r) {
  checked_product({r["r"], r["c"], r["ph"], r["pw"]}, int64_t{1} << 40);
  checked_product({r["b"], r["c"], r["h"], r["w"]}, int64_t{1} << 40);
  const std::string name = kForward ? "bezier_align_forward" : "bezier_align_backward";
  const float scale = r["aligned"] != 0 ? 0.25F : 1;
  Case c = new_case(name, r);
  c.parameters.message = name + "_param";
  c.parameters.set("aligned_height", r["ph"]);
  c.parameters.set("aligned_width", r["pw"]);
  c.parameters.set_real("spatial_scale", scale);
  c.parameters.set("sampling_ratio", r["sampling_ratio"]);
  c.parameters.set("aligned", r["aligned"]);
  Integers random(r.seed + 1);
  std::vector<float> rois;
  for (int64_t i = 0; i < checked_product({r["r"], 17}) / 17; ++i) {
    rois.push_back(static_cast<float>(random.below(r["b"])));
    const int64_t left = random.below(4 * r["w"]), top = random.below(4 * r["h"]),
                  width = 8 + random.below(8 * r["w"]), height = 8 + random.below(4 * r["h"]);
    for (int point = 0; point < 8; ++point) {
      const int64_t along = point < 4 ? point : 7 - point;
      const int64_t x = left + width * along / 3, y = top + (point < 4 ? 0 : height) + random.below(12);
      for (const int64_t each : {x, y}) rois.push_back(static_cast<float>(each) / 8 / scale);
    }
  }
  const Dims maps = {r["b"], r["h"], r["w"], r["c"]}, bins = {r["r"], r["ph"], r["pw"], r["c"]};
  c.inputs = {with_uniform(make_tensor(kForward ? "input" : "grad_output", r.dtype, kForward ? maps : bins,
                                       MLUOP_LAYOUT_NHWC),
                           r.seed),
              with_numbers(make_tensor("rois", r.dtype, {r["r"], 17}), rois)};
  c.outputs = {
      make_tensor(kForward ? "output" : "grad_input", r.dtype, kForward ? bins : maps, MLUOP_LAYOUT_NHWC)};
  return c;
}

template <bool kForward>
Operator described() {
  const std::vector<std::string> pixels = {"image", "row", "column", "channel"},
                                 bins = {"roi", "row", "column", "channel"};
  Operator op;
  op.name = kForward ? "bezier_align_forward" : "bezier_align_backward";
  op.function = kForward ? "mluOpOmpBezierAlignForward" : "mluOpOmpBezierAlignBackward";
  op.tensors = {{kForward ? "input" : "grad_output", Role::kInput, kForward ? pixels : bins},
                {"rois", Role::kInput, {"roi", "number"}, kAnyLayout},
                {kForward ? "output" : "grad_input", Role::kOutput, kForward ? bins : pixels}};
  op.tensors[kForward ? 0 : 2].free_dims = {0, 1, 2};
  op.tensors[1].keeps_signs = true;
  op.parameter_messages = {op.name + "_param"};
  op.run = [](const Arguments& a) {
    return call(kForward ? mluOpOmpBezierAlignForward : mluOpOmpBezierAlignBackward, a.handle, a[0], a[1],
                a.int32("aligned_height"), a.int32("aligned_width"),
                static_cast<float>(a.parameters->real("spatial_scale")), a.int32("sampling_ratio"),
                a.integer("aligned") != 0, a[2]);
  };
  op.expect = expect<kForward>;
  op.terms = [](const Arguments& a) { return 64 + 16 * a[0].count(); };
  op.criteria = sum_criteria;
  // A bin has one sample.
  op.work = [](const Arguments& a) { return each_once(a, 2, 8 * a[kForward ? 2 : 0].count()); };
  op.multiplies = true;
  op.sizes = {{"b", 2, 1, 3},
              {"c", 5, 1, 70},
              {"h", 9, 1, 30},
              {"w", 11, 1, 40},
              {"r", 4, 1, 20},
              {"ph", 2, 1, 8},
              {"pw", 3, 1, 16},
              {"aligned", 1, 0, 1, false},
              {"sampling_ratio", 0, 0, 2, false}};
  op.parallel_sizes = {{{"c", 70}, {"h", 40}, {"w", 50}, {"r", 30}, {"ph", 8}, {"pw", 8}, {"sampling_ratio", 1}}};
  // ABCNet and ABCNet v2.
  op.networks = {
      {"abcnet 8x32",
       {{"b", 1}, {"c", 256}, {"h", 100}, {"w", 168}, {"r", 64}, {"ph", 8}, {"pw", 32}, {"sampling_ratio", 1}}},
      {"abcnet_v2 16x64",
       {{"b", 1}, {"c", 256}, {"h", 100}, {"w", 168}, {"r", 64}, {"ph", 16}, {"pw", 64}, {"sampling_ratio", 1}}}};
  op.make = make<kForward>;
  op.fit = kForward ? fit_forward : fit_backward;
  op.reductions = {kForward ? axis_reduction("rois", {{1, 0}}, {{0, 0}})
                            : axis_reduction("rois", {{0, 0}, {1, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() { return {described<true>(), described<false>()}; }

}  // namespace mluop::cases::bezier_align
