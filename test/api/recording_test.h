// Base of tests of recorded calls.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "ops/voxel_pooling_forward/call.h"
#include "support/environment.h"
#include "support/recorded_case.h"
#include "support/temporary_folder.h"

namespace mluop::test {

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Records into a folder of its own, with elements unless the test sets another mode.
class RecordingTest : public ::testing::Test {
 protected:
  std::filesystem::path folder() const { return folder_.path() / "cases"; }

  auto set_mode(const char* mode) { return ScopedEnvironment("MLUOP_GEN_CASE", mode); }

  // The case of a call that a new handle runs.
  template <class Call>
  RecordedCase record(const typename Call::Inputs& inputs,
                      mluOpOmpAlgorithm_t algorithm = MLUOP_OMP_ALGORITHM_NATIVE) const {
    require(Call(Handle(algorithm), inputs).run());
    return only_case(folder());
  }

  VoxelPoolingInputs<float> pooling = [] {
    auto random = seeded_random();
    return random_voxel_pooling<float>({2, 50, 3, 5, 4, 1}, random);
  }();

 private:
  TemporaryFolder folder_;
  ScopedEnvironment mode_{"MLUOP_GEN_CASE", "2"};
  ScopedEnvironment directory_{"MLUOP_GEN_CASE_DIR", folder().c_str()};
};

}  // namespace mluop::test
