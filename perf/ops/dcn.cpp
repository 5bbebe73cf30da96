// Deformable convolution forward and its gradients at the sizes of Faster R-CNN (ResNet-50 with modulated
// convolutions in its last three stages), of ResNeXt-101 with groups, and of the heads of CenterPoint.
#include <memory>
#include <string>
#include <vector>

#include "perf/ops/columns_sgemm.h"
#include "perf/support/operator_case.h"
#include "perf/support/verify.h"

namespace mluop::perf::dcn {
namespace {

// 3 x 3 filters with a padding of 1 and a stride of 1.
struct Row {
  const char* name;
  int64_t N, H, W, Ci, Co, groups, deformable_groups;
  bool with_mask;
};

constexpr Row kCases[] = {{"r50 c3 1x100x152 c128", 1, 100, 152, 128, 128, 1, 1, true},
                          {"r50 c4 1x50x76 c256", 1, 50, 76, 256, 256, 1, 1, true},
                          {"r50 c5 1x25x38 c512", 1, 25, 38, 512, 512, 1, 1, true},
                          {"x101 c3 1x100x152 c256 g32", 1, 100, 152, 256, 256, 32, 1, true},
                          {"centerpoint head 1x128x128 c64 dg4", 1, 128, 128, 64, 64, 1, 4, false},
                          {"centerpoint train 4x128x128 c64 dg4", 4, 128, 128, 64, 64, 1, 4, false}};

constexpr int64_t kOffsets = 9;

std::vector<NamedValue> parameters_of(const Row& row) {
  const std::vector<int64_t> ones = {1, 1};
  return {{"dimnb", int64_t{4}},      {"pad", std::vector<int64_t>{1, 1, 1, 1}},   {"stride", ones},
          {"dilation", ones},         {"deformable_group", row.deformable_groups}, {"conv_group", row.groups},
          {"im2col_step", int64_t{1}}};
}

std::unique_ptr<OperatorCase> make(const char* op, const std::vector<std::string>& ids, const Row& row,
                                   const Variant& variant, double size) {
  constexpr auto kNhwc = MLUOP_LAYOUT_NHWC;
  const int64_t H = scaled(row.H, size), samples = kOffsets * row.deformable_groups;
  const auto shape_of = [&](const std::string& id) -> TensorShape {
    if (id == "bias" || id == "grad_bias") return {id, variant.dtype, {row.Co}};
    if (id.ends_with("filter")) return {id, variant.dtype, {row.Co, 3, 3, row.Ci / row.groups}, kNhwc};
    if (id.ends_with("mask") && !row.with_mask) return {id, variant.dtype, {0}};
    const int64_t channels = id.ends_with("input")    ? row.Ci
                             : id.ends_with("offset") ? 2 * samples
                             : id.ends_with("mask")   ? samples
                                                      : row.Co;
    return {id, variant.dtype, {row.N, H, row.W, channels}, kNhwc};
  };
  std::vector<TensorShape> shapes;
  for (const std::string& id : ids) shapes.push_back(shape_of(id));
  auto made = make_case(op, variant, parameters_of(row), shapes);
  uint64_t seed = 0;
  for (const std::string& id : ids) {
    const bool is_output = id == "output" || (id.starts_with("grad_") && id != "grad_output");
    if (!is_output) made->fill_uniform(id, ++seed);
  }
  made->dump("conv_group", {row.groups});
  made->dump("deformable_group", {row.deformable_groups});
  // No baseline: the oracle takes seconds.
  made->options.baselines.clear();
  return made;
}

std::unique_ptr<Case> make_forward(const Row& row, const Variant& variant, double size) {
  auto made = make("dcn_forward", {"input", "offset", "mask", "filter", "bias", "output"}, row, variant, size);
  if (variant.dtype != MLUOP_DTYPE_FLOAT || row.groups > 1 || row.deformable_groups > 1) return made;
  const cases::Arguments& a = made->expected();
  const cases::Operand &input = a[0], &output = a[5];
  const reference::DcnProblem problem{
      row.N, input.dim(1), row.W, row.Ci, 3, 3, output.dim(1), output.dim(2), output.dim(3), 1, 1, 1, 1, 1, 1, 1,
      1};
  const auto sgemm = std::make_shared<ColumnsSgemm>(problem);
  const auto result = std::make_shared<Buffer<float>>(output.count());
  const reference::DcnSamples<float> samples{input.as<float>(), a[1].as<float>(), a[2].as<float>()};
  const auto run = [=, filter = a[3].as<float>(), bias = a[4].as<float>()] {
    sgemm->run(samples, filter, bias, result->data());
  };
  made->options.baselines.push_back({"columns-sgemm", run});
  made->options.verify_baselines = [=, &a] {
    run();
    constexpr double kTolerance = 1e-5;
    return too_different("columns-sgemm", result->values(), floats_of(a[5]), kTolerance);
  };
  return made;
}

std::unique_ptr<Case> make_data(const Row& row, const Variant& variant, double size) {
  return make("dcn_backward_data",
              {"input", "offset", "mask", "filter", "grad_output", "grad_input", "grad_offset", "grad_mask"}, row,
              variant, size);
}

std::unique_ptr<Case> make_weight(const Row& row, const Variant& variant, double size) {
  return make("dcn_backward_weight", {"input", "offset", "mask", "grad_output", "grad_filter", "grad_bias"}, row,
              variant, size);
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "dcn_forward", kNative, kCases, make_forward);
  append_cases(specs, "dcn_backward_data", kNative, kCases, make_data);
  append_cases(specs, "dcn_backward_weight", kNative, kCases, make_weight);
  return specs;
}

}  // namespace mluop::perf::dcn
