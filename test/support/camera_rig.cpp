#include "support/camera_rig.h"

#include <array>
#include <cmath>
#include <random>

namespace mluop::test {
namespace {

// Position (m) and orientation (w, x, y, z) in the car's frame, focal length and principal point (pixels of the
// 1600 x 900 image): calibrated_sensor of the nuScenes data set, v1.0-mini, scene-0061.
struct Camera {
  std::array<double, 3> translation;
  std::array<double, 4> rotation;
  double focal, center_x, center_y;
};

// In the order of BEVDepth: front left, front, front right, back left, back, back right.
constexpr std::array<Camera, 6> kRig = {{
    {{1.52388, 0.49463, 1.50933}, {0.675727, -0.673627, 0.212140, -0.211228}, 1272.598, 826.615, 479.752},
    {{1.70079, 0.01595, 1.51096}, {0.499802, -0.503032, 0.499780, -0.497371}, 1266.417, 816.267, 491.507},
    {{1.55085, -0.49340, 1.49575}, {0.206035, -0.202694, 0.682451, -0.671361}, 1260.847, 807.968, 495.334},
    {{1.03569, 0.48480, 1.59097}, {0.692419, -0.703162, -0.116483, 0.112033}, 1256.741, 792.113, 492.776},
    {{0.02833, 0.00345, 1.57910}, {0.503787, -0.497402, -0.494185, 0.504550}, 809.221, 829.220, 481.778},
    {{1.01488, -0.48057, 1.56240}, {0.122810, -0.132401, -0.700431, 0.690496}, 1259.514, 807.253, 501.196},
}};

// The image of the network is the camera image scaled from 1600 to 704 columns, with the top rows cropped.
constexpr double kScale = 704.0 / 1600.0;
constexpr double kCroppedRows = 900 * kScale - 256;
constexpr int kImageRows = 256 / 16, kImageColumns = 704 / 16;
constexpr double kFirstDepth = 2.0, kLastDepth = 58.0;
constexpr double kMinXy = -51.2, kVoxelXy = 0.8, kMinZ = -5.0, kVoxelZ = 8.0;

std::array<std::array<double, 3>, 3> rotation_matrix(const std::array<double, 4>& quaternion) {
  const auto [w, x, y, z] = quaternion;
  return {{{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
           {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
           {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}}};
}

// floor, because a cast to int would round points below the box into it.
int32_t voxel(double metres, double first, double size) {
  return static_cast<int32_t>(std::floor((metres - first) / size));
}

void append_frustum(const Camera& camera, int depths, std::vector<int32_t>& geometry) {
  const auto rotation = rotation_matrix(camera.rotation);
  for (int d = 0; d < depths; ++d) {
    for (int row = 0; row < kImageRows; ++row) {
      for (int column = 0; column < kImageColumns; ++column) {
        const double depth = kFirstDepth + d * ((kLastDepth - kFirstDepth) / depths);
        const double u = column * (703.0 / (kImageColumns - 1)) / kScale;
        const double v = (row * (255.0 / (kImageRows - 1)) + kCroppedRows) / kScale;
        const std::array<double, 3> ray = {(u - camera.center_x) / camera.focal * depth,
                                           (v - camera.center_y) / camera.focal * depth, depth};
        std::array<double, 3> point = camera.translation;
        for (size_t i = 0; i < 3; ++i) {
          for (size_t j = 0; j < 3; ++j) point[i] += rotation[i][j] * ray[j];
        }
        geometry.push_back(voxel(point[0], kMinXy, kVoxelXy));
        geometry.push_back(voxel(point[1], kMinXy, kVoxelXy));
        geometry.push_back(voxel(point[2], kMinZ, kVoxelZ));
      }
    }
  }
}

}  // namespace

std::vector<int32_t> camera_geometry(int batch_size, int depths) {
  std::vector<int32_t> geometry;
  geometry.reserve(static_cast<size_t>(batch_size) * kBevDepthSizes.num_points / kBevDepthBins *
                   static_cast<size_t>(depths) * 3);
  for (int b = 0; b < batch_size; ++b) {
    for (const Camera& camera : kRig) append_frustum(camera, depths, geometry);
  }
  return geometry;
}

std::vector<int32_t> uniform_geometry(const reference::VoxelPoolingForwardSizes& sizes, uint32_t seed) {
  std::mt19937 random(seed);
  const auto around = [&](int count) {
    return std::uniform_int_distribution<int32_t>(-count / 4, count - 1 + count / 4)(random);
  };
  std::vector<int32_t> geometry;
  geometry.reserve(static_cast<size_t>(sizes.geom_count()));
  for (int64_t point = 0; point < sizes.points(); ++point) {
    geometry.push_back(around(sizes.num_voxel_x));
    geometry.push_back(around(sizes.num_voxel_y));
    geometry.push_back(around(sizes.num_voxel_z));
  }
  return geometry;
}

}  // namespace mluop::test
