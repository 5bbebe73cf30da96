#include "case/description.h"

namespace mluop::cases::tin_shift {
namespace {

void expect(Arguments& a) {
  const int64_t N = a[0].dim(0), T = a[0].dim(1), C = a[0].dim(2), L = a[0].dim(3), G = a[1].dim(1);
  set_zero(a[2]);
  with_bits_type(a[0], [&]<class Element>() {
    for (int64_t i = 0; i < N * T * C * L; ++i) {
      const int64_t c = i / L % C, t = i / L / C % T, n = i / L / C / T;
      const int64_t d = a[1].as<int32_t>()[n * G + c / (C / G)];
      if (0 <= t + d && t + d < T) a[2].as<Element>()[i + d * C * L] = a[0].as<Element>()[i];
    }
  });
}

void fit(Case& c) { set_shape(c.outputs[0], c.inputs[0].dims); }

// Shifts up to T frames in both directions.
template <bool kForward>
Case make(const Recipe& r) {
  checked_product({r["n"], r["t"], r["g"], r["c"], r["l"]});
  Case c = new_case(kForward ? "tin_shift_forward" : "tin_shift_backward", r);
  const Dims dims = {r["n"], r["t"], checked_product({r["g"], r["c"]}), r["l"]};
  Integers random(r.seed + 1);
  std::vector<int32_t> shifts(static_cast<size_t>(checked_product({r["n"], r["g"]})));
  for (int32_t& shift : shifts) shift = random.below(2 * r["t"] + 1) - static_cast<int32_t>(r["t"]);
  c.inputs = {with_uniform(make_tensor(kForward ? "input" : "grad_output", r.dtype, dims), r.seed),
              with_values(make_tensor("shifts", MLUOP_DTYPE_INT32, {r["n"], r["g"]}), shifts)};
  c.outputs = {make_tensor(kForward ? "output" : "grad_input", r.dtype, dims)};
  return c;
}

template <bool kForward>
Operator described() {
  const std::vector<std::string> axes = {"video", "frame", "channel", "pixel"};
  Operator op;
  op.name = kForward ? "tin_shift_forward" : "tin_shift_backward";
  op.function = kForward ? "mluOpTinShiftForward" : "mluOpTinShiftBackward";
  op.tensors = {{kForward ? "input" : "grad_output", Role::kInput, axes, kAnyLayout, {}},
                {"shifts", Role::kInput, {"video", "group"}, kAnyLayout, {1}},
                {kForward ? "output" : "grad_input", Role::kOutput, axes, kAnyLayout}};
  op.run = [](const Arguments& a) {
    return call(kForward ? mluOpTinShiftForward : mluOpTinShiftBackward, a.handle, a[0], a[1], a[2]);
  };
  op.expect = expect;
  op.copies = true;
  // c: channels of a group.
  op.sizes = {{"n", 2, 1, 3}, {"t", 4, 1, 9}, {"g", 3, 1, 6}, {"c", 2, 1, 17}, {"l", 5, 1, 70}};
  op.parallel_sizes = {{{"n", 2}, {"t", 8}, {"g", 4}, {"c", 4}, {"l", 196}}};
  // Residual stages of TIN with ResNet-50 and eight frames.
  op.networks = {{"tin 64x3136", {{"n", 1}, {"t", 8}, {"g", 4}, {"c", 16}, {"l", 3136}}},
                 {"tin 128x784", {{"n", 1}, {"t", 8}, {"g", 4}, {"c", 32}, {"l", 784}}},
                 {"tin 256x196", {{"n", 1}, {"t", 8}, {"g", 4}, {"c", 64}, {"l", 196}}},
                 {"tin 512x49", {{"n", 1}, {"t", 8}, {"g", 4}, {"c", 128}, {"l", 49}}}};
  op.make = make<kForward>;
  op.fit = fit;
  op.reductions = {axis_reduction("videos", {{0, 0}, {1, 0}}, {{0, 0}}),
                   axis_reduction("pixels", {{0, 3}}, {{0, 3}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() { return {described<true>(), described<false>()}; }

}  // namespace mluop::cases::tin_shift
