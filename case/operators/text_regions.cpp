#include "reference/text_regions.h"

#include <algorithm>

#include "case/description.h"

namespace mluop::cases::text_regions {
namespace {

// Rectangles of labels from 1 to `labels`, up to 4 x 8 pixels, on background; they touch and cover each other.
std::vector<int32_t> make_labels(const Recipe& r, int64_t labels) {
  const int64_t H = r["h"], W = r["w"];
  std::vector<int32_t> label(static_cast<size_t>(checked_product({H, W})));
  if (label.empty() || labels == 0) return label;
  Integers random(r.seed);
  for (int64_t i = 0; i <= H * W / 128; ++i) {
    const int64_t top = random.below(H), left = random.below(W), height = 1 + random.below(4);
    const int64_t width = 1 + random.below(8), bottom = std::min(top + height, H);
    const int32_t drawn = 1 + random.below(labels);
    for (int64_t y = top; y < bottom; ++y) {
      for (int64_t x = left; x < std::min(left + width, W); ++x) label[static_cast<size_t>(y * W + x)] = drawn;
    }
  }
  return label;
}

// Bytes: one in `period` is 0; the others are 1, but for some that are up to `highest`.
std::vector<uint8_t> make_mask(int64_t count, int64_t period, int32_t highest, int32_t seed) {
  Integers random(seed);
  std::vector<uint8_t> mask(static_cast<size_t>(count));
  for (uint8_t& element : mask) {
    const bool is_set = random.below(period) != 0;
    const int32_t value = random.below(16) == 0 ? 1 + random.below(highest) : 1;
    element = static_cast<uint8_t>(is_set ? value : 0);
  }
  return mask;
}

Case make_contour_expand(const Recipe& r) {
  const int64_t K = r["k"], H = r["h"], W = r["w"];
  Case c = new_case("contour_expand", r, {"min_kernel_area", "kernel_num"});
  const int64_t masks = checked_product({K, H, W});
  c.inputs = {
      with_values(make_tensor("kernel_mask", MLUOP_DTYPE_UINT8, {K, H, W}), make_mask(masks, 6, 255, r.seed + 1)),
      with_values(make_tensor("internal_kernel_label", MLUOP_DTYPE_INT32, {H, W}),
                  make_labels(r, r["kernel_num"]))};
  c.outputs = {make_tensor("output", MLUOP_DTYPE_INT32, {H, W})};
  return c;
}

Operator contour_expand() {
  Operator op;
  op.name = "contour_expand";
  op.function = "mluOpOmpContourExpand";
  op.tensors = {{"kernel_mask", Role::kInput, {"mask", "row", "column"}, kAnyLayout, {0}},
                {"internal_kernel_label", Role::kInput, {"row", "column"}, kAnyLayout},
                {"output", Role::kOutput, {"row", "column"}, kAnyLayout}};
  op.parameter_messages = {"contour_expand_param"};
  op.run = [](const Arguments& a) {
    return call(mluOpOmpContourExpand, a.handle, a.int32("min_kernel_area"), a.int32("kernel_num"), a[0], a[1],
                a[2]);
  };
  op.expect = [](Arguments& a) {
    reference::contour_expand({a[0].dim(0), a[0].dim(1), a[0].dim(2), a.int32("min_kernel_area")},
                              a[0].as<uint8_t>(), a[1].as<int32_t>(), a[2].as<int32_t>());
  };
  // Reads the first mask; each pixel has four neighbors.
  op.work = [](const Arguments& a) {
    return Work{a[2].count() * (a[0].dim(0) > 1 ? 5 : 4), a[2].bytes(), 4 * a[2].count()};
  };
  op.dtypes = {MLUOP_DTYPE_INT32};
  op.sizes = {{"h", 23, 1, 150},
              {"w", 37, 1, 150},
              {"k", 3, 1, 7},
              {"kernel_num", 9, 0, 50, false},
              {"min_kernel_area", 3, -1, 12, false}};
  op.parallel_sizes = {{{"h", 300}, {"w", 400}, {"k", 2}}};
  // Seven kernels of PSENet on an image of 736 x 736 pixels.
  op.networks = {{"psenet 7x736x736", {{"h", 736}, {"w", 736}, {"k", 7}, {"kernel_num", 4000}}}};
  op.make = make_contour_expand;
  op.fit = [](Case& c) { set_shape(c.outputs[0], c.inputs[1].dims); };
  op.reductions = {axis_reduction("rows", {{0, 1}, {1, 0}}, {{0, 0}}),
                   axis_reduction("columns", {{0, 2}, {1, 1}}, {{0, 1}}), axis_reduction("masks", {{0, 0}})};
  return op;
}

Case make_pixel_group(const Recipe& r) {
  const int64_t H = r["h"], W = r["w"], C = r["c"], R = r["r"];
  const int64_t pixels = checked_product({H, W});
  checked_product({H, W, C});
  Case c = new_case("pixel_group", r);
  c.parameters.message = "pixel_group_param";
  c.parameters.set_real("distance_threshold", double{static_cast<float>(r["threshold_percent"]) / 100});
  std::vector<int32_t> labels = make_labels(r, std::max<int64_t>(R - 1, 0));
  // Some pixels of the background have negative labels.
  for (size_t i = 0; i < labels.size(); i += 13) labels[i] = labels[i] == 0 ? -1 : labels[i];
  c.inputs = {with_uniform(make_tensor("score", MLUOP_DTYPE_FLOAT, {H, W}), r.seed, 0, 1),
              with_values(make_tensor("mask", MLUOP_DTYPE_BOOL, {H, W}), make_mask(pixels, 8, 1, r.seed + 1)),
              with_uniform(make_tensor("embedding", MLUOP_DTYPE_FLOAT, {H, W, C}), r.seed + 2, 0, 1),
              with_values(make_tensor("kernel_label", MLUOP_DTYPE_INT32, {H, W}), labels),
              with_values(make_tensor("kernel_contour", MLUOP_DTYPE_UINT8, {H, W}),
                          make_mask(pixels, 3, 255, r.seed + 3))};
  c.outputs = {make_tensor("region_score", MLUOP_DTYPE_FLOAT, {R}),
               make_tensor("region_pixels", MLUOP_DTYPE_INT32, {R}),
               make_tensor("text_label", MLUOP_DTYPE_INT32, {H, W})};
  return c;
}

Operator pixel_group() {
  Operator op;
  op.name = "pixel_group";
  op.function = "mluOpOmpPixelGroup";
  op.tensors = {{"score", Role::kInput, {"row", "column"}, kAnyLayout},
                {"mask", Role::kInput, {"row", "column"}, kAnyLayout},
                {"embedding", Role::kInput, {"row", "column", "channel"}, kAnyLayout, {2}},
                {"kernel_label", Role::kInput, {"row", "column"}, kAnyLayout},
                {"kernel_contour", Role::kInput, {"row", "column"}, kAnyLayout},
                {"region_score", Role::kOutput, {"region"}, kAnyLayout},
                {"region_pixels", Role::kOutput, {"region"}, kAnyLayout},
                {"text_label", Role::kOutput, {"row", "column"}, kAnyLayout}};
  op.parameter_messages = {"pixel_group_param"};
  op.run = [](const Arguments& a) {
    return call(mluOpOmpPixelGroup, a.handle, static_cast<float>(a.parameters->real("distance_threshold")), a[0],
                a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
  };
  op.expect = [](Arguments& a) {
    reference::pixel_group(
        {a[0].dim(0), a[0].dim(1), a[2].dim(2), a[5].dim(0),
         static_cast<float>(a.parameters->real("distance_threshold"))},
        {a[0].as<float>(), a[1].as<uint8_t>(), a[2].as<float>(), a[3].as<int32_t>(), a[4].as<uint8_t>()},
        a[5].as<float>(), a[6].as<int32_t>(), a[7].as<int32_t>());
  };
  // Each pixel is added to a score, and its embedding compared with the mean of a neighbor.
  op.work = [](const Arguments& a) { return each_once(a, 5, a[0].count() + 3 * a[2].count()); };
  op.dtypes = {MLUOP_DTYPE_FLOAT};
  op.sizes = {{"h", 21, 1, 120},
              {"w", 34, 1, 120},
              {"c", 4, 1, 9},
              {"r", 8, 1, 40},
              {"threshold_percent", 70, 0, 200, false}};
  op.multiplies = true;
  op.parallel_sizes = {{{"h", 200}, {"w", 300}}};
  // PAN on an image of 1024 x 1024 pixels, a quarter of its size.
  op.networks = {{"pan 256x256", {{"h", 256}, {"w", 256}, {"r", 300}, {"threshold_percent", 80}}}};
  op.make = make_pixel_group;
  // The number of regions comes from the outputs.
  op.fit = [](Case& c) {
    set_shape(c.outputs[0], {c.outputs[0].dims[0]});
    set_shape(c.outputs[1], {c.outputs[0].dims[0]});
    set_shape(c.outputs[2], c.inputs[0].dims);
  };
  op.reductions = {axis_reduction("rows", {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}}, {{2, 0}}),
                   axis_reduction("columns", {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}}, {{2, 1}}),
                   axis_reduction("channels", {{2, 2}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() { return {contour_expand(), pixel_group()}; }

}  // namespace mluop::cases::text_regions
