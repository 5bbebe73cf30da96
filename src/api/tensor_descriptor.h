// Setting a tensor descriptor, for functions that set several.
#pragma once

#include "core/tensor.h"

namespace mluop {

// As mluOpSetTensorDescriptor: keeps the fields that it does not set. Throws Failure, and changes nothing, if an
// argument violates a rule.
void set_contiguous(TensorDescriptor& desc, mluOpTensorLayout_t layout, mluOpDataType_t dtype, int dim_count,
                    const int* dims);

}  // namespace mluop
