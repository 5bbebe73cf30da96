#include <algorithm>
#include <cmath>
#include <limits>

#include "case/description.h"
#include "case/operators/shared/rois.h"

namespace mluop::cases::roi_pool {
namespace {

using reference::put;
using reference::to_f32;

// The pixels [begin, end) of bin i of a RoI along an axis, by the definition.
struct Bin {
  Bin(bool rounded, float low, float high, float scale, int64_t i, int64_t bins, int64_t pixels) {
    const float first = rounded ? std::round(low * scale) : low * scale;
    const float last = rounded ? std::round(high * scale) : (high + 1) * scale;
    const float size = rounded ? std::max(last - first + 1, 1.0F) : last - first;
    if (!std::isfinite(first) || !std::isfinite(size) || size <= 0) return;
    const float bin = size / static_cast<float>(bins), inner = rounded ? 0 : first;
    const double outer = rounded ? double{first} : 0, limit = static_cast<double>(pixels);
    begin = static_cast<int64_t>(std::clamp(std::floor(static_cast<float>(i) * bin + inner) + outer, 0.0, limit));
    end = static_cast<int64_t>(std::clamp(std::ceil(static_cast<float>(i + 1) * bin + inner) + outer, 0.0, limit));
  }

  int64_t begin = 0, end = 0;
};

void pool(const Arguments& a, bool rounded) {
  const Map images(a[0]), bins(a[2]);
  const auto scale = static_cast<float>(a.parameters->real("spatial_scale"));
  with_element_type(a[0], [&]<class T>() {
    for (int64_t r = 0; r < bins.count && bins.channels > 0; ++r) {
      const T* roi = a[1].as<T>() + r * 5;
      for (int64_t bin = 0; bin < bins.height * bins.width; ++bin) {
        const int64_t p = bin / bins.width, q = bin % bins.width;
        const Bin rows(rounded, to_f32(roi[2]), to_f32(roi[4]), scale, p, bins.height, images.height),
            columns(rounded, to_f32(roi[1]), to_f32(roi[3]), scale, q, bins.width, images.width);
        for (int64_t c = 0; c < bins.channels; ++c) {
          const bool is_empty = rows.begin >= rows.end || columns.begin >= columns.end;
          float maximum = is_empty ? 0 : std::numeric_limits<float>::lowest();
          int64_t place = -1;
          for (int64_t y = rows.begin; y < rows.end; ++y) {
            for (int64_t x = columns.begin; x < columns.end; ++x) {
              const float value = to_f32(a[0].as<T>()[images.at(static_cast<int64_t>(to_f32(roi[0])), y, x, c)]);
              if (!(value > maximum)) continue;
              maximum = value;
              place = y * images.width + x;
            }
          }
          put(maximum, a[2].as<T>() + bins.at(r, p, q, c));
          a[3].as<int32_t>()[bins.at(r, p, q, c)] = static_cast<int32_t>(place);
        }
      }
    }
  });
}

template <bool kBits>
void expect_backward(Arguments& a) {
  const Map bins(a[0]), images(a[3]);
  std::vector<std::conditional_t<kBits, float, double>> sums(static_cast<size_t>(a[3].count()));
  with_element_type(a[0], [&]<class T>() {
    for (int64_t i = 0; i < bins.count * bins.height * bins.width * bins.channels && !sums.empty(); ++i) {
      const int64_t c = i % bins.channels, bin = i / bins.channels % (bins.height * bins.width),
                    r = i / bins.channels / (bins.height * bins.width);
      const int64_t at = bins.at(r, bin / bins.width, bin % bins.width, c), place = a[2].as<int32_t>()[at];
      if (place < 0 || place >= images.height * images.width) continue;
      sums[static_cast<size_t>(images.at(static_cast<int64_t>(to_f32(a[1].as<T>()[r * 5])), place / images.width,
                                         place % images.width, c))] += to_f32(a[0].as<T>()[at]);
    }
    if constexpr (kBits) {
      reference::put_all(sums, a[3].as<T>());
    } else {
      std::copy(sums.begin(), sums.end(), sums_of(a[3]));
    }
  });
}

float scale_of(const Recipe& r) { return r["rounded"] != 0 ? 0.25F : 1; }

Case make_forward(const Recipe& r, bool has_mode) {
  Case c = new_case(has_mode ? "roi_pooling_forward" : "roi_pool_forward", r);
  c.parameters.message = c.op_name + "_param";
  c.parameters.set(has_mode ? "mode" : "rounded", has_mode ? 0 : r["rounded"]);
  c.parameters.set_real("spatial_scale", double{scale_of(r)});
  const auto layout = layout_of_maps(r);
  const Dims bins = dims_of_map(layout, r["r"], r["ph"], r["pw"], r["c"]);
  c.inputs = {
      with_uniform(make_tensor("input", r.dtype, dims_of_map(layout, r["b"], r["h"], r["w"], r["c"]), layout),
                   r.seed),
      make_rois(r, scale_of(r))};
  c.outputs = {make_tensor("output", r.dtype, bins, layout),
               make_tensor("argmax", MLUOP_DTYPE_INT32, bins, layout)};
  return c;
}

// The bins and the number of channels are kept.
void fit_forward(Case& c) {
  for (Tensor& output : c.outputs) {
    Dims dims = output.dims;
    dims[0] = c.inputs[1].dims[0];
    set_shape(output, dims);
  }
}

Case make_backward(const Recipe& r) {
  Case c = new_case("roi_pooling_backward", r);
  c.parameters.message = "roi_pooling_backward_param";
  c.parameters.set("mode", int64_t{0});
  c.parameters.set_real("spatial_scale", 1);
  const auto layout = layout_of_maps(r);
  const Dims bins = dims_of_map(layout, r["r"], r["ph"], r["pw"], r["c"]);
  // Some places are outside the image: they are not used.
  c.inputs = {with_uniform(make_tensor("grads", r.dtype, bins, layout), r.seed), make_rois(r, 1),
              with_uniform(make_tensor("argmax", MLUOP_DTYPE_INT32, bins, layout), r.seed + 2, -2,
                           static_cast<double>(r["h"] * r["w"] + 2))};
  c.outputs = {make_tensor("grads_image", r.dtype, dims_of_map(layout, r["b"], r["h"], r["w"], r["c"]), layout)};
  return c;
}

Operator described(const std::string& name, const std::string& function) {
  Operator op;
  op.name = name;
  op.function = function;
  op.multiplies = true;
  op.parameter_messages = {name + "_param"};
  op.sizes = {{"b", 2, 1, 3},   {"c", 5, 1, 70},          {"h", 9, 1, 30},
              {"w", 11, 1, 40}, {"r", 6, 1, 20},          {"ph", 3, 1, 8},
              {"pw", 2, 1, 8},  {"nchw", 0, 0, 1, false}, {"rounded", 0, 0, 1, false}};
  const std::map<std::string, int64_t> sizes = {{"c", 70}, {"h", 40}, {"w", 50}, {"r", 60}, {"ph", 7}, {"pw", 7}};
  op.parallel_sizes = {sizes, sizes};
  op.parallel_sizes[1]["nchw"] = 1;
  // Fast R-CNN and weakly supervised heads (WSDDN, OICR) on VGG-16: features of 1/16 and 1/8 of 600 x 1000 pixels.
  const std::map<std::string, int64_t> vgg = {{"b", 1},  {"c", 512},  {"ph", 7},
                                              {"pw", 7}, {"r", 2000}, {"nchw", 1}};
  for (const auto& [text, h, w, r] :
       {std::tuple("vgg16 38x63 r2000 7x7", 38, 63, 2000), std::tuple("vgg16 75x125 r2000 7x7", 75, 125, 2000),
        std::tuple("vgg16 38x63 r128 7x7", 38, 63, 128)}) {
    NetworkSize& size = op.networks.emplace_back(NetworkSize{text, vgg});
    size.sizes["h"] = h;
    size.sizes["w"] = w;
    size.sizes["r"] = r;
  }
  return op;
}

const TensorRule kRois = {.id = "rois",
                          .role = Role::kInput,
                          .axes = {"roi", "number"},
                          .other_layouts = kAnyLayout,
                          .keeps_signs = true};

template <bool kHasMode>
Operator forward() {
  Operator op = kHasMode ? described("roi_pooling_forward", "mluOpRoiPoolingForward")
                         : described("roi_pool_forward", "mluOpOmpRoiPoolForward");
  op.tensors = {{"input", Role::kInput, {}, {}, {0, 1, 2}},
                kRois,
                {"output", Role::kOutput, {}, {}, {1, 2}},
                {"argmax", Role::kOutput, {}}};
  op.tensors[3].has_descriptor = !kHasMode;
  op.run = [](const Arguments& a) {
    const auto scale = static_cast<float>(a.parameters->real("spatial_scale"));
    if constexpr (kHasMode) {
      return call(mluOpRoiPoolingForward, a.handle, static_cast<mluOpPoolingMode_t>(a.int32("mode")), a[0], a[1],
                  scale, a[2], a[3].as<int>());
    } else {
      return call(mluOpOmpRoiPoolForward, a.handle, a.integer("rounded") != 0, scale, a[0], a[1], a[2], a[3]);
    }
  };
  op.expect = [](Arguments& a) { pool(a, kHasMode || a.integer("rounded") != 0); };
  op.work = [](const Arguments& a) { return each_once(a, 2, 4 * a[2].count()); };
  op.make = [](const Recipe& r) { return make_forward(r, kHasMode); };
  op.fit = fit_forward;
  op.reductions = {axis_reduction("rois", {{1, 0}}, {{0, 0}, {1, 0}})};
  return op;
}

Operator backward() {
  Operator op = described("roi_pooling_backward", "mluOpRoiPoolingBackward");
  op.tensors = {{"grads", Role::kInput, {}, {}, {1, 2}},
                kRois,
                {"argmax", Role::kInput, {}},
                {"grads_image", Role::kOutput, {}, {}, {0, 1, 2}}};
  op.run = [](const Arguments& a) {
    return call(mluOpRoiPoolingBackward, a.handle, static_cast<mluOpPoolingMode_t>(a.int32("mode")), a[0], a[1],
                a[2].desc, a[2].as<const int>(), static_cast<float>(a.parameters->real("spatial_scale")), a[3]);
  };
  op.expect = expect_backward<false>;
  op.expect_bits = expect_backward<true>;
  op.terms = [](const Arguments& a) { return a[0].count(); };
  op.criteria = sum_criteria;
  op.work = [](const Arguments& a) { return each_once(a, 3, a[0].count()); };
  op.make = make_backward;
  op.fit = [](Case&) {};
  op.reductions = {axis_reduction("rois", {{0, 0}, {1, 0}, {2, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() { return {forward<true>(), forward<false>(), backward()}; }

}  // namespace mluop::cases::roi_pool
