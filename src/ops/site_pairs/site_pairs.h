// Site pairs: the algorithm and the arguments of a call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "team/operator_call.h"

namespace mluop::site_pairs {

// The arguments of the call, checked. K and N are at least 1.
struct Args {
  int64_t N, M, K, columns;
  const int32_t* inputs;   // [N, columns]
  const int32_t* outputs;  // [M, columns]
  const int32_t* offsets;  // [K, columns - 1]
  int32_t* indice_pairs;   // [K, 2, N]
  int32_t* indice_num;     // [K]
};

namespace native {

// Throws Failure: BAD_PARAM if the bytes of a buffer exceed int64_t.
size_t workspace_bytes(int64_t N, int64_t M, int64_t K);

// Computes the outputs. Throws std::bad_alloc, or Failure (BAD_PARAM) if an offset has more than N pairs, before
// it writes them.
void run(Call& call, const Args& args, Arena workspace);

}  // namespace native
}  // namespace mluop::site_pairs
