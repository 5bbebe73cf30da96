// Three interpolate forward at the sizes of PointNet++ and at the largest size of the design document.
#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "perf/ops/catalogue.h"
#include "perf/support/buffer.h"
#include "perf/support/npy_folder.h"
#include "perf/support/verify.h"
#include "reference/three_interpolate_forward.h"
#include "support/api.h"

namespace mluop::perf {
namespace {

using Sizes = reference::ThreeInterpolateForwardSizes;

constexpr uint64_t kSeed = 1;

constexpr Sizes kSizes[] = {
    {16, 512, 16, 64},   {16, 256, 64, 256},   {16, 256, 256, 1024},  {16, 128, 1024, 4096},
    {16, 16, 512, 64},   {16, 64, 256, 256},   {16, 1024, 128, 4096}, {16, 1, 1024, 128},
    {16, 128, 256, 512}, {16, 512, 128, 2048}, {29, 2047, 2033, 999},
};

// Scales the batch.
Sizes scaled(Sizes sizes, double size) {
  sizes.B = perf::scaled(sizes.B, size);
  return sizes;
}

template <class T>
constexpr mluOpDataType_t kDtype = std::is_same_v<T, float> ? MLUOP_DTYPE_FLOAT : MLUOP_DTYPE_HALF;

std::span<const float> bits(const Buffer<float>& buffer) { return buffer.values(); }
std::span<const uint16_t> bits(const Buffer<test::Half>& buffer) {
  return {&buffer.data()->bits, buffer.values().size()};
}

template <class T>
class ThreeInterpolateForward : public Case {
 public:
  // Indices are uniform, or all of them are equal.
  explicit ThreeInterpolateForward(const Sizes& sizes, bool equal_indices = false)
      : Case(MLUOP_OMP_ALGORITHM_NATIVE), sizes_(sizes) {
    fill_uniform(features_, kSeed);
    fill_uniform(weights_, kSeed + 1);
    Buffer<float> uniform(sizes.index_count());
    fill_uniform(uniform, kSeed + 2);
    std::transform(uniform.values().begin(), uniform.values().end(), indices_.data(), [&](float value) {
      return static_cast<int32_t>((value + 1) / 2 * static_cast<float>(sizes.M));
    });
    if (equal_indices) std::fill_n(indices_.data(), sizes.index_count(), static_cast<int32_t>(sizes.M / 2));
  }

  Work work() const override {
    const auto element = static_cast<int64_t>(sizeof(T));
    return {sizes_.features_count() * element +
                sizes_.index_count() * (element + static_cast<int64_t>(sizeof(int32_t))),
            sizes_.output_count() * element, 5 * sizes_.output_count()};
  }

  std::span<const std::byte> largest_input() const override { return std::as_bytes(features_.values()); }

  void write_inputs(const NpyFolder& folder) const override {
    folder.write("features", {sizes_.B, sizes_.C, sizes_.M}, features_.values());
    folder.write("indices", {sizes_.B, sizes_.N, 3}, indices_.values());
    folder.write("weights", {sizes_.B, sizes_.N, 3}, weights_.values());
  }

  void run() override {
    test::require(mluOpThreeInterpolateForward(handle(), features_desc_, features_.data(), indices_desc_,
                                               indices_.data(), weights_desc_, weights_.data(), output_desc_,
                                               output_.data()));
  }

  std::vector<Baseline> baselines() override {
    return {{"serial", [this] { run_serial(); }}};
  }

  std::string verify() override {
    output_.set_bytes(0xFF);
    run();
    run_serial();
    return differing_bits("output", bits(output_), bits(expected_));
  }

  uint64_t checksum() const override { return checksum_bytes(std::as_bytes(output_.values())); }

 private:
  void run_serial() {
    reference::three_interpolate_forward(sizes_, features_.data(), indices_.data(), weights_.data(),
                                         expected_.data());
  }

  Sizes sizes_;
  test::Descriptor features_desc_{kDtype<T>, {sizes_.B, sizes_.C, sizes_.M}};
  test::Descriptor indices_desc_{MLUOP_DTYPE_INT32, {sizes_.B, sizes_.N, 3}};
  test::Descriptor weights_desc_{kDtype<T>, {sizes_.B, sizes_.N, 3}};
  test::Descriptor output_desc_{kDtype<T>, {sizes_.B, sizes_.C, sizes_.N}};
  Buffer<T> features_{sizes_.features_count()};
  Buffer<int32_t> indices_{sizes_.index_count()};
  Buffer<T> weights_{sizes_.index_count()};
  Buffer<T> output_{sizes_.output_count()}, expected_{sizes_.output_count()};
};

std::string name_of(const Sizes& sizes) {
  return std::to_string(sizes.B) + 'x' + std::to_string(sizes.C) + 'x' + std::to_string(sizes.M) + "_n" +
         std::to_string(sizes.N);
}

template <class T>
void append_cases(std::vector<CaseSpec>& cases, const char* dtype) {
  for (const Sizes& sizes : kSizes) {
    cases.push_back({"three_interpolate_forward", name_of(sizes), dtype, "native", [=](double size) {
                       return std::make_unique<ThreeInterpolateForward<T>>(scaled(sizes, size));
                     }});
  }
}

template <class T>
void append_cliffs(std::vector<CaseSpec>& cases, const char* dtype) {
  for (const bool equal : {false, true}) {
    cases.push_back(
        {kCliffs, equal ? "interpolate_forward equal" : "interpolate_forward uniform", dtype, "native",
         [=](double size) {
           return std::make_unique<ThreeInterpolateForward<T>>(scaled({16, 128, 1024, 4096}, size), equal);
         }});
  }
}

}  // namespace

std::vector<CaseSpec> three_interpolate_forward_cases() {
  std::vector<CaseSpec> cases;
  append_cases<float>(cases, "float");
  append_cases<test::Half>(cases, "half");
  return cases;
}

std::vector<CaseSpec> three_interpolate_forward_cliffs() {
  std::vector<CaseSpec> cases;
  append_cliffs<float>(cases, "float");
  append_cliffs<test::Half>(cases, "half");
  return cases;
}

}  // namespace mluop::perf
