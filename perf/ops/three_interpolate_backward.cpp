// Three interpolate backward at the sizes of PointNet++ and at the largest size of the design document.
#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "perf/bounds/three_interpolate_backward.h"
#include "perf/ops/catalogue.h"
#include "perf/support/buffer.h"
#include "perf/support/npy_folder.h"
#include "perf/support/verify.h"
#include "reference/three_interpolate_backward.h"
#include "support/api.h"

namespace mluop::perf {
namespace {

using Sizes = reference::ThreeInterpolateBackwardSizes;

constexpr uint64_t kSeed = 1;
constexpr double kDeviceTolerance = 3e-3;

constexpr Sizes kSizes[] = {
    {16, 512, 64, 16},   {16, 256, 256, 64},   {16, 256, 1024, 256},  {16, 128, 4096, 1024},
    {16, 16, 64, 512},   {16, 64, 256, 256},   {16, 1024, 4096, 128}, {16, 1, 128, 1024},
    {16, 128, 512, 256}, {16, 512, 2048, 128}, {29, 2047, 999, 2033},
};

// Scales the batch.
Sizes scaled(Sizes sizes, double size) {
  sizes.B = static_cast<decltype(sizes.B)>(perf::scaled(sizes.B, size));
  return sizes;
}

template <class T>
constexpr mluOpDataType_t kDtype = std::is_same_v<T, float> ? MLUOP_DTYPE_FLOAT : MLUOP_DTYPE_HALF;

std::span<const float> bits(const Buffer<float>& buffer) { return buffer.values(); }
std::span<const uint16_t> bits(const Buffer<test::Half>& buffer) {
  return {&buffer.data()->bits, buffer.values().size()};
}

template <class T>
std::vector<float> floats(const Buffer<T>& buffer) {
  std::vector<float> values;
  for (const T value : buffer.values()) values.push_back(test::to_f32(value));
  return values;
}

template <class T>
class ThreeInterpolateBackward : public Case {
 public:
  // Indices are uniform, or all of them are equal.
  ThreeInterpolateBackward(const Sizes& sizes, mluOpOmpAlgorithm_t algorithm, bool equal_indices = false)
      : Case(algorithm), sizes_(sizes) {
    fill_uniform(grad_output_, kSeed);
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
    return {sizes_.grad_output_count() * element +
                sizes_.index_count() * (element + static_cast<int64_t>(sizeof(int32_t))),
            sizes_.grad_features_count() * element, 2 * 3 * sizes_.grad_output_count()};
  }

  std::span<const std::byte> largest_input() const override { return std::as_bytes(grad_output_.values()); }

  void write_inputs(const NpyFolder& folder) const override {
    folder.write("grad_output", {sizes_.B, sizes_.C, sizes_.N}, grad_output_.values());
    folder.write("indices", {sizes_.B, sizes_.N, 3}, indices_.values());
    folder.write("weights", {sizes_.B, sizes_.N, 3}, weights_.values());
    folder.write("M", {sizes_.M});
  }

  void run() override {
    test::require(mluOpThreeInterpolateBackward(handle(), grad_output_desc_, grad_output_.data(), indices_desc_,
                                                indices_.data(), weights_desc_, weights_.data(),
                                                grad_features_desc_, grad_features_.data()));
  }

  std::vector<Baseline> baselines() override {
    return {{"serial", [this] { run_serial(); }}};
  }

  std::function<void()> algorithmic_bound() override {
    if (!is_native()) return {};
    return three_interpolate_backward_bound(
        {sizes_, !std::is_same_v<T, float>, grad_output_.data(), indices_.data(), expected_.data()},
        floats(weights_), thread_count());
  }

  std::string verify() override {
    grad_features_.set_bytes(0xFF);
    run();
    run_serial();
    if (is_native()) return differing_bits("grad_features", bits(grad_features_), bits(expected_));
    return too_different("grad_features", floats(grad_features_), floats(expected_), kDeviceTolerance);
  }

  uint64_t checksum() const override { return checksum_bytes(std::as_bytes(grad_features_.values())); }

 private:
  void run_serial() {
    reference::three_interpolate_backward(sizes_, grad_output_.data(), indices_.data(), weights_.data(),
                                          expected_.data());
  }

  Sizes sizes_;
  test::Descriptor grad_output_desc_{kDtype<T>, {sizes_.B, sizes_.C, sizes_.N}};
  test::Descriptor indices_desc_{MLUOP_DTYPE_INT32, {sizes_.B, sizes_.N, 3}};
  test::Descriptor weights_desc_{kDtype<T>, {sizes_.B, sizes_.N, 3}};
  test::Descriptor grad_features_desc_{kDtype<T>, {sizes_.B, sizes_.C, sizes_.M}};
  Buffer<T> grad_output_{sizes_.grad_output_count()};
  Buffer<int32_t> indices_{sizes_.index_count()};
  Buffer<T> weights_{sizes_.index_count()};
  Buffer<T> grad_features_{sizes_.grad_features_count()}, expected_{sizes_.grad_features_count()};
};

std::string name_of(const Sizes& sizes) {
  return std::to_string(sizes.B) + 'x' + std::to_string(sizes.C) + 'x' + std::to_string(sizes.N) + "_m" +
         std::to_string(sizes.M);
}

template <class T>
void append_cases(std::vector<CaseSpec>& cases, mluOpOmpAlgorithm_t algorithm, const char* algorithm_name) {
  for (const Sizes& sizes : kSizes) {
    cases.push_back({"three_interpolate_backward", name_of(sizes), std::is_same_v<T, float> ? "float" : "half",
                     algorithm_name, [=](double size) {
                       return std::make_unique<ThreeInterpolateBackward<T>>(scaled(sizes, size), algorithm);
                     }});
  }
}

template <class T>
void append_cliffs(std::vector<CaseSpec>& cases, mluOpOmpAlgorithm_t algorithm, const char* algorithm_name) {
  constexpr struct {
    const char* name;
    int64_t M;
    bool equal_indices;
  } kCliffCases[] = {{"three_interpolate uniform m1024", 1024, false},
                     {"three_interpolate equal m1024", 1024, true},
                     {"three_interpolate uniform m64", 64, false},
                     {"three_interpolate equal m64", 64, true},
                     {"three_interpolate m1", 1, false}};
  for (const auto& each : kCliffCases) {
    cases.push_back(
        {kCliffs, each.name, std::is_same_v<T, float> ? "float" : "half", algorithm_name, [=](double size) {
           return std::make_unique<ThreeInterpolateBackward<T>>(scaled({16, 128, 4096, each.M}, size), algorithm,
                                                                each.equal_indices);
         }});
  }
}

}  // namespace

std::vector<CaseSpec> three_interpolate_backward_cliffs() {
  std::vector<CaseSpec> cases;
  for (const auto& [algorithm, name] : kAlgorithms) {
    append_cliffs<float>(cases, algorithm, name);
    append_cliffs<test::Half>(cases, algorithm, name);
  }
  return cases;
}

std::vector<CaseSpec> three_interpolate_backward_cases() {
  std::vector<CaseSpec> cases;
  for (const auto& [algorithm, name] : kAlgorithms) {
    append_cases<float>(cases, algorithm, name);
    append_cases<test::Half>(cases, algorithm, name);
  }
  return cases;
}

}  // namespace mluop::perf
