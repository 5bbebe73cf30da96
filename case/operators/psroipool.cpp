#include <algorithm>
#include <cmath>

#include "case/description.h"
#include "case/operators/shared/rois.h"

namespace mluop::cases::psroipool {
namespace {

using reference::to_f32;

constexpr float kScale = 0.5F;
float scale_of(const Arguments& a) { return static_cast<float>(a.parameters->real("spatial_scale")); }

// The pixels [begin, end) of bin i of a RoI along an axis, by the definition.
struct Bin {
  Bin(float low, float high, float scale, int64_t i, int64_t bins, int64_t pixels) {
    const float start = std::round(low) * scale, size = std::max((std::round(high) + 1) * scale - start, 0.1F);
    if (!std::isfinite(start) || !std::isfinite(size)) return;
    const float bin = size / static_cast<float>(bins), limit = static_cast<float>(pixels);
    begin = static_cast<int64_t>(std::clamp(std::floor(static_cast<float>(i) * bin + start), 0.0F, limit));
    end = static_cast<int64_t>(std::clamp(std::ceil(static_cast<float>(i + 1) * bin + start), 0.0F, limit));
  }

  int64_t begin = 0, end = 0;
};

// Calls visit(bin, image, y, x, area) for the pixels of each bin [R, P, P].
template <class Visit>
void for_each_pixel(const Arguments& a, const Operand& images, const Operand& rois, const Visit& visit) {
  const int64_t P = a.int32("pooled_height"), H = images.dim(1), W = images.dim(2);
  with_element_type(rois, [&]<class T>() {
    for (int64_t bin = 0; bin < rois.dim(0) * P * P; ++bin) {
      const T* roi = rois.as<T>() + bin / (P * P) * 5;
      const Bin rows(to_f32(roi[2]), to_f32(roi[4]), scale_of(a), bin / P % P, P, H),
          columns(to_f32(roi[1]), to_f32(roi[3]), scale_of(a), bin % P, P, W);
      const double area = static_cast<double>((rows.end - rows.begin) * (columns.end - columns.begin));
      for (int64_t y = rows.begin; y < rows.end; ++y) {
        for (int64_t x = columns.begin; x < columns.end; ++x) {
          visit(bin, static_cast<int64_t>(to_f32(roi[0])) * H * W + y * W + x, area);
        }
      }
    }
  });
}

void expect_forward(Arguments& a) {
  double* const sums = sums_of(a[2]);
  if (a[2].count() == 0) return;
  const int64_t P = a.int32("pooled_height"), K = a[2].dim(3), C = a[0].dim(3);
  for (int64_t i = 0; i < a[3].count(); ++i) {
    a[3].as<int32_t>()[i] = static_cast<int32_t>(i % K * P * P + i / K % (P * P));
  }
  with_element_type(a[0], [&]<class T>() {
    for_each_pixel(a, a[0], a[1], [&](int64_t bin, int64_t pixel, double area) {
      for (int64_t k = 0; k < K; ++k) {
        sums[bin * K + k] += to_f32(a[0].as<T>()[pixel * C + a[3].as<int32_t>()[bin * K + k]]) / area;
      }
    });
  });
}

void expect_backward(Arguments& a) {
  double* const sums = sums_of(a[3]);
  if (a[3].count() == 0) return;
  const int64_t K = a[0].dim(3), C = a[3].dim(3);
  with_element_type(a[0], [&]<class T>() {
    for_each_pixel(a, a[3], a[2], [&](int64_t bin, int64_t pixel, double area) {
      for (int64_t i = bin * K; i < (bin + 1) * K; ++i) {
        const int64_t P = a[0].dim(1), channel = i % K * P * P + bin % (P * P);
        sums[pixel * C + (a[1].count() == 0 ? channel : a[1].as<int32_t>()[i])] += to_f32(a[0].as<T>()[i]) / area;
      }
    });
  });
}

void set_parameters(Case& c, const Recipe& r) {
  c.parameters.message = c.op_name + "_param";
  c.parameters.set("pooled_height", r["p"]);
  c.parameters.set("pooled_width", r["p"]);
  c.parameters.set_real("spatial_scale", double{kScale});
  c.parameters.set("output_dim", r["output_dim"]);
}

struct Shapes {
  explicit Shapes(const Recipe& r)
      : images(dims_of_map(MLUOP_LAYOUT_NHWC, r["b"], r["h"], r["w"],
                           checked_product({r["p"], r["p"], r["output_dim"]}))),
        bins(dims_of_map(MLUOP_LAYOUT_NHWC, r["r"], r["p"], r["p"], r["output_dim"])) {}

  Dims images, bins;
};

Case make_forward(const Recipe& r) {
  const Shapes shapes(r);
  Case c = new_case("ps_roi_pool_forward", r);
  set_parameters(c, r);
  c.parameters.set("group_size", r["p"]);
  c.inputs = {with_uniform(make_tensor("input", r.dtype, shapes.images, MLUOP_LAYOUT_NHWC), r.seed),
              make_rois(r, kScale)};
  c.outputs = {make_tensor("output", r.dtype, shapes.bins, MLUOP_LAYOUT_NHWC),
               make_tensor("mapping_channel", MLUOP_DTYPE_INT32, shapes.bins, MLUOP_LAYOUT_NHWC)};
  return c;
}

Case make_backward(const Recipe& r) {
  const Shapes shapes(r);
  Case c = new_case("ps_roi_pool_backward", r);
  set_parameters(c, r);
  const Tensor mapping = make_tensor("mapping_channel", MLUOP_DTYPE_INT32, shapes.bins, MLUOP_LAYOUT_NHWC);
  std::vector<int32_t> channels(static_cast<size_t>(checked_product({element_count(mapping), 1})));
  const int64_t K = r["output_dim"], groups = r["p"] * r["p"];
  for (size_t i = 0; i < channels.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    channels[i] = static_cast<int32_t>(at % K * groups + at / K % groups);
  }
  c.inputs = {with_uniform(make_tensor("top_grad", r.dtype, shapes.bins, MLUOP_LAYOUT_NHWC), r.seed),
              with_values(mapping, channels), make_rois(r, kScale)};
  c.outputs = {make_tensor("bottom_grad", r.dtype, shapes.images, MLUOP_LAYOUT_NHWC)};
  return c;
}

Operator described(const std::string& direction, const std::string& function) {
  Operator op;
  op.name = "ps_roi_pool_" + direction;
  op.aliases = {"psroipool_" + direction};
  op.function = function;
  op.multiplies = true;
  op.parameter_messages = {op.name + "_param", op.aliases[0] + "_param"};
  op.criteria = sum_criteria;
  op.sizes = {{"b", 2, 1, 3},  {"h", 9, 1, 30}, {"w", 11, 1, 40},
              {"r", 6, 1, 20}, {"p", 3, 1, 8},  {"output_dim", 5, 1, 20}};
  op.parallel_sizes = {{{"h", 40}, {"w", 50}, {"r", 60}, {"p", 7}, {"output_dim", 9}}};
  op.networks = {
      {"rfcn 14x14x392 r320 7x7", {{"b", 1}, {"h", 14}, {"w", 14}, {"r", 320}, {"p", 7}, {"output_dim", 8}}},
      {"rfcn 14x14x189 r493 3x3", {{"h", 14}, {"w", 14}, {"r", 493}, {"p", 3}, {"output_dim", 21}}}};
  return op;
}

const std::vector<std::string> kImages = {"image", "row", "column", "channel"},
                               kBins = {"roi", "bin row", "bin column", "channel"};
const TensorRule kRois = {.id = "rois",
                          .role = Role::kInput,
                          .axes = {"roi", "number"},
                          .other_layouts = kAnyLayout,
                          .keeps_signs = true};

Operator forward() {
  Operator op = described("forward", "mluOpPsRoiPoolForward");
  op.tensors = {{"input", Role::kInput, kImages, {}, {0, 1, 2}},
                kRois,
                {"output", Role::kOutput, kBins},
                {"mapping_channel", Role::kOutput, kBins}};
  op.run = [](const Arguments& a) {
    return call(mluOpPsRoiPoolForward, a.handle, a.int32("pooled_height"), a.int32("pooled_width"), scale_of(a),
                a.int32("group_size"), a.int32("output_dim"), a[0], a[1], a[2], a[3]);
  };
  op.expect = expect_forward;
  op.terms = [](const Arguments& a) { return 8 + a[0].dim(1) * a[0].dim(2); };
  op.work = [](const Arguments& a) { return each_once(a, 2, 4 * a[2].count()); };
  op.make = make_forward;
  op.fit = [](Case& c) {
    const auto size = [&](const char* name) { return c.parameters.integer(name); };
    for (Tensor& output : c.outputs) {
      set_shape(output, {c.inputs[1].dims[0], size("pooled_height"), size("pooled_width"), size("output_dim")});
    }
  };
  op.reductions = {axis_reduction("rois", {{1, 0}}, {{0, 0}, {1, 0}})};
  return op;
}

Operator backward() {
  Operator op = described("backward", "mluOpPsRoiPoolBackward");
  op.tensors = {{"top_grad", Role::kInput, kBins},
                {"mapping_channel", Role::kInput, kBins},
                kRois,
                {"bottom_grad", Role::kOutput, kImages, {}, {0, 1, 2}}};
  op.run = [](const Arguments& a) {
    return call(mluOpPsRoiPoolBackward, a.handle, a.int32("pooled_height"), a.int32("pooled_width"), scale_of(a),
                a.int32("output_dim"), a[0], a[2], a[1], a[3]);
  };
  op.tensors[1].is_optional = true;
  op.expect = expect_backward;
  op.terms = [](const Arguments& a) { return 8 + a[0].count(); };
  op.work = [](const Arguments& a) { return each_once(a, 3, 4 * a[0].count()); };
  op.make = make_backward;
  op.fit = [](Case&) {};
  op.reductions = {axis_reduction("rois", {{0, 0}, {1, 0}, {2, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() { return {forward(), backward()}; }

}  // namespace mluop::cases::psroipool
