// Three interpolate forward and backward at the sizes of PointNet++ and at the largest size of the design
// document.
#include <algorithm>
#include <string>

#include "perf/bounds/three_interpolate_backward.h"
#include "perf/support/operator_case.h"

namespace mluop::perf::three_interpolate {
namespace {

struct Sizes {
  int64_t B, C, M, N;
};

struct Row {
  std::string name;
  Sizes sizes;
  bool equal_indices = false;  // false: uniform
};

constexpr Sizes kSizes[] = {
    {16, 512, 16, 64},   {16, 256, 64, 256},   {16, 256, 256, 1024},  {16, 128, 1024, 4096},
    {16, 16, 512, 64},   {16, 64, 256, 256},   {16, 1024, 128, 4096}, {16, 1, 1024, 128},
    {16, 128, 256, 512}, {16, 512, 128, 2048}, {29, 2047, 2033, 999},
};
const Row kForwardCliffs[] = {{"interpolate_forward uniform", {16, 128, 1024, 4096}},
                              {"interpolate_forward equal", {16, 128, 1024, 4096}, true}};
const Row kBackwardCliffs[] = {{"three_interpolate uniform m1024", {16, 128, 1024, 4096}},
                               {"three_interpolate equal m1024", {16, 128, 1024, 4096}, true},
                               {"three_interpolate uniform m64", {16, 128, 64, 4096}},
                               {"three_interpolate equal m64", {16, 128, 64, 4096}, true},
                               {"three_interpolate m1", {16, 128, 1, 4096}}};

void fill_indices_and_weights(OperatorCase& made, int64_t M, bool equal) {
  made.fill_uniform("weights", 2);
  const std::span<int32_t> indices = made.values<int32_t>("indices");
  Buffer<float> uniform(static_cast<int64_t>(indices.size()));
  fill_uniform(uniform, 3);
  std::ranges::transform(uniform.values(), indices.begin(), [&](float value) {
    return equal ? static_cast<int32_t>(M / 2) : static_cast<int32_t>((value + 1) / 2 * static_cast<float>(M));
  });
}

// A dimension of the input equals a dimension of the output in the other direction.
template <bool kForward>
std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  const auto [whole_B, C, M, N] = row.sizes;
  const int64_t B = scaled(whole_B, size);
  const char* input = kForward ? "features" : "grad_output";
  auto made = make_case(kForward ? "three_interpolate_forward" : "three_interpolate_backward", variant, {},
                        {{input, variant.dtype, {B, C, kForward ? M : N}},
                         {"indices", MLUOP_DTYPE_INT32, {B, N, 3}},
                         {"weights", variant.dtype, {B, N, 3}},
                         {kForward ? "output" : "grad_features", variant.dtype, {B, C, kForward ? N : M}}});
  made->fill_uniform(input, 1);
  made->options.largest_input = made->bytes(input);
  fill_indices_and_weights(*made, M, row.equal_indices);
  if (kForward) return made;
  made->dump("M", {M});
  made->options.bound = [&made = *made, sizes = reference::ThreeInterpolateBackwardSizes{B, C, N, M}] {
    const cases::Arguments& a = made.expected();
    return three_interpolate_backward_bound({sizes, a[0].dtype, a[0].data, a[1].as<int32_t>(), a[3].data},
                                            floats_of(a[2]), thread_count());
  };
  return made;
}

std::vector<Row> rows(bool forward) {
  std::vector<Row> all;
  for (const Sizes& sizes : kSizes) {
    const std::string M = std::to_string(sizes.M), N = std::to_string(sizes.N);
    all.push_back(
        {std::to_string(sizes.B) + 'x' + std::to_string(sizes.C) + 'x' + (forward ? M + "_n" + N : N + "_m" + M),
         sizes});
  }
  return all;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "three_interpolate_forward", kNative, rows(true), make<true>);
  append_cases(specs, "three_interpolate_backward", kNativeAndDevice, rows(false), make<false>);
  append_cases(specs, kCliffs, kNative, kForwardCliffs, make<true>);
  append_cases(specs, kCliffs, kNativeAndDevice, kBackwardCliffs, make<false>);
  return specs;
}

}  // namespace mluop::perf::three_interpolate
