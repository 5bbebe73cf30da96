// What the element-by-element operators share: their maps, and the loop over tensors of any strides.
// Start with abs.cpp, the shortest entry; elementwise.cpp has the loop, elementwise_native_kernels.cpp the maps.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/tensor.h"
#include "mlu_op.h"
#include "team/operator_call.h"

namespace mluop::elementwise {

// to[i] = f(a[i]) or f(a[i], b[i]) for i in [0, count), all contiguous; b is null for maps of one tensor. `to` may
// be a or b; otherwise the ranges are disjoint. `stream`: `to` is aligned to a cache line and bypasses the caches.
using Map = void (*)(const void* a, const void* b, int64_t count, bool stream, void* to);

// a: FLOAT, HALF, BFLOAT16; also INT32 for abs and sqrt, and COMPLEX_FLOAT for abs.
Map abs_map(mluOpDataType_t dtype);
Map sqrt_map(mluOpDataType_t dtype);
// FLOAT, HALF, BFLOAT16.
Map log_map(mluOpLogBase_t base, mluOpDataType_t dtype);
Map sqrt_backward_map(mluOpDataType_t dtype);  // a: y, b: diff_y
Map div_map(mluOpDataType_t dtype);
Map lgamma_map(mluOpDataType_t dtype);

// A map and its cost for an element, in bytes of memory traffic in addition to its operands.
struct Work {
  Map map;
  int64_t cost = 0;
};

// Writes the map of the elements of a, and of b if b.desc is not null, to `to`, which is not empty. Inputs have
// the rank of `to`; dimensions of size 1 are broadcast.
void run(Call& call, const Work& work, const Input& a, const Input& b, const Output& to);

// The arguments of a map of one tensor. to: the type of y.
struct Unary {
  Input x;
  Output y;
  mluOpDataType_t to;
  Strides strides;
};
// Declares x and y. The caller then checks pointers, parameters and the element type of x.
void declare_unary(Call& call, const Unary& unary);
// Checks the tensors. Returns whether there is anything to compute.
bool check_unary(Call& call, const Unary& unary);

void require_dimensions(std::string_view name, const TensorDescriptor* desc);

}  // namespace mluop::elementwise
