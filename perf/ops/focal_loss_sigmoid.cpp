// Sigmoid focal loss at the sizes of detection heads: all anchors of a batch, few of which belong to a class.
#include <random>

#include "perf/support/operator_case.h"

namespace mluop::perf::focal_loss_sigmoid {
namespace {

struct Row {
  const char* name;
  int64_t N, C;
  double gamma = 2;
  bool weighted = false;
};

// SECOND and SA-SSD: one class of 2 x 200 x 176 anchors. RetinaNet: five levels of an image of 800 x 1333.
constexpr Row kCases[] = {{"second 70400x1 batch 4", 281600, 1},
                          {"pointpillars nus 320000x10", 320000, 10},
                          {"retinanet 201600x80", 201600, 80},
                          {"document 2520x80", 2520, 80},
                          {"document 604800x80", 604800, 80},
                          {"retinanet 201600x80 weights", 201600, 80, 2, true},
                          {"retinanet 201600x80 gamma 1.5", 201600, 80, 1.5}};

constexpr double kAlpha = 0.25;

template <bool kForward>
std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  const int64_t N = scaled(row.N, size);
  auto made = make_case(kForward ? "focal_loss_sigmoid_forward" : "focal_loss_sigmoid_backward", variant,
                        {{"prefer", int64_t{MLUOP_COMPUTATION_HIGH_PRECISION}},
                         {"reduction", int64_t{MLUOP_LOSS_REDUCTION_NONE}},
                         {"alpha", kAlpha},
                         {"gamma", row.gamma}},
                        {{"input", variant.dtype, {N, row.C}},
                         {"target", MLUOP_DTYPE_INT32, {N}},
                         {"weight", variant.dtype, {row.weighted ? row.C : 0}},
                         {kForward ? "output" : "grad_input", variant.dtype, {N, row.C}}});
  made->fill_uniform("input", 1);
  if (row.weighted) made->fill_uniform("weight", 2);
  // One anchor in 16 has a class.
  std::mt19937 random(3);
  for (int32_t& target : made->values<int32_t>("target")) {
    target = static_cast<int32_t>(random() % 16 > 0 ? row.C : random() % static_cast<uint64_t>(row.C));
  }
  made->dump<double>("alpha", {kAlpha});
  made->dump<double>("gamma", {row.gamma});
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "focal_loss_sigmoid_forward", kNative, kCases, make<true>);
  append_cases(specs, "focal_loss_sigmoid_backward", kNative, kCases, make<false>);
  return specs;
}

}  // namespace mluop::perf::focal_loss_sigmoid
