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

void expect_success(mluOpStatus_t status) { expect(status == MLUOP_STATUS_SUCCESS, mluOpOmpGetLastError()); }

mluOpTensorDescriptor_t descriptor(mluOpDataType_t dtype, const std::vector<int>& dims) {
  mluOpTensorDescriptor_t desc = nullptr;
  expect_success(mluOpCreateTensorDescriptor(&desc));
  expect_success(
      mluOpSetTensorDescriptor(desc, MLUOP_LAYOUT_ARRAY, dtype, static_cast<int>(dims.size()), dims.data()));
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

// Four points of two channels in a grid of 1 x 2 voxels. The last point is outside.
void check_voxel_pooling() {
  const std::vector<int> geom_xyz = {0, 0, 0, 1, 0, 0, 1, 0, 0, 2, 0, 0};
  const std::vector<float> features = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> output(4, 7);
  std::vector<int> pos_memo(12, 7);
  mluOpHandle_t handle = nullptr;
  expect_success(mluOpCreate(&handle));
  mluOpTensorDescriptor_t points = descriptor(MLUOP_DTYPE_INT32, {1, 4, 3});
  mluOpTensorDescriptor_t rows = descriptor(MLUOP_DTYPE_FLOAT, {1, 4, 2});
  mluOpTensorDescriptor_t grid = descriptor(MLUOP_DTYPE_FLOAT, {1, 1, 2, 2});
  const auto call = [&](int num_points) {
    return mluOpVoxelPoolingForward(handle, 1, num_points, 2, 2, 1, 1, points, geom_xyz.data(), rows,
                                    features.data(), grid, output.data(), points, pos_memo.data());
  };
  expect_success(call(4));
  expect(output == std::vector<float>{1, 2, 8, 10}, "output_features");
  expect(pos_memo == std::vector<int>{0, 0, 0, 0, 0, 1, 0, 0, 1, -1, -1, -1}, "pos_memo");
  expect(call(3) == MLUOP_STATUS_BAD_PARAM, "status of an invalid call");
  expect(std::strstr(mluOpOmpGetLastError(), "geom_xyz dim 1 is 4, expected 3") != nullptr,
         "mluOpOmpGetLastError");
  for (mluOpTensorDescriptor_t desc : {points, rows, grid}) expect_success(mluOpDestroyTensorDescriptor(desc));
  expect_success(mluOpDestroy(handle));
}

}  // namespace

int main() {
  check_version();
  expect(std::strcmp(mluOpOmpGetLastError(), "") == 0, "mluOpOmpGetLastError without an error");
  check_voxel_pooling();
  return failures == 0 ? 0 : 1;
}
