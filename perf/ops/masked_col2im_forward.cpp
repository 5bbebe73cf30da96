// Masked col2im forward at the sizes of masked im2col: the step that follows it and a matrix product in mmcv's
// masked_conv2d; and with 4 channels, the boxes of an anchor head. The masks are distinct pixels in row-major
// order, as in a network.
#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "perf/ops/catalogue.h"
#include "perf/support/buffer.h"
#include "perf/support/npy_folder.h"
#include "perf/support/verify.h"
#include "reference/masked_col2im_forward.h"
#include "support/api.h"

namespace mluop::perf {
namespace {

using Sizes = reference::MaskedCol2imForwardSizes;

constexpr uint32_t kSeed = 1;

// Scales the rows of the image, at the same density of masks.
Sizes scaled(Sizes sizes, double size) {
  sizes.height = perf::scaled(sizes.height, size);
  sizes.mask_cnt = perf::scaled(sizes.mask_cnt, size);
  return sizes;
}

// The order of the masks.
enum class Order { kRowMajor, kRandom, kEqual };

template <class T>
class MaskedCol2imForward : public Case {
 public:
  MaskedCol2imForward(const Sizes& sizes, Order order) : Case(MLUOP_OMP_ALGORITHM_NATIVE), sizes_(sizes) {
    std::mt19937 random(kSeed);
    std::generate_n(col_.data(), sizes.input_count(), [&] { return static_cast<T>(random()); });
    std::vector<int32_t> pixels(static_cast<size_t>(sizes.height * sizes.width)), chosen;
    std::iota(pixels.begin(), pixels.end(), 0);
    std::sample(pixels.begin(), pixels.end(), std::back_inserter(chosen), sizes.mask_cnt, random);
    if (order == Order::kRandom) std::shuffle(chosen.begin(), chosen.end(), random);
    if (order == Order::kEqual) std::fill(chosen.begin(), chosen.end(), chosen.front());
    for (size_t k = 0; k < chosen.size(); ++k) {
      mask_h_.data()[k] = chosen[k] / static_cast<int32_t>(sizes.width);
      mask_w_.data()[k] = chosen[k] % static_cast<int32_t>(sizes.width);
    }
  }

  Work work() const override {
    return {sizes_.input_count() * kElementBytes + sizes_.mask_cnt * int64_t{8},
            sizes_.output_count() * kElementBytes, 0};
  }

  std::span<const std::byte> largest_input() const override { return std::as_bytes(col_.values()); }

  void write_inputs(const NpyFolder& folder) const override {
    folder.write("col", {sizes_.channels, sizes_.mask_cnt}, col_.values());
    folder.write("mask_h_idx", {sizes_.mask_cnt}, mask_h_.values());
    folder.write("mask_w_idx", {sizes_.mask_cnt}, mask_w_.values());
    folder.write("image", {sizes_.height, sizes_.width});
  }

  void run() override {
    test::require(mluOpMaskedCol2imForward(handle(), col_desc_, col_.data(), mask_desc_, mask_h_.data(),
                                           mask_desc_, mask_w_.data(), 0, nullptr, im_desc_, im_.data()));
  }

  std::vector<Baseline> baselines() override {
    return {{"serial", [this] { run_serial(); }}};
  }

  std::string verify() override {
    im_.set_bytes(0xFF);
    run();
    run_serial();
    return differing_bits("im", im_.values(), expected_.values());
  }

  uint64_t checksum() const override { return checksum_bytes(std::as_bytes(im_.values())); }

 private:
  static constexpr auto kElementBytes = static_cast<int64_t>(sizeof(T));
  static constexpr auto kDtype = sizeof(T) == 2 ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT;

  void run_serial() {
    reference::masked_col2im_forward(sizes_, col_.data(), mask_h_.data(), mask_w_.data(), expected_.data());
  }

  Sizes sizes_;
  test::Descriptor col_desc_{kDtype, {sizes_.channels, sizes_.mask_cnt}};
  test::Descriptor mask_desc_{MLUOP_DTYPE_INT32, {sizes_.mask_cnt}};
  test::Descriptor im_desc_{kDtype, {1, sizes_.channels, sizes_.height, sizes_.width}, MLUOP_LAYOUT_NCHW};
  Buffer<T> col_{sizes_.input_count()};
  Buffer<int32_t> mask_h_{sizes_.mask_cnt}, mask_w_{sizes_.mask_cnt};
  Buffer<T> im_{sizes_.output_count()}, expected_{sizes_.output_count()};
};

constexpr struct {
  const char* name;
  Sizes sizes;
} kCases[] = {
    {"256x20x20", {256, 20, 20, 200}}, {"256x100x152", {256, 100, 152, 4000}}, {"4x100x152", {4, 100, 152, 4000}}};

template <class T>
void append_cases(std::vector<CaseSpec>& specs) {
  for (const auto& each : kCases) {
    specs.push_back({"masked_col2im_forward", each.name, sizeof(T) == 2 ? "half" : "float", "native",
                     [sizes = each.sizes](double size) {
                       return std::make_unique<MaskedCol2imForward<T>>(scaled(sizes, size), Order::kRowMajor);
                     }});
  }
}

template <class T>
void append_cliffs(std::vector<CaseSpec>& specs) {
  const struct {
    const char* name;
    Order order;
  } kCliffCases[] = {{"masked_col2im row_major", Order::kRowMajor},
                     {"masked_col2im random_order", Order::kRandom},
                     {"masked_col2im one_position", Order::kEqual}};
  for (const auto& each : kCliffCases) {
    specs.push_back(
        {kCliffs, each.name, sizeof(T) == 2 ? "half" : "float", "native", [order = each.order](double size) {
           return std::make_unique<MaskedCol2imForward<T>>(scaled({256, 100, 152, 4000}, size), order);
         }});
  }
}

}  // namespace

std::vector<CaseSpec> masked_col2im_forward_cases() {
  std::vector<CaseSpec> specs;
  append_cases<uint32_t>(specs);
  append_cases<uint16_t>(specs);
  return specs;
}

std::vector<CaseSpec> masked_col2im_forward_cliffs() {
  std::vector<CaseSpec> specs;
  append_cliffs<uint32_t>(specs);
  append_cliffs<uint16_t>(specs);
  return specs;
}

}  // namespace mluop::perf
