// RoI-aware pooling at the sizes of Part-A2, whose points are sparse voxels, and RoI-point pooling at the sizes of
// PointRCNN. RoIs are proposals of cars: several around each car; half of the points are on cars.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "perf/support/operator_case.h"

namespace mluop::perf::roi_pooling {
namespace {

struct AwareRow {
  const char* name;
  int64_t R, N, C, side, P;
  int64_t pool_method;
  bool on_one_car = false;
};

constexpr AwareRow kAwareCases[] = {{"document r128_12^3 c16", 128, 16000, 16, 12, 128, 0},
                                    {"parta2 r128_14^3 c16 max", 128, 16384, 16, 14, 128, 0},
                                    {"parta2 r128_14^3 c4 mean", 128, 16384, 4, 14, 128, 1},
                                    {"parta2 test r100_14^3 c16 max", 100, 16384, 16, 14, 128, 0},
                                    {"parta2 batch r512_14^3 c16 max", 512, 16384, 16, 14, 128, 0}};
// All proposals are around one car, which contains all points.
constexpr AwareRow kAwareCliffs[] = {{"roiaware scene", 128, 16384, 16, 14, 128, 0},
                                     {"roiaware one car", 128, 16384, 16, 14, 128, 0, true}};

struct PointRow {
  const char* name;
  int64_t B, N, M, C, S;
};

constexpr PointRow kPointCases[] = {{"pointrcnn train 2x128_s512 c130", 2, 16384, 128, 130, 512},
                                    {"pointrcnn test 1x100_s512 c130", 1, 16384, 100, 130, 512},
                                    {"document 1x128_s512 c128", 1, 16384, 128, 128, 512}};

struct Scene {
  std::vector<float> points, boxes;
};

// A car for every eight boxes.
Scene make_scene(int64_t B, int64_t N, int64_t M, bool has_one_car) {
  constexpr int64_t kBoxesPerCar = 8;
  std::mt19937 random(1);
  const auto uniform = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  Scene scene;
  for (int64_t b = 0; b < B; ++b) {
    struct Car {
      float x, y, yaw;
    };
    std::vector<Car> cars(static_cast<size_t>(has_one_car ? 1 : (M + kBoxesPerCar - 1) / kBoxesPerCar));
    for (Car& car : cars) car = {uniform(0, 70), uniform(-40, 40), uniform(-3.14F, 3.14F)};
    for (int64_t m = 0; m < M; ++m) {
      const Car& car = cars[static_cast<size_t>(m) % cars.size()];
      scene.boxes.insert(scene.boxes.end(),
                         {car.x + uniform(-0.4F, 0.4F), car.y + uniform(-0.4F, 0.4F), -1.7F, uniform(3.5F, 4.5F),
                          uniform(1.6F, 2), uniform(1.4F, 1.8F), car.yaw + uniform(-0.1F, 0.1F)});
    }
    for (int64_t n = 0; n < N; ++n) {
      if (!has_one_car && n % 2 == 0) {
        scene.points.insert(scene.points.end(), {uniform(0, 70), uniform(-40, 40), uniform(-3, 1)});
        continue;
      }
      const Car& car = cars[static_cast<size_t>(n / 2) % cars.size()];
      const float u = uniform(-2, 2), v = uniform(-0.9F, 0.9F), c = std::cos(car.yaw), s = std::sin(car.yaw);
      scene.points.insert(scene.points.end(),
                          {car.x + u * c - v * s, car.y + u * s + v * c, uniform(-1.7F, -0.2F)});
    }
  }
  return scene;
}

cases::Dims voxels(const AwareRow& row, int64_t R, int64_t last) {
  return {R, row.side, row.side, row.side, last};
}

std::vector<NamedValue> parameters_of(const AwareRow& row, int64_t R) {
  return {{"pool_method", row.pool_method},
          {"boxes_num", R},
          {"channels", row.C},
          {"max_pts_each_voxel", row.P},
          {"out_x", row.side},
          {"out_y", row.side},
          {"out_z", row.side}};
}

std::unique_ptr<OperatorCase> make_forward(const AwareRow& row, const Variant& variant, double size) {
  const int64_t R = scaled(row.R, size);
  std::vector<NamedValue> parameters = parameters_of(row, R);
  parameters.push_back({"pts_num", row.N});
  auto made = make_case("roiaware_pool3d_forward", variant, parameters,
                        {{"rois", variant.dtype, {R, 7}},
                         {"pts", variant.dtype, {row.N, 3}},
                         {"pts_feature", variant.dtype, {row.N, row.C}},
                         {"argmax", MLUOP_DTYPE_INT32, voxels(row, R, row.C)},
                         {"pts_idx_of_voxels", MLUOP_DTYPE_INT32, voxels(row, R, row.P)},
                         {"pooled_features", variant.dtype, voxels(row, R, row.C)}});
  const Scene scene = make_scene(1, row.N, R, row.on_one_car);
  made->set("rois", scene.boxes);
  made->set("pts", scene.points);
  made->fill_uniform("pts_feature", 2);
  made->dump("out_size", {row.side, row.side, row.side});
  made->dump("max_pts_each_voxel", {row.P});
  made->dump("pool_method", {row.pool_method});
  return made;
}

// Reads the outputs of a forward call.
std::unique_ptr<OperatorCase> make_backward(const AwareRow& row, const Variant& variant, double size) {
  const int64_t R = scaled(row.R, size);
  const auto forward = make_forward(row, variant, size);
  forward->run();
  auto made = make_case("roiaware_pool3d_backward", variant, parameters_of(row, R),
                        {{"pts_idx_of_voxels", MLUOP_DTYPE_INT32, voxels(row, R, row.P)},
                         {"argmax", MLUOP_DTYPE_INT32, voxels(row, R, row.C)},
                         {"grad_out", variant.dtype, voxels(row, R, row.C)},
                         {"grad_in", variant.dtype, {row.N, row.C}}});
  for (const char* id : {"pts_idx_of_voxels", "argmax"}) {
    std::ranges::copy(forward->bytes(id), made->bytes(id).begin());
  }
  made->fill_uniform("grad_out", 3);
  made->dump("N", {row.N});
  made->dump("pool_method", {row.pool_method});
  return made;
}

std::unique_ptr<OperatorCase> make_points(const PointRow& row, const Variant& variant, double size) {
  const int64_t M = scaled(row.M, size);
  auto made = make_case("roipoint_pool3d", variant, {{"num_sampled_points", row.S}},
                        {{"points", variant.dtype, {row.B, row.N, 3}},
                         {"point_features", variant.dtype, {row.B, row.N, row.C}},
                         {"boxes3d", variant.dtype, {row.B, M, 7}},
                         {"pooled_features", variant.dtype, {row.B, M, row.S, 3 + row.C}},
                         {"pooled_empty_flag", MLUOP_DTYPE_INT32, {row.B, M}}});
  const Scene scene = make_scene(row.B, row.N, M, false);
  made->set("points", scene.points);
  made->set("boxes3d", scene.boxes);
  made->fill_uniform("point_features", 2);
  made->dump("num_sampled_points", {row.S});
  return made;
}

}  // namespace

std::vector<CaseSpec> cases() {
  std::vector<CaseSpec> specs;
  append_cases(specs, "roiaware_pool3d_forward", kNativeFloat, kAwareCases, make_forward);
  append_cases(specs, "roiaware_pool3d_backward", kNativeFloat, kAwareCases, make_backward);
  append_cases(specs, "roipoint_pool3d", kNativeFloat, kPointCases, make_points);
  append_cases(specs, kCliffs, kNativeFloat, kAwareCliffs, make_forward);
  return specs;
}

}  // namespace mluop::perf::roi_pooling
