#include <cmath>

#include "case/description.h"

namespace mluop::cases::yolo_box {
namespace {

float real(const Arguments& a, const char* name) { return static_cast<float>(a.parameters->real(name)); }

double sigma(double v) { return 1 / (1 + std::exp(-v)); }

// Writes the box of a cell: its coordinates are `plane` elements apart.
void write_box(const Arguments& a, const double (&p)[4], const int32_t* size, const int32_t* anchor, int64_t cell,
               int64_t plane, float* to) {
  const double scale = static_cast<double>(real(a, "scale_x_y")), downsample = a.int32("downsample_ratio");
  const int64_t H = a[0].dim(2), W = a[0].dim(3);
  for (const bool is_y : {false, true}) {
    const auto index = static_cast<double>(is_y ? cell / W : cell % W), cells = static_cast<double>(is_y ? H : W);
    const double pixels = size[is_y ? 0 : 1];
    const double center = (index + sigma(p[is_y ? 1 : 0]) * scale - (scale - 1) / 2) * pixels / cells;
    const double side = std::exp(p[is_y ? 3 : 2]) * anchor[is_y ? 1 : 0] * pixels / (downsample * cells);
    auto low = static_cast<float>(center - side / 2), high = static_cast<float>(center + side / 2);
    if (a.int32("clip_bbox") != 0) {
      const auto last = static_cast<float>(pixels - 1);
      if (!(low > 0)) low = 0;
      if (!(high < last)) high = last;
    }
    to[is_y ? plane : 0] = low;
    to[is_y ? 3 * plane : 2 * plane] = high;
  }
}

void expect(Arguments& a) {
  const int64_t N = a[0].dim(0), C = a[0].dim(1), H = a[0].dim(2), W = a[0].dim(3), plane = H * W;
  const int64_t S = a[2].count() / 2, classes = a.int32("class_num");
  const bool is_aware = a.int32("iou_aware") != 0;
  const double factor = static_cast<double>(real(a, "iou_aware_factor"));
  set_zero(a[3]);
  set_zero(a[4]);
  for (int64_t i = 0; i < N * S * plane; ++i) {
    const int64_t cell = i % plane, s = i / plane % S, n = i / plane / S;
    const auto channel = [&](int64_t k) {
      return static_cast<double>(a[0].as<float>()[(n * C + k) * plane + cell]);
    };
    const int64_t first = (is_aware ? S : 0) + s * (5 + classes);
    double product = sigma(channel(first + 4));
    if (is_aware) product = std::pow(product, 1 - factor) * std::pow(sigma(channel(s)), factor);
    const auto conf = static_cast<float>(product);
    if (conf < real(a, "conf_thresh")) continue;
    const double p[] = {channel(first), channel(first + 1), channel(first + 2), channel(first + 3)};
    write_box(a, p, a[1].as<int32_t>() + n * 2, a[2].as<int32_t>() + s * 2, cell, plane,
              a[3].as<float>() + (n * S + s) * 4 * plane + cell);
    for (int64_t c = 0; c < classes; ++c) {
      // Probabilities below 2^-126 count as 0.
      const double probability = sigma(channel(first + 5 + c));
      const double counted = probability < 0x1p-126 ? 0 : probability;
      a[4].as<float>()[((n * S + s) * classes + c) * plane + cell] =
          static_cast<float>(static_cast<double>(conf) * counted);
    }
  }
}

void fit(Case& c) {
  const Dims& x = c.inputs[0].dims;
  const int64_t S = c.inputs[2].dims[0] / 2, cells = x[2] * x[3];
  set_shape(c.outputs[0], {x[0], S, 4, cells});
  set_shape(c.outputs[1], {x[0], S, c.parameters.integer("class_num"), cells});
}

// About half of the cells are below the threshold; a channel of 0 gives a confidence that equals it.
Case make(const Recipe& r) {
  const int64_t N = r["n"], H = r["h"], W = r["w"], S = r["s"],
                per_anchor = (r["iou_aware"] != 0 ? 6 : 5) + r["classes"];
  checked_product({N, S * per_anchor, H, W});
  Case c = new_case("yolo_box", r);
  c.parameters.message = "yolo_box_param";
  c.parameters.set("class_num", r["classes"]);
  c.parameters.set_real("conf_thresh", 0.5);
  c.parameters.set("downsample_ratio", 32);
  c.parameters.set("clip_bbox", r["clip"]);
  c.parameters.set_real("scale_x_y", 1.0625);
  c.parameters.set("iou_aware", r["iou_aware"]);
  c.parameters.set_real("iou_aware_factor", 0.375);
  Integers random(r.seed);
  const auto integers = [&](int64_t count, int32_t low, int32_t high) {
    std::vector<int32_t> drawn(static_cast<size_t>(count));
    for (int32_t& each : drawn) each = low + random.below(high - low);
    return drawn;
  };
  c.inputs = {with_uniform(make_tensor("x", MLUOP_DTYPE_FLOAT, {N, S * per_anchor, H, W}), r.seed, -4, 4),
              with_values(make_tensor("img_size", MLUOP_DTYPE_INT32, {N, 2}), integers(2 * N, 1, 600)),
              with_values(make_tensor("anchors", MLUOP_DTYPE_INT32, {2 * S}), integers(2 * S, 1, 400))};
  c.outputs = {make_tensor("boxes", MLUOP_DTYPE_FLOAT), make_tensor("scores", MLUOP_DTYPE_FLOAT)};
  fit(c);
  return c;
}

}  // namespace

std::vector<Operator> operators() {
  Operator op;
  op.name = "yolo_box";
  op.function = "mluOpYoloBox";
  op.tensors = {{"x", Role::kInput, {"image", "channel", "row", "column"}, kAnyLayout},
                {"img_size", Role::kInput, {"image", "axis"}, kAnyLayout},
                {"anchors", Role::kInput, {"number"}, kAnyLayout},
                {"boxes", Role::kOutput, {"image", "anchor", "coordinate", "cell"}, kAnyLayout},
                {"scores", Role::kOutput, {"image", "anchor", "class", "cell"}, kAnyLayout}};
  op.parameter_messages = {"yolo_box_param"};
  op.run = [](const Arguments& a) {
    return call(mluOpYoloBox, a.handle, a[0], a[1], a[2], a.int32("class_num"), real(a, "conf_thresh"),
                a.int32("downsample_ratio"), a.int32("clip_bbox") != 0, real(a, "scale_x_y"),
                a.int32("iou_aware") != 0, real(a, "iou_aware_factor"), a[3], a[4]);
  };
  op.expect = expect;
  // An exponential function, a division and a product.
  op.work = [](const Arguments& a) { return each_once(a, 3, 30 * a[0].count()); };
  op.criteria = sum_criteria;
  op.dtypes = {MLUOP_DTYPE_FLOAT};
  op.sizes = {{"n", 2, 1, 4},
              {"h", 5, 1, 40},
              {"w", 6, 1, 40},
              {"s", 3, 1, 4, false},
              {"classes", 7, 1, 20, false},
              {"clip", 1, 0, 1, false},
              {"iou_aware", 0, 0, 1, false}};
  op.multiplies = true;
  op.parallel_sizes = {{{"n", 2}, {"h", 40}, {"w", 40}}};
  // YOLOv3 of COCO: 80 classes.
  op.networks = {{"yolov3 76x76", {{"n", 8}, {"h", 76}, {"w", 76}, {"classes", 80}}},
                 {"yolov3 38x38", {{"n", 8}, {"h", 38}, {"w", 38}, {"classes", 80}}},
                 {"yolov3 19x19", {{"n", 8}, {"h", 19}, {"w", 19}, {"classes", 80}}}};
  op.make = make;
  op.fit = fit;
  op.reductions = {axis_reduction("images", {{0, 0}, {1, 0}}, {{0, 0}, {1, 0}})};
  return {op};
}

}  // namespace mluop::cases::yolo_box
