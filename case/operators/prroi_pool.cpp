#include <algorithm>
#include <cmath>

#include "case/description.h"
#include "case/operators/shared/rois.h"

namespace mluop::cases::prroi_pool {
namespace {

using reference::to_f32;

constexpr float kScale = 0.5F;
float scale_of(const Arguments& a) { return static_cast<float>(a.parameters->real("spatial_scale")); }

// A bin of a RoI along an axis: fp32 edges, weights in double.
struct Bin {
  Bin(float low, float high, float scale, int64_t i, int64_t bins) {
    const float start = low * scale;
    size = std::max(high * scale - start, 0.0F) / static_cast<float>(bins);
    begin = start + size * static_cast<float>(i);
    end = begin + size;
  }

  // Calls visit(pixel, weight) for the pixels of the bin: the integral of the hat function of the pixel.
  template <class Visit>
  void for_each_pixel(int64_t pixels, const Visit& visit) const {
    if (!(end > begin)) return;
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
      const auto at = static_cast<double>(pixel);
      const auto side = [&](double from, double to, double sign) {
        const double first = std::max<double>(begin, from), last = std::min<double>(end, to);
        return last > first ? (last - first) * (1 + sign * ((first - at) + (last - at)) / 2) : 0;
      };
      const double weight = side(at - 1, at, 1) + side(at, at + 1, -1);
      if (weight > 0) visit(pixel, weight);
    }
  }
  // Calls visit(pixel, weight) for the pixels from which the position `at` is interpolated.
  template <class Visit>
  static void for_each_node(double at, int64_t pixels, const Visit& visit) {
    for (const double node : {std::floor(at), std::floor(at) + 1}) {
      const double weight = 1 - std::abs(at - node);
      if (node >= 0 && node < static_cast<double>(pixels) && weight > 0) visit(static_cast<int64_t>(node), weight);
    }
  }

  float begin, end, size;
};

// Calls visit(r, image, p, q, y, x, area) for the bins with an area, with their extents along both axes.
template <class Visit>
void for_each_bin(const Arguments& a, const Operand& rois, const Operand& bins, const Visit& visit) {
  const int64_t PH = bins.dim(1), PW = bins.dim(2);
  with_element_type(rois, [&]<class T>() {
    for (int64_t i = 0; i < rois.dim(0) * PH * PW; ++i) {
      const T* roi = rois.as<T>() + i / (PH * PW) * 5;
      const int64_t p = i / PW % PH, q = i % PW;
      const Bin y(to_f32(roi[2]), to_f32(roi[4]), scale_of(a), p, PH),
          x(to_f32(roi[1]), to_f32(roi[3]), scale_of(a), q, PW);
      const float area = x.size * y.size;
      if (area > 0 && std::isfinite(area))
        visit(i, static_cast<int64_t>(to_f32(roi[0])), p, q, y, x, double{area});
    }
  });
}

template <bool kForward>
void expect_map(Arguments& a) {
  double* const sums = sums_of(a[2]);
  if (a[2].count() == 0) return;
  const Operand &images = a[kForward ? 0 : 2], &bins = a[kForward ? 2 : 0];
  const int64_t H = images.dim(1), W = images.dim(2), C = images.dim(3);
  with_element_type(a[0], [&]<class T>() {
    for_each_bin(a, a[1], bins,
                 [&](int64_t i, int64_t image, int64_t, int64_t, const Bin& y, const Bin& x, double area) {
                   y.for_each_pixel(H, [&](int64_t row, double of_y) {
                     x.for_each_pixel(W, [&](int64_t column, double of_x) {
                       const int64_t pixel = ((image * H + row) * W + column) * C;
                       for (int64_t c = 0; c < C; ++c) {
                         const int64_t from = kForward ? pixel : i * C, to = kForward ? i * C : pixel;
                         sums[to + c] += of_y * of_x / area * to_f32(a[0].as<T>()[from + c]);
                       }
                     });
                   });
                 });
  });
}

void expect_coor_backward(Arguments& a) {
  double* const sums = sums_of(a[4]);
  if (a[4].count() == 0) return;
  const int64_t H = a[2].dim(1), W = a[2].dim(2), C = a[2].dim(3);
  const double sign = a.are_magnitudes ? 1 : -1;
  const auto PH = static_cast<double>(a[0].dim(1)), PW = static_cast<double>(a[0].dim(2));
  with_element_type(a[0], [&]<class T>() {
    for_each_bin(
        a, a[3], a[0],
        [&](int64_t i, int64_t image, int64_t p, int64_t q, const Bin& y, const Bin& x, double area) {
          double* to = sums + i / (a[0].dim(1) * a[0].dim(2)) * 5;
          for (int64_t c = 0; c < C; ++c) {
            const double grad = to_f32(a[1].as<T>()[i * C + c]);
            if (grad == 0) continue;
            const auto pixel = [&](int64_t row, int64_t column) {
              return double{to_f32(a[2].as<T>()[((image * H + row) * W + column) * C + c])};
            };
            const auto edge_x = [&](double at) {
              double sum = 0;
              y.for_each_pixel(H, [&](int64_t row, double of_y) {
                Bin::for_each_node(at, W, [&](int64_t column, double w) { sum += of_y * w * pixel(row, column); });
              });
              return sum;
            };
            const auto edge_y = [&](double at) {
              double sum = 0;
              x.for_each_pixel(W, [&](int64_t column, double of_x) {
                Bin::for_each_node(at, H, [&](int64_t row, double w) { sum += of_x * w * pixel(row, column); });
              });
              return sum;
            };
            const double mean = to_f32(a[0].as<T>()[i * C + c]), factor = grad * scale_of(a) / area;
            const double height = double{y.end} - y.begin, width = double{x.end} - x.begin;
            const double x1 = factor * (sign * edge_x(x.begin) + height * mean),
                         x2 = factor * (edge_x(x.end) + sign * height * mean),
                         y1 = factor * (sign * edge_y(y.begin) + width * mean),
                         y2 = factor * (edge_y(y.end) + sign * width * mean);
            const auto at = [](int64_t bin, double bins) { return static_cast<double>(bin) / bins; };
            to[1] += x1 * (1 - at(q, PW)) + x2 * (1 - at(q + 1, PW));
            to[2] += y1 * (1 - at(p, PH)) + y2 * (1 - at(p + 1, PH));
            to[3] += x1 * at(q, PW) + x2 * at(q + 1, PW);
            to[4] += y1 * at(p, PH) + y2 * at(p + 1, PH);
          }
        });
  });
}

// kind 0: forward, 1: backward, 2: gradient of the coordinates.
template <int kKind>
Case make(const Recipe& r) {
  static constexpr const char* kNames[] = {"prroi_pool_forward", "prroi_pool_backward",
                                           "prroi_pool_coor_backward"};
  Case c = new_case(kNames[kKind], r);
  c.parameters.message = c.op_name + "_param";
  c.parameters.set_real("spatial_scale", double{kScale});
  const auto layout = MLUOP_LAYOUT_NHWC;
  const auto images = [&](const char* id) {
    return make_tensor(id, r.dtype, dims_of_map(layout, r["b"], r["h"], r["w"], r["c"]), layout);
  };
  const auto bins = [&](const char* id) {
    return make_tensor(id, r.dtype, dims_of_map(layout, r["r"], r["ph"], r["pw"], r["c"]), layout);
  };
  const Tensor rois = make_rois(r, kScale);
  if (kKind == 0) {
    c.inputs = {with_uniform(images("input"), r.seed), rois};
    c.outputs = {bins("output")};
  } else if (kKind == 1) {
    c.inputs = {with_uniform(bins("grad_output"), r.seed), rois};
    c.outputs = {images("grad_input")};
  } else {
    c.inputs = {with_uniform(bins("output"), r.seed), with_uniform(bins("grad_output"), r.seed + 2),
                with_uniform(images("input"), r.seed + 3), rois};
    c.outputs = {make_tensor("grad_rois", r.dtype, {r["r"], 5})};
  }
  return c;
}

const TensorRule kRois = {.id = "rois",
                          .role = Role::kInput,
                          .axes = {"roi", "number"},
                          .other_layouts = kAnyLayout,
                          .keeps_signs = true};
const std::vector<std::string> kImages = {"image", "row", "column", "channel"},
                               kBins = {"roi", "bin row", "bin column", "channel"};

Operator described(const std::string& name, const std::string& function) {
  Operator op;
  op.name = name;
  op.function = function;
  op.parameter_messages = {name + "_param"};
  op.criteria = sum_criteria;
  op.terms = [](const Arguments& a) {
    int64_t terms = 64;
    for (const Operand& tensor : a.tensors) terms += tensor.count();
    return terms;
  };
  op.multiplies = true;
  op.sizes = {{"b", 2, 1, 3},  {"c", 5, 1, 40}, {"h", 9, 1, 20}, {"w", 11, 1, 20},
              {"r", 6, 1, 20}, {"ph", 3, 1, 6}, {"pw", 2, 1, 6}};
  op.parallel_sizes = {{{"c", 300}, {"h", 20}, {"w", 24}, {"r", 30}, {"ph", 5}, {"pw", 5}}};
  // IoU-Net heads of ATOM and PrDiMP: 288 x 288 pixels at 1/8 and 1/16.
  op.networks = {
      {"atom 36x36 r16 5x5", {{"b", 1}, {"c", 256}, {"h", 36}, {"w", 36}, {"r", 16}, {"ph", 5}, {"pw", 5}}},
      {"atom 18x18 r16 3x3", {{"b", 1}, {"c", 256}, {"h", 18}, {"w", 18}, {"r", 16}, {"ph", 3}, {"pw", 3}}},
      {"prdimp 22x22 r15 4x4", {{"b", 1}, {"c", 512}, {"h", 22}, {"w", 22}, {"r", 15}, {"ph", 4}, {"pw", 4}}}};
  return op;
}

Operator forward() {
  Operator op = described("prroi_pool_forward", "mluOpOmpPrroiPoolForward");
  op.tensors = {
      {"input", Role::kInput, kImages, {}, {0, 1, 2}}, kRois, {"output", Role::kOutput, kBins, {}, {1, 2}}};
  op.run = [](const Arguments& a) {
    return call(mluOpOmpPrroiPoolForward, a.handle, scale_of(a), a[0], a[1], a[2]);
  };
  op.expect = expect_map<true>;
  op.work = [](const Arguments& a) { return each_once(a, 2, 8 * a[2].count()); };
  op.make = make<0>;
  op.fit = [](Case& c) {
    const Dims& dims = c.outputs[0].dims;
    set_shape(c.outputs[0], {c.inputs[1].dims[0], dims[1], dims[2], dims[3]});
  };
  op.reductions = {axis_reduction("rois", {{1, 0}}, {{0, 0}})};
  return op;
}

Operator backward() {
  Operator op = described("prroi_pool_backward", "mluOpOmpPrroiPoolBackward");
  op.tensors = {{"grad_output", Role::kInput, kBins, {}, {1, 2}},
                kRois,
                {"grad_input", Role::kOutput, kImages, {}, {0, 1, 2}}};
  op.run = [](const Arguments& a) {
    return call(mluOpOmpPrroiPoolBackward, a.handle, scale_of(a), a[0], a[1], a[2]);
  };
  op.expect = expect_map<false>;
  op.work = [](const Arguments& a) { return each_once(a, 2, 8 * a[0].count()); };
  op.make = make<1>;
  op.fit = [](Case&) {};
  op.reductions = {axis_reduction("rois", {{0, 0}, {1, 0}})};
  return op;
}

Operator coor_backward() {
  Operator op = described("prroi_pool_coor_backward", "mluOpOmpPrroiPoolCoorBackward");
  op.tensors = {{"output", Role::kInput, kBins},
                {"grad_output", Role::kInput, kBins},
                {"input", Role::kInput, kImages, {}, {0, 1, 2}},
                kRois,
                {"grad_rois", Role::kOutput, {"roi", "number"}, kAnyLayout}};
  op.run = [](const Arguments& a) {
    return call(mluOpOmpPrroiPoolCoorBackward, a.handle, scale_of(a), a[0], a[1], a[2], a[3], a[4]);
  };
  op.expect = expect_coor_backward;
  op.work = [](const Arguments& a) { return each_once(a, 4, 40 * a[0].count()); };
  op.make = make<2>;
  op.fit = [](Case& c) { set_shape(c.outputs[0], {c.inputs[3].dims[0], 5}); };
  op.reductions = {axis_reduction("rois", {{0, 0}, {1, 0}, {3, 0}}, {{0, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() { return {forward(), backward(), coor_backward()}; }

}  // namespace mluop::cases::prroi_pool
