// What the entries and the kernels of mutual information share. Letters: B sequences, S symbols, T frames.
#pragma once

#include <cstdint>

#include "team/launch.h"

namespace mluop::mutual_information {

// Cells of the lattice, the last ones included.
struct Boundary {
  bool is_empty() const { return s_begin > s_end || t_begin > t_end; }

  int64_t s_begin, t_begin, s_end, t_end;
};

struct Args {
  // The boundary of a sequence.
  Boundary boundary(int64_t b) const {
    if (boundaries == nullptr) return {0, 0, S, T};
    const int64_t* const row = boundaries + b * 4;
    return {row[0], row[1], row[2], row[3]};
  }

  int64_t B, S, T;
  const float* px;            // [B, S, T + 1]
  const float* py;            // [B, S + 1, T]
  const int64_t* boundaries;  // [B, 4]; null: all cells
  float* diagonals;           // [taskDim, kDiagonals, S + 2]
};

inline constexpr int64_t kDiagonals = 4;

struct ForwardArgs : Args {
  float* p;    // [B, S + 1, T + 1]
  float* ans;  // [B]
};

struct BackwardArgs : Args {
  const float* p;   // [B, S + 1, T + 1]
  float* ans_grad;  // [B]
  bool overwrites;  // ans_grad
  float* px_grad;   // [B, S, T + 1]
  float* py_grad;   // [B, S + 1, T]
};

// Ranges of work items are sequences, whose boundaries are checked.
RangeKernel<ForwardArgs> forward_kernel();
RangeKernel<BackwardArgs> backward_kernel();

}  // namespace mluop::mutual_information
