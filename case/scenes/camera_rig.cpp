#include "case/scenes/camera_rig.h"

#include <array>
#include <cmath>
#include <random>

namespace mluop::scenes {
namespace {

// Position (m) and orientation (w, x, y, z) in the car's frame, focal length and principal point (pixels of the
// 1600 x 900 image): calibrated_sensor of the nuScenes data set, v1.0-mini, scene-0061.
struct Camera {
  std::array<double, 3> translation;
  std::array<double, 4> rotation;
  double focal, center_x, center_y;
};

// In the order of BEVDepth.
constexpr std::array<Camera, 6> kRig = {{
    // front left, front, front right
    {{1.52387798135, 0.494631336551, 1.50932822144},
     {0.6757265034669446, -0.6736266522251881, 0.21214015046209478, -0.21122827103904068},
     1272.5979470598488,
     826.6154927353808,
     479.75165386361925},
    {{1.70079118954, 0.0159456324149, 1.51095763913},
     {0.4998015430569128, -0.5030316162024876, 0.4997798114386805, -0.49737083824542755},
     1266.417203046554,
     816.2670197447984,
     491.50706579294757},
    {{1.5508477543, -0.493404796419, 1.49574800619},
     {0.2060347966337182, -0.2026940577919598, 0.6824507824531167, -0.6713610884174485},
     1260.8474446004698,
     807.968244525554,
     495.3344268742088},
    // back left, back, back right
    {{1.03569100218, 0.484795032713, 1.59097014818},
     {0.6924185592174665, -0.7031619420114925, -0.11648342771943819, 0.11203317912370753},
     1256.7414812095406,
     792.1125740759628,
     492.7757465151356},
    {{0.0283260309358, 0.00345136761476, 1.57910346144},
     {0.5037872666382278, -0.49740249788611096, -0.4941850223835201, 0.5045496097725578},
     809.2209905677063,
     829.2196003259838,
     481.77842384512485},
    {{1.0148780988, -0.480568219723, 1.56239545128},
     {0.12280980120078765, -0.132400842670559, -0.7004305821388234, 0.690496031265798},
     1259.5137405846733,
     807.2529053838625,
     501.19579884916527},
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

// floor, because a cast to int would round points below the box up into it.
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

}  // namespace mluop::scenes
