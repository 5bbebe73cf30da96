// A call of mluOpBallQuery in guarded memory. Tests change its arguments and run it.
#pragma once

#include <random>
#include <vector>

#include "reference/ball_query.h"
#include "support/api.h"
#include "support/guarded_call.h"
#include "support/half.h"

namespace mluop::test {

using BallQueryProblem = reference::BallQueryProblem;

// What idx holds before a call, which remains in rows without a member.
inline constexpr int32_t kNoMember = -7;

// T: float or Half.
template <class T>
struct BallQueryInputs {
  BallQueryProblem problem;
  std::vector<T> new_xyz, xyz;
};

// Coordinates are in [-1, 1).
template <class T>
BallQueryInputs<T> random_ball_query(const BallQueryProblem& problem, std::mt19937& random);

// The idx that the operator must return.
template <class T>
std::vector<int32_t> ball_query_reference(const BallQueryInputs<T>& inputs);

template <class T>
struct BallQueryCall : GuardedCall {
  using Inputs = BallQueryInputs<T>;

  BallQueryCall(mluOpHandle_t handle, const Inputs& inputs, Placement placement = Placement::kAligned);

  mluOpStatus_t run() const;
  std::vector<int32_t> result() const { return idx_buffer.values(); }
  static constexpr ApiFunction<BallQueryCall> kOperator = {"mluOpBallQuery", &BallQueryCall::run};

  GuardedBuffer<T> new_xyz_buffer, xyz_buffer;
  GuardedBuffer<int32_t> idx_buffer;
  Descriptor own_new_xyz_desc, own_xyz_desc, own_idx_desc;

  // The arguments of run(), initially the above.
  mluOpTensorDescriptor_t new_xyz_desc, xyz_desc, idx_desc;
  const void* new_xyz;
  const void* xyz;
  float min_radius, max_radius;
  int nsample;
  void* idx;
};

}  // namespace mluop::test
