#include <algorithm>

#include "case/description.h"

namespace mluop::cases::psamask {
namespace {

// Calls visit(mask, image) with the indices of each pair of equal elements in the tensor of masks and in the
// tensor of images, by the definition: loops over pixels and the elements of their masks.
template <class Visit>
void for_each_element(const Arguments& a, const Visit& visit) {
  const int64_t N = a[0].dim(0), H = a[0].dim(1), W = a[0].dim(2), h_mask = a.int32("h_mask"),
                w_mask = a.int32("w_mask");
  for (int64_t pixel = 0; pixel < N * H * W; ++pixel) {
    const int64_t n = pixel / (H * W), h = pixel / W % H, w = pixel % W;
    for (int64_t mask = 0; mask < h_mask * w_mask; ++mask) {
      const int64_t i = h + mask / w_mask - (h_mask - 1) / 2, j = w + mask % w_mask - (w_mask - 1) / 2;
      if (i < 0 || i >= H || j < 0 || j >= W) continue;
      const int64_t collected = pixel * H * W + i * W + j;
      const int64_t distributed = ((n * H + i) * W + j) * H * W + h * W + w;
      visit(pixel * h_mask * w_mask + mask, a.int32("psa_type") == 0 ? collected : distributed);
    }
  }
}

template <bool kForward>
void expect(Arguments& a) {
  set_zero(a[1]);
  with_bits_type(a[0], [&]<class T>() {
    const T* from = a[0].as<T>();
    T* to = a[1].as<T>();
    for_each_element(
        a, [=](int64_t mask, int64_t image) { to[kForward ? image : mask] = from[kForward ? mask : image]; });
  });
}

// The elements of masks that belong to pixels.
template <bool kForward>
Work work(const Arguments& a) {
  const auto pixels_of_masks = [](int64_t extent, int64_t mask) {
    int64_t pixels = 0;
    for (int64_t center = 0; center < extent; ++center) {
      const int64_t first = std::max<int64_t>(center - (mask - 1) / 2, 0);
      pixels += std::max<int64_t>(std::min(extent, center - (mask - 1) / 2 + mask) - first, 0);
    }
    return pixels;
  };
  const int64_t elements = a[0].dim(0) * pixels_of_masks(a[0].dim(1), a.int32("h_mask")) *
                           pixels_of_masks(a[0].dim(2), a.int32("w_mask"));
  return {elements * static_cast<int64_t>(element_size(a[0].dtype)), a[1].bytes(), 0};
}

template <bool kForward>
void fit(Case& c) {
  const Dims& input = c.inputs[0].dims;
  const int64_t mask = checked_product({c.parameters.int32("h_mask"), c.parameters.int32("w_mask")});
  set_shape(c.outputs[0], {input[0], input[1], input[2], kForward ? checked_product({input[1], input[2]}) : mask});
}

template <bool kForward>
Case make(const Recipe& r) {
  Case c = new_case(kForward ? "psamask_forward" : "psamask_backward", r, {"h_mask", "w_mask"});
  c.parameters.set("psa_type", r["distributes"] != 0);
  const int64_t channels =
      kForward ? checked_product({r["h_mask"], r["w_mask"]}) : checked_product({r["h"], r["w"]});
  const Dims dims = {r["n"], r["h"], r["w"], channels};
  c.inputs = {with_uniform(make_tensor(kForward ? "x" : "dy", r.dtype, dims, MLUOP_LAYOUT_NHWC), r.seed)};
  c.outputs = {make_tensor(kForward ? "y" : "dx", r.dtype, {}, MLUOP_LAYOUT_NHWC)};
  fit<kForward>(c);
  return c;
}

template <bool kForward>
Operator described() {
  Operator op;
  op.name = kForward ? "psamask_forward" : "psamask_backward";
  op.function = kForward ? "mluOpPsamaskForward" : "mluOpPsamaskBackward";
  op.parameter_messages = {op.name + "_param"};
  const std::vector<std::string> axes = {"image", "row", "column", "channel"};
  op.tensors = {{kForward ? "x" : "dy", Role::kInput, axes}, {kForward ? "y" : "dx", Role::kOutput, axes}};
  op.run = [](const Arguments& a) {
    return call(kForward ? mluOpPsamaskForward : mluOpPsamaskBackward, a.handle, a.int32("psa_type"), a[0],
                a.int32("h_mask"), a.int32("w_mask"), a[1]);
  };
  op.expect = expect<kForward>;
  op.work = work<kForward>;
  op.copies = true;
  op.sizes = {{"n", 2, 1, 4},       {"h", 5, 1, 20},      {"w", 6, 1, 40},
              {"h_mask", 7, 0, 45}, {"w_mask", 4, 0, 90}, {"distributes", 0, 0, 1, false}};
  op.parallel_sizes = {{{"n", 2}, {"h", 13}, {"w", 35}, {"h_mask", 25}, {"w_mask", 69}},
                       {{"n", 2}, {"h", 13}, {"w", 35}, {"h_mask", 9}, {"w_mask", 40}, {"distributes", 1}}};
  // PSANet of mmsegmentation: masks of 97 x 97 on features of 1/8 of 385 x 385, and of Cityscapes in strips.
  op.networks = {
      {"psanet 49x49 mask97 collect", {{"n", 1}, {"h", 49}, {"w", 49}, {"h_mask", 97}, {"w_mask", 97}}},
      {"psanet 49x49 mask97 distribute",
       {{"n", 1}, {"h", 49}, {"w", 49}, {"h_mask", 97}, {"w_mask", 97}, {"distributes", 1}}},
      {"psanet 32x64 mask97 collect", {{"n", 1}, {"h", 32}, {"w", 64}, {"h_mask", 97}, {"w_mask", 97}}},
      {"psanet 32x64 mask97 distribute",
       {{"n", 1}, {"h", 32}, {"w", 64}, {"h_mask", 97}, {"w_mask", 97}, {"distributes", 1}}},
      {"psanet 32x32 mask66 collect", {{"n", 1}, {"h", 32}, {"w", 32}, {"h_mask", 66}, {"w_mask", 66}}}};
  op.make = make<kForward>;
  op.fit = fit<kForward>;
  op.reductions = {axis_reduction("images", {{0, 0}}, {{0, 0}})};
  return op;
}

}  // namespace

std::vector<Operator> operators() { return {described<true>(), described<false>()}; }

}  // namespace mluop::cases::psamask
