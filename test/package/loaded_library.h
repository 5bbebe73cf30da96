// Calls of a library that the program has loaded with dlopen().
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <vector>

#include "mlu_op.h"
#include "mlu_op_omp.h"

inline void* library = nullptr;
inline std::atomic<int> failures = 0;

// The function of the library with the name and type of a declaration in mlu_op.h.
#define MLUOP_FUNCTION(name) reinterpret_cast<decltype(&name)>(dlsym(library, #name))

inline void load(const char* file, int flags) {
  library = dlopen(file, RTLD_NOW | RTLD_LOCAL | flags);
  if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror());
}

inline void require(mluOpStatus_t status) { failures += status == MLUOP_STATUS_SUCCESS ? 0 : 1; }

inline mluOpTensorDescriptor_t descriptor(mluOpDataType_t dtype, const std::vector<int>& dims) {
  mluOpTensorDescriptor_t desc = nullptr;
  require(MLUOP_FUNCTION(mluOpCreateTensorDescriptor)(&desc));
  require(MLUOP_FUNCTION(mluOpSetTensorDescriptor)(desc, MLUOP_LAYOUT_ARRAY, dtype, static_cast<int>(dims.size()),
                                                   dims.data()));
  return desc;
}

// Voxel pooling of integers in a row of cells, compared with the serial loop. Prints the number of tasks and
// threads of a launch if `print`.
inline void pool(mluOpOmpAlgorithm_t algorithm, bool print) {
  constexpr int kPoints = 2000, kChannels = 24, kCells = 6;
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
  for (const mluOpTensorDescriptor_t desc : descriptors) {
    require(MLUOP_FUNCTION(mluOpDestroyTensorDescriptor)(desc));
  }
  require(MLUOP_FUNCTION(mluOpDestroy)(handle));
  if (output != expected) ++failures;
}
