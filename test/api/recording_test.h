// Base of tests of recorded calls.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "support/environment.h"
#include "support/operator_call.h"
#include "support/recorded_case.h"
#include "support/temporary_folder.h"

namespace mluop::test {

inline std::vector<std::byte> bytes_of(const cases::Operand& operand) {
  return {operand.data, operand.data + operand.bytes()};
}

// Records into a folder of its own, with elements unless the test sets another mode.
class RecordingTest : public ::testing::Test {
 protected:
  std::filesystem::path folder() const { return folder_.path() / "cases"; }

  auto set_mode(const char* mode) { return ScopedEnvironment("MLUOP_GEN_CASE", mode); }

  // The only case in the folder after the call, which must succeed.
  RecordedCase record(const OperatorCall& call) const {
    require(call.run());
    return only_case(folder());
  }
  // That of a new handle.
  RecordedCase record(const cases::Case& made, mluOpOmpAlgorithm_t algorithm = MLUOP_OMP_ALGORITHM_NATIVE) const {
    const Handle handle(algorithm);
    return record(OperatorCall(handle, made));
  }

  cases::Case pooling =
      make_case("voxel_pooling_forward", MLUOP_DTYPE_FLOAT,
                {{"num_points", 50}, {"num_channels", 3}, {"num_voxel_x", 5}, {"num_voxel_y", 4}});

 private:
  TemporaryFolder folder_;
  ScopedEnvironment mode_{"MLUOP_GEN_CASE", "2"};
  ScopedEnvironment directory_{"MLUOP_GEN_CASE_DIR", folder().c_str()};
};

}  // namespace mluop::test
