// Masked im2col forward at the RetinaNet sizes of the design document and at a larger one. The masks are distinct
// pixels in row-major order, as in a network.
#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "perf/ops/catalogue.h"
#include "perf/support/buffer.h"
#include "perf/support/npy_folder.h"
#include "perf/support/verify.h"
#include "reference/masked_im2col_forward.h"
#include "support/api.h"

namespace mluop::perf {
namespace {

using Sizes = reference::MaskedIm2colForwardSizes;

constexpr uint32_t kSeed = 1;

// Scales the rows of the feature, at the same density of masks.
Sizes scaled(Sizes sizes, double size) {
  sizes.height = static_cast<decltype(sizes.height)>(perf::scaled(sizes.height, size));
  sizes.mask_cnt = static_cast<decltype(sizes.mask_cnt)>(perf::scaled(sizes.mask_cnt, size));
  return sizes;
}

template <class T>
class MaskedIm2colForward : public Case {
 public:
  MaskedIm2colForward(const Sizes& sizes, mluOpOmpAlgorithm_t algorithm,
                      std::optional<int32_t> one_position = std::nullopt)
      : Case(algorithm), sizes_(sizes) {
    std::mt19937 random(kSeed);
    std::generate_n(feature_.data(), sizes.feature_count(), [&] { return static_cast<T>(random()); });
    std::vector<int32_t> pixels(static_cast<size_t>(sizes.height * sizes.width)), chosen;
    std::iota(pixels.begin(), pixels.end(), 0);
    std::sample(pixels.begin(), pixels.end(), std::back_inserter(chosen), sizes.mask_cnt, random);
    for (size_t k = 0; k < chosen.size(); ++k) {
      mask_h_.data()[k] = chosen[k] / static_cast<int32_t>(sizes.width);
      mask_w_.data()[k] = chosen[k] % static_cast<int32_t>(sizes.width);
    }
    if (one_position) {
      std::fill_n(mask_h_.data(), sizes.mask_cnt, *one_position);
      std::fill_n(mask_w_.data(), sizes.mask_cnt, *one_position);
    }
    size_t bytes = 0;
    test::require(mluOpGetMaskedIm2colForwardWorkspaceSize(
        handle(), feature_desc_, mask_desc_, mask_desc_, sizes_.kernel_h, sizes_.kernel_w, output_desc_, &bytes));
    workspace_.emplace(static_cast<int64_t>(bytes));
  }

  Work work() const override {
    const int64_t read = pixels_touched() * sizes_.channels * kElementBytes + sizes_.mask_cnt * int64_t{8};
    return {read, sizes_.output_count() * kElementBytes, 0};
  }

  std::span<const std::byte> largest_input() const override { return std::as_bytes(feature_.values()); }

  void write_inputs(const NpyFolder& folder) const override {
    folder.write("feature", {1, sizes_.channels, sizes_.height, sizes_.width}, feature_.values());
    folder.write("mask_h_idx", {sizes_.mask_cnt}, mask_h_.values());
    folder.write("mask_w_idx", {sizes_.mask_cnt}, mask_w_.values());
    folder.write("kernel", {sizes_.kernel_h, sizes_.kernel_w});
    folder.write("pad", {sizes_.pad_h, sizes_.pad_w});
  }

  void run() override {
    test::require(mluOpMaskedIm2colForward(handle(), feature_desc_, feature_.data(), mask_desc_, mask_h_.data(),
                                           mask_desc_, mask_w_.data(), sizes_.kernel_h, sizes_.kernel_w,
                                           sizes_.pad_h, sizes_.pad_w, workspace_->data(),
                                           workspace_->values().size(), output_desc_, output_.data()));
  }

  std::vector<Baseline> baselines() override {
    return {{"serial", [this] { run_serial(); }}};
  }

  std::string verify() override {
    if (const size_t bytes = workspace_->values().size(); is_native() && bytes != 0) {
      return "workspace size is " + std::to_string(bytes) + ", expected 0";
    }
    output_.set_bytes(0xFF);
    run();
    run_serial();
    return differing_bits("data_col", output_.values(), expected_.values());
  }

  uint64_t checksum() const override { return checksum_bytes(std::as_bytes(output_.values())); }

 private:
  void run_serial() {
    reference::masked_im2col_forward(sizes_, feature_.data(), mask_h_.data(), mask_w_.data(), expected_.data());
  }

  static constexpr auto kElementBytes = static_cast<int64_t>(sizeof(T));
  static constexpr auto kDtype = sizeof(T) == 2 ? MLUOP_DTYPE_HALF : MLUOP_DTYPE_FLOAT;

  int64_t pixels_touched() const {
    std::vector<bool> touched(static_cast<size_t>(sizes_.height * sizes_.width));
    for (int64_t k = 0; k < sizes_.mask_cnt; ++k) {
      for (int64_t i = 0; i < sizes_.kernel_h; ++i) {
        for (int64_t j = 0; j < sizes_.kernel_w; ++j) {
          const int64_t h = mask_h_.data()[k] - sizes_.pad_h + i;
          const int64_t w = mask_w_.data()[k] - sizes_.pad_w + j;
          if (h < 0 || h >= sizes_.height || w < 0 || w >= sizes_.width) continue;
          touched[static_cast<size_t>(h * sizes_.width + w)] = true;
        }
      }
    }
    return std::count(touched.begin(), touched.end(), true);
  }

  Sizes sizes_;
  test::Descriptor feature_desc_{kDtype, {1, sizes_.channels, sizes_.height, sizes_.width}, MLUOP_LAYOUT_NCHW};
  test::Descriptor mask_desc_{MLUOP_DTYPE_INT32, {sizes_.mask_cnt}};
  test::Descriptor output_desc_{kDtype, {sizes_.row_count(), sizes_.mask_cnt}};
  Buffer<T> feature_{sizes_.feature_count()};
  Buffer<int32_t> mask_h_{sizes_.mask_cnt}, mask_w_{sizes_.mask_cnt};
  Buffer<T> output_{sizes_.output_count()}, expected_{sizes_.output_count()};
  std::optional<Buffer<std::byte>> workspace_;
};

constexpr struct {
  const char* name;
  Sizes sizes;
} kCases[] = {{"256x20x20 k3", {256, 20, 20, 200, 3, 3, 1, 1}},
              {"256x20x20 k1", {256, 20, 20, 200, 1, 1, 1, 1}},
              {"256x100x152 k3", {256, 100, 152, 4000, 3, 3, 1, 1}}};

template <class T>
void append_cases(std::vector<CaseSpec>& specs, mluOpOmpAlgorithm_t algorithm, const char* algorithm_name) {
  for (const auto& each : kCases) {
    specs.push_back({"masked_im2col_forward", each.name, sizeof(T) == 2 ? "half" : "float", algorithm_name,
                     [=, sizes = each.sizes](double size) {
                       return std::make_unique<MaskedIm2colForward<T>>(scaled(sizes, size), algorithm);
                     }});
  }
}

template <class T>
void append_cliffs(std::vector<CaseSpec>& specs, mluOpOmpAlgorithm_t algorithm, const char* algorithm_name) {
  const struct {
    const char* name;
    std::optional<int32_t> one_position;  // h and w of all masks
  } kCliffCases[] = {{"masked_im2col distinct", std::nullopt},
                     {"masked_im2col one_position", 7},
                     {"masked_im2col outside", -1000}};
  for (const auto& each : kCliffCases) {
    specs.push_back({kCliffs, each.name, sizeof(T) == 2 ? "half" : "float", algorithm_name, [=](double size) {
                       return std::make_unique<MaskedIm2colForward<T>>(
                           scaled({256, 100, 152, 4000, 3, 3, 1, 1}, size), algorithm, each.one_position);
                     }});
  }
}

}  // namespace

std::vector<CaseSpec> masked_im2col_forward_cliffs() {
  std::vector<CaseSpec> specs;
  for (const auto& [algorithm, name] : kAlgorithms) {
    append_cliffs<uint32_t>(specs, algorithm, name);
    append_cliffs<uint16_t>(specs, algorithm, name);
  }
  return specs;
}

std::vector<CaseSpec> masked_im2col_forward_cases() {
  std::vector<CaseSpec> specs;
  for (const auto& [algorithm, name] : kAlgorithms) {
    append_cases<uint32_t>(specs, algorithm, name);
    append_cases<uint16_t>(specs, algorithm, name);
  }
  return specs;
}

}  // namespace mluop::perf
