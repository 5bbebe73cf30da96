// A C++17 program that uses the installed package only. Returns 0 if all results are correct.
#include <mlu_op.h>
#include <mlu_op_omp.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "wrong: %s\n", what);
}

mluOpTensorDescriptor_t descriptor(mluOpDataType_t dtype, const std::vector<int>& dims) {
  mluOpTensorDescriptor_t desc = nullptr;
  expect(mluOpCreateTensorDescriptor(&desc) == MLUOP_STATUS_SUCCESS, "mluOpCreateTensorDescriptor");
  expect(mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_ARRAY, dtype, static_cast<int>(dims.size()), dims.data()) ==
             MLUOP_STATUS_SUCCESS,
         "mluOpSetTensorDescriptor");
  return desc;
}

void check_version() {
  int major = -1, minor = -1, patch = -1;
  mluOpGetLibVersion(&major, &minor, &patch);
  expect(major == MLUOP_MAJOR && minor == MLUOP_MINOR && patch == MLUOP_PATCHLEVEL, "mluOpGetLibVersion");
  mluOpOmpGetVersion(&major, &minor, &patch);
  expect(
      major == MLUOP_OMP_EXPECTED_MAJOR && minor == MLUOP_OMP_EXPECTED_MINOR && patch == MLUOP_OMP_EXPECTED_PATCH,
      "mluOpOmpGetVersion");
}

// Two batches of 1000 points of 3 channels, point i with the features {1, i, 2 i}, in a grid of 4 x 5 voxels.
void check_voxel_pooling(mluOpHandle_t handle) {
  constexpr int kBatches = 2, kPoints = 1000, kChannels = 3, kX = 5, kY = 4;
  std::vector<int> geom_xyz, pos_memo(kBatches * kPoints * 3, 7);
  std::vector<float> features, output(kBatches * kY * kX * kChannels, 7.0F), expected(output.size());
  for (int b = 0; b < kBatches; ++b) {
    for (int i = 0; i < kPoints; ++i) {
      const int x = i % 7, y = i / 7 % kY;  // x = 5 and 6 are outside the grid
      geom_xyz.insert(geom_xyz.end(), {x, y, 0});
      for (int c = 0; c < kChannels; ++c) {
        features.push_back(c == 0 ? 1.0F : static_cast<float>(c * i));
        if (x < kX) expected[static_cast<size_t>(((b * kY + y) * kX + x) * kChannels + c)] += features.back();
      }
    }
  }
  mluOpTensorDescriptor_t points = descriptor(MLUOP_DTYPE_INT32, {kBatches, kPoints, 3});
  mluOpTensorDescriptor_t rows = descriptor(MLUOP_DTYPE_FLOAT, {kBatches, kPoints, kChannels});
  mluOpTensorDescriptor_t grid = descriptor(MLUOP_DTYPE_FLOAT, {kBatches, kY, kX, kChannels});
  const auto call = [&](int num_points) {
    return mluOpVoxelPoolingForward(handle, kBatches, num_points, kChannels, kX, kY, 1, points, geom_xyz.data(),
                                    rows, features.data(), grid, output.data(), points, pos_memo.data());
  };
  expect(call(kPoints) == MLUOP_STATUS_SUCCESS, mluOpOmpGetLastError());
  expect(output == expected, "output_features");
  expect(pos_memo[3] == 0 && pos_memo[4] == 0 && pos_memo[5] == 1, "pos_memo of a point in the grid");
  expect(pos_memo[15] == -1 && pos_memo[16] == -1 && pos_memo[17] == -1, "pos_memo of a point outside");

  expect(call(kPoints - 1) == MLUOP_STATUS_BAD_PARAM, "status of an invalid call");
  expect(std::strstr(mluOpOmpGetLastError(), "geom_xyz dim 1 is 1000, expected 999") != nullptr,
         "mluOpOmpGetLastError");
  for (mluOpTensorDescriptor_t desc : {points, rows, grid}) {
    expect(mluOpDestroyTensorDescriptor(desc) == MLUOP_STATUS_SUCCESS, "mluOpDestroyTensorDescriptor");
  }
}

}  // namespace

int main() {
  check_version();
  expect(std::strcmp(mluOpOmpGetLastError(), "") == 0, "mluOpOmpGetLastError without an error");
  mluOpHandle_t handle = nullptr;
  expect(mluOpCreate(&handle) == MLUOP_STATUS_SUCCESS, "mluOpCreate");
  check_voxel_pooling(handle);
  expect(mluOpDestroy(handle) == MLUOP_STATUS_SUCCESS, "mluOpDestroy");
  return failures == 0 ? 0 : 1;
}
