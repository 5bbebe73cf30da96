// Reduces a failing case: removes points, masks, pairs, channels and so on while it still fails.
#pragma once

#include <functional>
#include <iosfwd>

#include "case/model.h"

namespace mluop::cases {

// Whether a case fails.
using Fails = std::function<bool(const Case&)>;

// The case with the tensors in the order of the operator, named after its parameters, with inline inputs. Unless
// `with_results`, drops the contents of outputs after the call that the file states. The results of inputs that
// the call writes are always dropped.
Case self_contained(const Case& the_case, bool with_results = false);

// Reduces a self-contained case until no element of a collection of the operator, and no half of a collection, can
// be removed without `fails` returning false. Stated results are reduced along with the inputs: the remaining rows
// and channels keep the stated results. An element stays if removing it changes the oracle's results for the rest.
// Writes a line for each collection to `progress`. `the_case` must be self-contained and fail.
Case reduce(const Case& the_case, const Fails& fails, std::ostream& progress);

}  // namespace mluop::cases
