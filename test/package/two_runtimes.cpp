// A program on one OpenMP runtime loads the library, which was built for another. Arguments: the library, and
// optionally DEEPBIND, with which the library prefers the functions of its own runtime. Teams of program and
// library alternate, and one runs inside the other. Prints the number of tasks and threads of a launch, and ends
// with 0 if all results are those of serial loops.
#include <dlfcn.h>
#include <omp.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "mlu_op.h"
#include "mlu_op_omp.h"

namespace {

void* library = nullptr;

// The function of the library with the name and type of a declaration in mlu_op.h.
#define MLUOP_FUNCTION(name) reinterpret_cast<decltype(&name)>(dlsym(library, #name))

constexpr int kPoints = 2000;
constexpr int kChannels = 24;
constexpr int kCells = 6;

int failures = 0;

void require(mluOpStatus_t status) {
  if (status == MLUOP_STATUS_SUCCESS) return;
#pragma omp atomic
  ++failures;
}

mluOpTensorDescriptor_t descriptor(mluOpDataType_t dtype, const std::vector<int>& dims) {
  mluOpTensorDescriptor_t desc = nullptr;
  require(MLUOP_FUNCTION(mluOpCreateTensorDescriptor)(&desc));
  require(MLUOP_FUNCTION(mluOpSetTensorDescriptor)(desc, MLUOP_LAYOUT_ARRAY, dtype, static_cast<int>(dims.size()),
                                                   dims.data()));
  return desc;
}

// Voxel pooling of integers in a row of cells, compared with the serial loop.
void pool(mluOpOmpAlgorithm_t algorithm, bool print) {
  std::vector<int> points;
  std::vector<float> features;
  std::vector<float> expected(kCells * kChannels);
  for (int p = 0; p < kPoints; ++p) {
    points.insert(points.end(), {p * 7 % kCells, 0, 0});
    for (int c = 0; c < kChannels; ++c) {
      features.push_back(static_cast<float>((p * 13 + c * 5) % 17 - 8));
      expected[static_cast<std::size_t>(points[static_cast<std::size_t>(p) * 3] * kChannels + c)] +=
          features.back();
    }
  }
  std::vector<float> output(expected.size());
  std::vector<int> memo(points.size());
  mluOpHandle_t handle = nullptr;
  require(MLUOP_FUNCTION(mluOpCreate)(&handle));
  require(MLUOP_FUNCTION(mluOpOmpSetAlgorithm)(handle, algorithm));
  require(MLUOP_FUNCTION(mluOpOmpSetStatistics)(handle, 1));
  const mluOpTensorDescriptor_t descriptors[] = {descriptor(MLUOP_DTYPE_INT32, {1, kPoints, 3}),
                                                 descriptor(MLUOP_DTYPE_FLOAT, {1, kPoints, kChannels}),
                                                 descriptor(MLUOP_DTYPE_FLOAT, {1, 1, kCells, kChannels})};
  require(MLUOP_FUNCTION(mluOpVoxelPoolingForward)(handle, 1, kPoints, kChannels, kCells, 1, 1, descriptors[0],
                                                   points.data(), descriptors[1], features.data(), descriptors[2],
                                                   output.data(), descriptors[0], memo.data()));
  if (print) {
    mluOpOmpLaunchStatistics_t launch{};
    require(MLUOP_FUNCTION(mluOpOmpGetLaunchStatistics)(handle, 0, &launch));
    std::printf("%d tasks on %d threads\n", launch.task_dim, launch.threads);
  }
  for (const mluOpTensorDescriptor_t desc : descriptors)
    require(MLUOP_FUNCTION(mluOpDestroyTensorDescriptor)(desc));
  require(MLUOP_FUNCTION(mluOpDestroy)(handle));
  if (output != expected) require(MLUOP_STATUS_EXECUTION_FAILED);
}

// A team of the program.
bool sums_in_a_team() {
  int sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum)
  for (int i = 0; i < 1000; ++i) sum += i;
  return sum == 499500;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool deep = argc > 2 && std::strcmp(argv[2], "DEEPBIND") == 0;
  if (!sums_in_a_team()) return 3;
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | (deep ? RTLD_DEEPBIND : 0));
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 4;
  }
  omp_set_num_threads(2);
  pool(MLUOP_OMP_ALGORITHM_DEVICE, true);
  for (int round = 0; round < 5; ++round) {
    pool(MLUOP_OMP_ALGORITHM_NATIVE, false);
    pool(MLUOP_OMP_ALGORITHM_DEVICE, false);
    if (!sums_in_a_team()) ++failures;
  }
#pragma omp parallel num_threads(2)
  {
    pool(MLUOP_OMP_ALGORITHM_NATIVE, false);
    pool(MLUOP_OMP_ALGORITHM_DEVICE, false);
  }
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
