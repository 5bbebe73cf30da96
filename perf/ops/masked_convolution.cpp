// Masked im2col and col2im forward, the steps before and after a matrix product in mmcv's masked_conv2d, at the
// RetinaNet sizes of the design document and at a larger size; col2im also with 4 channels, the boxes of an anchor
// head. The masks are distinct pixels in row-major order, as in a network.
#include <algorithm>
#include <numeric>
#include <optional>
#include <random>

#include "perf/support/operator_case.h"

namespace mluop::perf::masked_convolution {
namespace {

struct Image {
  int64_t channels, height, width, mask_cnt;
};
constexpr Image kLarge = {256, 100, 152, 4000};

struct Im2col {
  const char* name;
  Image image;
  int64_t kernel;
  std::optional<int32_t> one_position = std::nullopt;  // h and w of all masks
};
constexpr Im2col kIm2col[] = {{"256x20x20 k3", {256, 20, 20, 200}, 3},
                              {"256x20x20 k1", {256, 20, 20, 200}, 1},
                              {"256x100x152 k3", kLarge, 3}};
constexpr Im2col kIm2colCliffs[] = {{"masked_im2col distinct", kLarge, 3},
                                    {"masked_im2col one_position", kLarge, 3, 7},
                                    {"masked_im2col outside", kLarge, 3, -1000}};
constexpr int64_t kPad = 1;

// The order of the masks.
enum class Order { kRowMajor, kRandom, kEqual };
struct Col2im {
  const char* name;
  Image image;
  Order order = Order::kRowMajor;
};
constexpr Col2im kCol2im[] = {
    {"256x20x20", {256, 20, 20, 200}}, {"256x100x152", kLarge}, {"4x100x152", {4, 100, 152, 4000}}};
constexpr Col2im kCol2imCliffs[] = {{"masked_col2im row_major", kLarge},
                                    {"masked_col2im random_order", kLarge, Order::kRandom},
                                    {"masked_col2im one_position", kLarge, Order::kEqual}};

// Scales the rows, keeping the density of masks.
Image scaled(Image image, double size) {
  image.height = perf::scaled(image.height, size);
  image.mask_cnt = perf::scaled(image.mask_cnt, size);
  return image;
}

std::vector<int32_t> random_pixels(const Image& image, std::mt19937& random) {
  std::vector<int32_t> pixels(static_cast<size_t>(image.height * image.width)), chosen;
  std::iota(pixels.begin(), pixels.end(), 0);
  std::sample(pixels.begin(), pixels.end(), std::back_inserter(chosen), image.mask_cnt, random);
  return chosen;
}

void set_masks(OperatorCase& made, const Image& image, const std::vector<int32_t>& pixels) {
  for (size_t k = 0; k < pixels.size(); ++k) {
    made.values<int32_t>("mask_h_idx")[k] = pixels[k] / static_cast<int32_t>(image.width);
    made.values<int32_t>("mask_w_idx")[k] = pixels[k] % static_cast<int32_t>(image.width);
  }
}

std::unique_ptr<Case> make_im2col(const Im2col& row, const Variant& variant, double size) {
  const Image image = scaled(row.image, size);
  const auto& [channels, height, width, mask_cnt] = image;
  const int64_t kernel = row.kernel;
  auto made = make_case("masked_im2col_forward", variant,
                        {{"kernel_h", kernel}, {"kernel_w", kernel}, {"pad_h", kPad}, {"pad_w", kPad}},
                        {{"feature", variant.dtype, {1, channels, height, width}, MLUOP_LAYOUT_NCHW},
                         {"mask_h_idx", MLUOP_DTYPE_INT32, {mask_cnt}},
                         {"mask_w_idx", MLUOP_DTYPE_INT32, {mask_cnt}},
                         {"data_col", variant.dtype, {channels * kernel * kernel, mask_cnt}}});
  std::mt19937 random(1);
  made->fill_bits("feature", random);
  set_masks(*made, image, random_pixels(image, random));
  if (row.one_position) {
    for (const char* id : {"mask_h_idx", "mask_w_idx"}) {
      std::ranges::fill(made->values<int32_t>(id), *row.one_position);
    }
  }
  made->dump("kernel", {kernel, kernel});
  made->dump("pad", {kPad, kPad});
  return made;
}

std::unique_ptr<Case> make_col2im(const Col2im& row, const Variant& variant, double size) {
  const Image image = scaled(row.image, size);
  const auto& [channels, height, width, mask_cnt] = image;
  auto made = make_case("masked_col2im_forward", variant, {},
                        {{"col", variant.dtype, {channels, mask_cnt}},
                         {"mask_h_idx", MLUOP_DTYPE_INT32, {mask_cnt}},
                         {"mask_w_idx", MLUOP_DTYPE_INT32, {mask_cnt}},
                         {"im", variant.dtype, {1, channels, height, width}, MLUOP_LAYOUT_NCHW}});
  std::mt19937 random(1);
  made->fill_bits("col", random);
  std::vector<int32_t> pixels = random_pixels(image, random);
  if (row.order == Order::kRandom) std::ranges::shuffle(pixels, random);
  if (row.order == Order::kEqual) std::ranges::fill(pixels, pixels.front());
  set_masks(*made, image, pixels);
  made->dump("image", {height, width});
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "masked_im2col_forward", kNativeAndDevice, kIm2col, make_im2col);
  append_cases(specs, "masked_col2im_forward", kNative, kCol2im, make_col2im);
  append_cases(specs, kCliffs, kNativeAndDevice, kIm2colCliffs, make_im2col);
  append_cases(specs, kCliffs, kNative, kCol2imCliffs, make_col2im);
  return specs;
}

}  // namespace mluop::perf::masked_convolution
