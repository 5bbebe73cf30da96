// Three nearest neighbors forward at the sizes of PointNet++ (the levels of its feature propagation), and with
// many known points. Points are uniform in a cube, as samples of a shape are to a search of three.
#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "perf/ops/catalogue.h"
#include "perf/support/buffer.h"
#include "perf/support/npy_folder.h"
#include "perf/support/verify.h"
#include "reference/three_nn_forward.h"
#include "support/api.h"

namespace mluop::perf {
namespace {

using Sizes = reference::ThreeNNForwardSizes;

constexpr uint64_t kSeed = 1;

constexpr struct {
  const char* name;
  Sizes sizes;
} kCases[] = {{"fp4 2x256_m64", {2, 256, 64}},       {"fp3 2x1024_m256", {2, 1024, 256}},
              {"fp2 2x4096_m1024", {2, 4096, 1024}}, {"fp1 2x16384_m4096", {2, 16384, 4096}},
              {"1x4096_m1024", {1, 4096, 1024}},     {"1x16384_m4096", {1, 16384, 4096}}};

// Scales the batch if the case has more than one, else the unknown points.
Sizes scaled(Sizes sizes, double size) {
  int64_t& extent = sizes.B > 1 ? sizes.B : sizes.N;
  extent = perf::scaled(extent, size);
  return sizes;
}

enum class Points { kUniform, kEqual, kCluster };

template <class T>
constexpr mluOpDataType_t kDtype = std::is_same_v<T, float> ? MLUOP_DTYPE_FLOAT : MLUOP_DTYPE_HALF;

std::span<const float> bits(const Buffer<float>& buffer) { return buffer.values(); }
std::span<const uint16_t> bits(const Buffer<test::Half>& buffer) {
  return {&buffer.data()->bits, buffer.values().size()};
}

template <class T>
class ThreeNNForward : public Case {
 public:
  explicit ThreeNNForward(const Sizes& sizes, Points points = Points::kUniform)
      : Case(MLUOP_OMP_ALGORITHM_NATIVE), sizes_(sizes) {
    fill_uniform(unknown_, kSeed);
    fill_uniform(known_, kSeed + 1);
    for (int64_t i = 0; i < sizes.known_count(); ++i) {
      T& coordinate = known_.data()[i];
      if (points == Points::kEqual) coordinate = known_.data()[0];
      // All points but the first of a batch in a corner: a uniform grid has them in one cell.
      if (points == Points::kCluster && i / 3 % sizes.M != 0) {
        if constexpr (std::is_same_v<T, float>) coordinate *= 0x1p-8F;
      }
    }
    size_t bytes = 0;
    test::require(mluOpGetThreeNNForwardWorkspaceSize(handle(), known_desc_, &bytes));
    workspace_.emplace(static_cast<int64_t>(bytes));
  }

  // Every algorithm reads the points and writes the results once; the operations are those of the definition.
  Work work() const override {
    const auto element = static_cast<int64_t>(sizeof(T));
    return {(sizes_.unknown_count() + sizes_.known_count()) * element,
            sizes_.unknown_count() * (element + static_cast<int64_t>(sizeof(int32_t))),
            8 * sizes_.B * sizes_.N * sizes_.M};
  }

  std::span<const std::byte> largest_input() const override { return std::as_bytes(unknown_.values()); }

  void write_inputs(const NpyFolder& folder) const override {
    folder.write("unknown", {sizes_.B, sizes_.N, 3}, unknown_.values());
    folder.write("known", {sizes_.B, sizes_.M, 3}, known_.values());
  }

  void run() override {
    test::require(mluOpThreeNNForward(handle(), unknown_desc_, unknown_.data(), known_desc_, known_.data(),
                                      workspace_->data(), workspace_->values().size(), unknown_desc_,
                                      dist2_.data(), idx_desc_, idx_.data()));
  }

  std::vector<Baseline> baselines() override {
    return {{"serial", [this] { run_serial(); }}};
  }

  std::string verify() override {
    dist2_.set_bytes(0xFF);
    idx_.set_bytes(0xFF);
    run();
    run_serial();
    const std::string text = differing_bits("dist2", bits(dist2_), bits(expected_dist2_));
    return text.empty() ? differing_bits("idx", idx_.values(), expected_idx_.values()) : text;
  }

  uint64_t checksum() const override {
    return checksum_bytes(std::as_bytes(idx_.values()), checksum_bytes(std::as_bytes(dist2_.values())));
  }

 private:
  void run_serial() {
    reference::three_nn_forward(sizes_, unknown_.data(), known_.data(), expected_dist2_.data(),
                                expected_idx_.data());
  }

  Sizes sizes_;
  test::Descriptor unknown_desc_{kDtype<T>, {sizes_.B, sizes_.N, 3}};
  test::Descriptor known_desc_{kDtype<T>, {sizes_.B, sizes_.M, 3}};
  test::Descriptor idx_desc_{MLUOP_DTYPE_INT32, {sizes_.B, sizes_.N, 3}};
  Buffer<T> unknown_{sizes_.unknown_count()}, known_{sizes_.known_count()};
  Buffer<T> dist2_{sizes_.unknown_count()}, expected_dist2_{sizes_.unknown_count()};
  Buffer<int32_t> idx_{sizes_.unknown_count()}, expected_idx_{sizes_.unknown_count()};
  std::optional<Buffer<std::byte>> workspace_;
};

template <class T>
void append_cases(std::vector<CaseSpec>& cases, const char* dtype) {
  for (const auto& each : kCases) {
    cases.push_back({"three_nn_forward", each.name, dtype, "native", [sizes = each.sizes](double size) {
                       return std::make_unique<ThreeNNForward<T>>(scaled(sizes, size));
                     }});
  }
}

}  // namespace

std::vector<CaseSpec> three_nn_forward_cases() {
  std::vector<CaseSpec> cases;
  append_cases<float>(cases, "float");
  append_cases<test::Half>(cases, "half");
  return cases;
}

std::vector<CaseSpec> three_nn_forward_cliffs() {
  constexpr struct {
    const char* name;
    Points points;
  } kCliffCases[] = {{"three_nn uniform", Points::kUniform},
                     {"three_nn equal", Points::kEqual},
                     {"three_nn cluster", Points::kCluster}};
  std::vector<CaseSpec> cases;
  for (const auto& each : kCliffCases) {
    cases.push_back({kCliffs, each.name, "float", "native", [points = each.points](double size) {
                       return std::make_unique<ThreeNNForward<float>>(scaled({2, 16384, 4096}, size), points);
                     }});
  }
  return cases;
}

}  // namespace mluop::perf
