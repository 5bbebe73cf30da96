#include <algorithm>
#include <cmath>

#include "case/description.h"
#include "reference/bilinear_samples.h"
#include "reference/clamped_samples.h"

namespace mluop::cases::roi_align_rotated {
namespace {

// The operators with orientations are riroi_align_rotated.
template <bool kOriented>
struct Names {
  static constexpr const char* kRatio = kOriented ? "num_samples" : "sample_ratio";
  static constexpr const char* kName = kOriented ? "riroi_align_rotated" : "roi_align_rotated";
};

// Calls visit(y, x, count) for the samples of bin (p, q) of a RoI, `count` in number.
template <class Visit>
void for_each_sample(const Arguments& a, const char* ratio_name, bool is_aligned, const float* roi, int64_t p,
                     int64_t q, const Visit& visit) {
  const auto scale = static_cast<float>(a.parameters->real("spatial_scale"));
  const float offset = is_aligned ? 0.5F : 0.0F;
  const float angle = a.integer("clockwise") != 0 ? -roi[5] : roi[5];
  const auto cos = static_cast<float>(std::cos(double{angle})), sin = static_cast<float>(std::sin(double{angle}));
  const auto axis = [&](float length, const char* bins) {
    const float scaled = length * scale, size = is_aligned ? scaled : std::max(scaled, 1.0F);
    return reference::SampleAxis(-size / 2, size, a.int32(bins), a.int32(ratio_name));
  };
  const reference::SampleAxis along_v = axis(roi[4], "pooled_height"), along_u = axis(roi[3], "pooled_width");
  for (int i = 0; i < along_v.samples; ++i) {
    const float v = along_v.position(p, i);
    for (int j = 0; j < along_u.samples; ++j) {
      const float u = along_u.position(q, j);
      visit(v * cos - u * sin + (roi[2] * scale - offset), v * sin + u * cos + (roi[1] * scale - offset),
            static_cast<double>(along_v.samples) * along_u.samples);
    }
  }
}

// Calls visit(map, bin, weight) for the elements of `maps` [B, H, W, C] and their weights in the elements of
// `bins` [R, PH, PW, C].
template <bool kOriented, class Visit>
void for_each_weight(const Arguments& a, const Operand& maps, const Operand& bins, const Visit& visit) {
  const int64_t H = maps.dim(1), W = maps.dim(2), C = maps.dim(3), PH = bins.dim(1), PW = bins.dim(2);
  const int64_t orientations = kOriented ? a.int32("num_orientations") : 1;
  const bool is_aligned = !kOriented && a.integer("aligned") != 0;
  for (int64_t bin = 0; bin < bins.dim(0) * PH * PW; ++bin) {
    float roi[6];
    with_element_type(a[1], [&]<class T>() {
      for (int i = 0; i < 6; ++i) roi[i] = reference::to_f32(a[1].as<T>()[bin / (PH * PW) * 6 + i]);
    });
    const double turns = kOriented ? double{roi[5]} * static_cast<double>(orientations) / (2 * M_PI) : 0;
    const double of_next = turns - std::floor(turns);
    const double whole = std::fmod(std::floor(turns), static_cast<double>(orientations));
    const int64_t shift = std::isfinite(whole) ? static_cast<int64_t>(whole) : 0;
    for_each_sample(a, Names<kOriented>::kRatio, is_aligned, roi, bin / PW % PH, bin % PW,
                    [&](float y, float x, double count) {
                      reference::for_each_corner(y, x, H, W, [&](int64_t pixel, float weight) {
                        const int64_t at = (static_cast<int64_t>(roi[0]) * H * W + pixel) * C;
                        for (int64_t c = 0; c < C; ++c) {
                          const int64_t group = c / orientations * orientations;
                          const int64_t first = (c - group + 2 * orientations - shift) % orientations;
                          visit(at + group + first, bin * C + c, weight * (1 - of_next) / count);
                          if (!kOriented) continue;
                          visit(at + group + (first + 1) % orientations, bin * C + c, weight * of_next / count);
                        }
                      });
                    });
  }
}

template <bool kOriented, bool kForward>
void expect(Arguments& a) {
  double* const sums = sums_of(a[2]);
  with_element_type(a[0], [&]<class T>() {
    for_each_weight<kOriented>(a, a[kForward ? 0 : 2], a[kForward ? 2 : 0],
                               [&, from = a[0].as<T>()](int64_t map, int64_t bin, double weight) {
                                 // A sample at NaN has no gradient.
                                 if (!kForward && std::isnan(weight)) return;
                                 sums[kForward ? bin : map] +=
                                     weight * reference::to_f32(from[kForward ? map : bin]);
                               });
  });
}

template <bool kOriented, bool kForward>
mluOpStatus_t run(const Arguments& a) {
  const int PH = a.int32("pooled_height"), PW = a.int32("pooled_width"), ratio = a.int32(Names<kOriented>::kRatio);
  const auto scale = static_cast<float>(a.parameters->real("spatial_scale"));
  const bool clockwise = a.integer("clockwise") != 0;
  if constexpr (kOriented) {
    return call(kForward ? mluOpOmpRiroiAlignRotatedForward : mluOpOmpRiroiAlignRotatedBackward, a.handle, a[0],
                a[1], PH, PW, scale, ratio, a.int32("num_orientations"), clockwise, a[2]);
  } else {
    return call(kForward ? mluOpRoiAlignRotatedForward : mluOpRoiAlignRotatedBackward, a.handle, a[0], a[1], PH,
                PW, ratio, scale, a.integer("aligned") != 0, clockwise, a[2]);
  }
}

template <bool kForward>
void fit(Case& c) {
  Dims dims = c.outputs[0].dims;
  dims[3] = c.inputs[0].dims[3];
  if (kForward) {
    dims = {c.inputs[1].dims[0], c.parameters.int32("pooled_height"), c.parameters.int32("pooled_width"), dims[3]};
  }
  set_shape(c.outputs[0], dims);
}

// Sizes and centers at multiples of 1/8 pixel; some RoIs extend past the image, or have a zero or negative size.
Tensor rotated_rois(const Recipe& r, float scale) {
  Integers random(r.seed + 1);
  const auto eighths = [&](int64_t pixels) { return static_cast<float>(random.below(8 * pixels)) / 8 / scale; };
  std::vector<float> values;
  for (int64_t i = 0; i < r["r"]; ++i) {
    const int64_t largest = std::min<int64_t>(std::max(r["h"], r["w"]), 28) + 2;
    const float size = random.below(8) == 0 ? -1.0F : 1.0F;
    values.push_back(static_cast<float>(random.below(r["b"])));
    values.insert(values.end(),
                  {eighths(r["w"] + 1), eighths(r["h"] + 1), eighths(largest), size * eighths(largest)});
    values.push_back(static_cast<float>(random.below(64) - 32) / 4);
  }
  return with_numbers(make_tensor("rois", r.dtype, {r["r"], 6}), values);
}

template <bool kOriented, bool kForward>
Case make(const Recipe& r) {
  const int64_t C = kOriented ? checked_product({r["c"], r["orientations"]}) : r["c"];
  checked_product({r["r"], C, r["ph"], r["pw"]}, int64_t{1} << 40);
  checked_product({r["b"], C, r["h"], r["w"]}, int64_t{1} << 40);
  checked_product({r["r"], 6});
  Case c = new_case(Names<kOriented>::kName + std::string(kForward ? "_forward" : "_backward"), r);
  const float scale = r["flags"] % 2 != 0 ? 0.25F : 1;
  c.parameters.message = c.op_name + "_param";
  c.parameters.set("pooled_height", r["ph"]);
  c.parameters.set("pooled_width", r["pw"]);
  c.parameters.set(Names<kOriented>::kRatio, r["ratio"]);
  c.parameters.set_real("spatial_scale", scale);
  if (kOriented) c.parameters.set("num_orientations", r["orientations"]);
  if (!kOriented) c.parameters.set("aligned", r["flags"] % 2);
  c.parameters.set("clockwise", r["flags"] / 2);
  const Dims maps = {r["b"], r["h"], r["w"], C}, bins = {r["r"], r["ph"], r["pw"], C};
  const auto tensor = [&](const char* id, const Dims& dims) {
    return make_tensor(id, r.dtype, dims, MLUOP_LAYOUT_NHWC);
  };
  c.inputs = {with_uniform(tensor(kForward ? "features" : "top_grad", kForward ? maps : bins), r.seed),
              rotated_rois(r, scale)};
  c.outputs = {tensor(kForward ? "output" : "bottom_grad", kForward ? bins : maps)};
  return c;
}

template <bool kOriented, bool kForward>
Operator described() {
  Operator op;
  op.name = Names<kOriented>::kName + std::string(kForward ? "_forward" : "_backward");
  op.function = std::string(kOriented ? "mluOpOmpRiroiAlignRotated" : "mluOpRoiAlignRotated") +
                (kForward ? "Forward" : "Backward");
  op.parameter_messages = {op.name + "_param"};
  const std::vector<std::string> pixel = {"image", "row", "column", "channel"},
                                 bin = {"roi", "bin row", "bin column", "channel"};
  op.tensors = {{kForward ? "features" : "top_grad", Role::kInput, kForward ? pixel : bin},
                {"rois", Role::kInput, {"roi", "number"}, kAnyLayout},
                {kForward ? "output" : "bottom_grad", Role::kOutput, kForward ? bin : pixel}};
  if (kForward) op.tensors[0].free_dims = {0, 1, 2, 3};
  if (!kForward) op.tensors[0].free_dims = {3}, op.tensors[2].free_dims = {0, 1, 2};
  op.tensors[1].keeps_signs = true;
  op.run = run<kOriented, kForward>;
  op.expect = expect<kOriented, kForward>;
  op.terms = [](const Arguments& a) {
    return 64 + 16 * (kForward ? a[0].dim(1) * a[0].dim(2) : a[0].dim(0) * a[0].dim(1) * a[0].dim(2) * 64);
  };
  op.criteria = sum_criteria;
  op.multiplies = true;
  // A bin has four samples, each with seven operations for a channel and one to add it.
  op.work = [](const Arguments& a) { return each_once(a, 2, 32 * a[kForward ? 2 : 0].count()); };
  op.sizes = {{"b", 2, 1, 3},   {"c", 5, 1, 70},           {"h", 9, 1, 30},
              {"w", 11, 1, 40}, {"r", 6, 1, 20},           {"ph", 3, 1, 8},
              {"pw", 2, 1, 8},  {"ratio", 2, 0, 3, false}, {"flags", 1, 0, 3, false}};
  if (kOriented) op.sizes.push_back({"orientations", 4, 1, 9, false});
  op.parallel_sizes = {{{"c", 70}, {"h", 40}, {"w", 50}, {"r", 60}, {"ph", 7}, {"pw", 7}}};
  // Oriented R-CNN and ReDet of mmrotate: levels of a feature pyramid on 1024 x 1024 pixels.
  const auto level = [](int64_t size, int64_t rois) {
    return NetworkSize{std::to_string(size) + "x" + std::to_string(size) + " r" + std::to_string(rois),
                       {{"b", 1},
                        {"c", kOriented ? 32 : 256},
                        {"orientations", 8},
                        {"h", size},
                        {"w", size},
                        {"r", rois},
                        {"ph", 7},
                        {"pw", 7},
                        {"ratio", 2},
                        {"flags", 3}}};
  };
  op.networks = {level(256, 512), level(128, 512), level(64, 2000), level(32, 512)};
  if (!kOriented) {
    for (NetworkSize& network : op.networks) network.sizes.erase("orientations");
  }
  op.make = make<kOriented, kForward>;
  op.fit = fit<kForward>;
  op.reductions = {kForward ? axis_reduction("rois", {{1, 0}}, {{0, 0}})
                            : axis_reduction("rois", {{0, 0}, {1, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() {
  return {described<true, false>(), described<true, true>(), described<false, false>(), described<false, true>()};
}

}  // namespace mluop::cases::roi_align_rotated
