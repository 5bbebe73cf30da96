// Deformable convolution: the rules shared by the forward operator and both gradients.
#pragma once

#include "core/dcn.h"
#include "core/tensor.h"
#include "ops/dcn/dcn.h"
#include "team/operator_call.h"

namespace mluop::dcn {

// The tensors that determine the sizes: input, and the filter or its gradient.
struct Shapes {
  const TensorDescriptor *input_desc, *filter_desc;
  std::string_view filter_name;
};

// Declares the parameters of the descriptor; throws Failure if it is null or not set.
void declare_convolution(Call& call, const DcnDescriptor* dcn_desc);

// The sizes of a convolution; 0 where a descriptor is null. The sizes of the output follow from input and filter;
// they are 0 if the filter exceeds the padded input.
Sizes sizes_of(const DcnDescriptor& dcn_desc, const Shapes& shapes);

// Channels of mask and offset, before the sizes are checked: INT64_MAX on overflow.
int64_t sample_count(const Sizes& sizes);
int64_t offset_count(const Sizes& sizes);

// Declares input, offset and, if present, mask.
Args declare_samples(Call& call, const Sizes& sizes, const Input& input, const Input& offset, const Input& mask);

// Checks the call after all arguments are declared.
void check(Call& call, const DcnDescriptor& dcn_desc, const Sizes& sizes, const Shapes& shapes);

}  // namespace mluop::dcn
