// Get indice pairs, native algorithm: the decisions of a call, and its launches.
#pragma once

#include <cstddef>

#include "ops/get_indice_pairs/get_indice_pairs_args.h"
#include "team/operator_call.h"

namespace mluop::get_indice_pairs::native {

// Bytes of the caller's workspace, at any address and for any number of threads.
size_t workspace_bytes(const Args& args);

// Computes the outputs and returns the number of output sites. Throws Failure, before it writes an output:
// BAD_PARAM if a site is outside the input space or out_indices is too small, NOT_SUPPORTED if there are 2^31
// output sites or more; and std::bad_alloc.
int run(Call& call, const Args& args, Arena arena);

// The same for a call with an empty tensor: there are no pairs.
int run_empty(const Args& args);

}  // namespace mluop::get_indice_pairs::native
