#include "recording/case_settings.h"

#include <gtest/gtest.h>

namespace mluop::test {
namespace {

TEST(RecordingCaseSettings, OperatorNames) {
  constexpr struct {
    const char *function, *name;
  } kTable[] = {
      {"mluOpVoxelPoolingForward", "voxel_pooling_forward"},
      {"mluOpOmpVoxelPoolingBackward", "voxel_pooling_backward"},
      {"mluOpThreeNNForward", "three_nn_forward"},
      {"mluOpMaskedIm2colForward", "masked_im2col_forward"},
      {"mluOpGetIndicePairs", "get_indice_pairs"},
      {"mluOpAB", "ab"},
      {"example", "example"},
      {"mluOp", ""},
  };
  for (const auto& row : kTable) EXPECT_EQ(op_name_of(row.function), row.name);
}

}  // namespace
}  // namespace mluop::test
