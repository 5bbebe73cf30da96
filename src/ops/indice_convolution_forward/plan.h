// Indice convolution forward: what is decided once a call, and the launches that carry it out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/indice_convolution_forward/kernels.h"
#include "team/context.h"

namespace mluop::indice_convolution_forward {

// Bytes of the caller's workspace that suffice for the arguments (of which the data are not read) in the handle's
// atomics mode, at any address.
size_t workspace_bytes(const Context& context, const Args& args);

struct Plan {
  bool atomics;
  int task_dim;
  Tiling tiling;  // deterministic only
};

// Throws Failure with ALLOC_FAILED if the smallest tile does not fit NRAM.
Plan make_plan(const Context& context, const Args& args);

// `workspace` has workspace_bytes(). Throws Failure with BAD_PARAM if an index is out of bounds, and
// std::bad_alloc; the output is then untouched.
void run(Context& context, const Plan& plan, const Args& args, std::byte* workspace);

}  // namespace mluop::indice_convolution_forward
