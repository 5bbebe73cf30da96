// Multi-scale deformable attention forward and backward at the sizes of BEVFormer and Deformable DETR: 8 heads of
// 32 channels. Samples are near the position of their query, as in trained networks. The queries of encoders are
// the pixels of the levels, in order; other queries are anywhere.
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "perf/support/operator_case.h"

namespace mluop::perf::ms_deform_attn {
namespace {

struct Row {
  const char* name;
  int64_t B, Q, P;
  std::vector<std::pair<int32_t, int32_t>> levels;
  bool on_one_place = false;
};

constexpr int64_t kHeads = 8, kChannels = 32;

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"bevformer temporal 2x40000 l1 p4", 2, 40000, 4, {{200, 200}}},
      {"bevformer decoder 1x900 l1 p4", 1, 900, 4, {{200, 200}}},
      {"bevformer cameras 6x9664 l4 p8", 6, 9664, 8, {{116, 200}, {58, 100}, {29, 50}, {15, 25}}},
      {"deformable detr 1x22223 l4 p4", 1, 22223, 4, {{100, 167}, {50, 84}, {25, 42}, {13, 21}}}};
  return all;
}
const Row kCliffCases[] = {{"ms_deform_attn scattered", 1, 9999, 4, {{100, 100}}},
                           {"ms_deform_attn one place", 1, 9999, 4, {{100, 100}}, true}};

// The centers of the pixels of all levels: x, y.
std::vector<std::pair<float, float>> pixels_of(const Row& row) {
  std::vector<std::pair<float, float>> pixels;
  for (const auto& [height, width] : row.levels) {
    for (int32_t i = 0; i < height * width; ++i) {
      pixels.emplace_back((static_cast<float>(i % width) + 0.5F) / static_cast<float>(width),
                          (static_cast<float>(i / width) + 0.5F) / static_cast<float>(height));
    }
  }
  return pixels;
}

std::vector<float> make_locations(const Row& row, int64_t Q) {
  const auto pixels = pixels_of(row);
  const auto K = static_cast<int64_t>(pixels.size());
  std::mt19937 random(1);
  std::uniform_real_distribution<float> fraction(0, 1), offset(-0.05F, 0.05F);
  std::vector<float> locations;
  const auto samples = static_cast<int64_t>(row.levels.size()) * row.P * kHeads;
  locations.reserve(static_cast<size_t>(row.B * Q * samples * 2));
  for (int64_t query = 0; query < row.B * Q; ++query) {
    std::pair<float, float> position(0.5F, 0.5F);
    if (row.Q == K) {
      position = pixels[static_cast<size_t>(query % Q * K / Q)];
    } else if (!row.on_one_place) {
      position = {fraction(random), fraction(random)};
    }
    for (int64_t s = 0; s < samples; ++s) {
      locations.push_back(row.on_one_place ? position.first : position.first + offset(random));
      locations.push_back(row.on_one_place ? position.second : position.second + offset(random));
    }
  }
  return locations;
}

template <bool kForward>
std::unique_ptr<Case> make(const Row& row, const Variant& variant, double size) {
  const int64_t Q = scaled(row.Q, size), B = row.B, P = row.P, L = static_cast<int64_t>(row.levels.size());
  std::vector<int32_t> shapes, starts;
  int64_t K = 0;
  for (const auto& [height, width] : row.levels) {
    shapes.insert(shapes.end(), {height, width});
    starts.push_back(static_cast<int32_t>(K));
    K += int64_t{height} * width;
  }
  const mluOpDataType_t dtype = variant.dtype;
  const std::string prefix = kForward ? "data_" : "";
  const cases::Dims values = {B, K, kHeads, kChannels}, outputs = {B, Q, kHeads, kChannels},
                    locations = {B, Q, kHeads, L, P, 2}, weights = {B, Q, kHeads, L, P};
  std::vector<TensorShape> tensors = {{prefix + "value", dtype, values},
                                      {prefix + "spatial_shapes", MLUOP_DTYPE_INT32, {L, 2}},
                                      {prefix + "level_start_index", MLUOP_DTYPE_INT32, {L}},
                                      {prefix + "sampling_loc", dtype, locations},
                                      {prefix + "attn_weight", dtype, weights}};
  if (kForward) {
    tensors.push_back({"data_col", dtype, outputs});
  } else {
    tensors.push_back({"grad_output", dtype, outputs});
    tensors.push_back({"grad_value", dtype, values});
    tensors.push_back({"grad_sampling_loc", dtype, locations});
    tensors.push_back({"grad_attn_weight", dtype, weights});
  }
  auto made = make_case(kForward ? "ms_deform_attn_forward" : "ms_deform_attn_backward", variant,
                        {{"im2col_step", int64_t{64}}}, tensors);
  made->fill_uniform(prefix + "value", 2);
  made->set(prefix + "spatial_shapes", shapes);
  made->set(prefix + "level_start_index", starts);
  made->set(prefix + "sampling_loc", make_locations(row, Q));
  made->fill_uniform(prefix + "attn_weight", 3);
  if (!kForward) made->fill_uniform("grad_output", 4);
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "ms_deform_attn_forward", kNativeFloat, rows(), make<true>);
  append_cases(specs, "ms_deform_attn_backward", kNativeFloat, rows(), make<false>);
  append_cases(specs, kCliffs, kNativeFloat, kCliffCases, make<true>);
  return specs;
}

}  // namespace mluop::perf::ms_deform_attn
