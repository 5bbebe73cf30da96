// Reduces a failing case: removes points, masks, pairs, channels and others while it still fails.
#pragma once

#include <functional>
#include <iosfwd>

#include "case/model.h"

namespace mluop::cases {

// Whether a case fails.
using Fails = std::function<bool(const Case&)>;

// The case with the tensors in the order of the operator, named as its parameters, inputs inline, and, unless
// `with_results`, without what the file states of the outputs' contents after the call. Those of inputs that the
// call writes are never kept.
Case self_contained(const Case& the_case, bool with_results = false);

// A self-contained case of which no element of a collection of the operator can be removed, nor any half of one,
// without `fails` returning false. Results that it states are reduced along with the inputs: rows, channels and
// others that stay keep theirs. What they depend on stays, too: nothing is removed whose absence changes what the
// oracle computes of the rest. Writes a line for each collection to `progress`. `the_case` is self-contained and
// fails.
Case reduce(const Case& the_case, const Fails& fails, std::ostream& progress);

}  // namespace mluop::cases
