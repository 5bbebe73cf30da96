// The RAII classes of the API, under the names of the tests.
#pragma once

#include "case/api.h"

namespace mluop::test {

using cases::Descriptor;
using cases::Handle;
using cases::require;
using cases::SparseConvolutionDescriptor;

}  // namespace mluop::test
