// The result of mluOpOmpCompare, which its accessor functions read.
#pragma once

#include <string>
#include <vector>

#include "mlu_op_omp.h"

struct mluOpOmpComparisonStruct {
  mluOpOmpDifference_t difference;
  std::vector<mluOpOmpWrongElement_t> worst;
  std::string pattern;
};

namespace mluop {

using Comparison = mluOpOmpComparisonStruct;

}  // namespace mluop
