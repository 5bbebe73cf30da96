#include "ops/ball_query/call.h"

#include "support/element.h"

namespace mluop::test {

template <class T>
BallQueryInputs<T> random_ball_query(const BallQueryProblem& problem, std::mt19937& random) {
  BallQueryInputs<T> inputs{problem, {}, {}};
  // 24 bits, which fp32 represents exactly.
  const auto coordinate = [&] { return rounded_to<T>(static_cast<float>(random() >> 8) * 0x1p-23F - 1); };
  for (int64_t i = 0; i < problem.centers_count(); ++i) inputs.new_xyz.push_back(coordinate());
  for (int64_t i = 0; i < problem.points_count(); ++i) inputs.xyz.push_back(coordinate());
  return inputs;
}

template <class T>
std::vector<int32_t> ball_query_reference(const BallQueryInputs<T>& inputs) {
  std::vector<int32_t> idx(static_cast<size_t>(inputs.problem.idx_count()), kNoMember);
  reference::ball_query(inputs.problem, inputs.new_xyz.data(), inputs.xyz.data(), idx.data());
  return idx;
}

template <class T>
BallQueryCall<T>::BallQueryCall(mluOpHandle_t with, const Inputs& inputs, Placement placement)
    : GuardedCall(with),
      new_xyz_buffer(inputs.new_xyz, placement),
      xyz_buffer(inputs.xyz, placement),
      idx_buffer(std::vector<int32_t>(static_cast<size_t>(inputs.problem.idx_count()), kNoMember), placement),
      own_new_xyz_desc(kDtype<T>, {inputs.problem.B, inputs.problem.M, 3}),
      own_xyz_desc(kDtype<T>, {inputs.problem.B, inputs.problem.N, 3}),
      own_idx_desc(MLUOP_DTYPE_INT32, {inputs.problem.B, inputs.problem.M, inputs.problem.nsample}),
      new_xyz_desc(own_new_xyz_desc),
      xyz_desc(own_xyz_desc),
      idx_desc(own_idx_desc),
      new_xyz(new_xyz_buffer.data()),
      xyz(xyz_buffer.data()),
      min_radius(inputs.problem.min_radius),
      max_radius(inputs.problem.max_radius),
      nsample(static_cast<int>(inputs.problem.nsample)),
      idx(idx_buffer.data()) {
  set_buffers({&new_xyz_buffer, &xyz_buffer}, {&idx_buffer});
}

template <class T>
mluOpStatus_t BallQueryCall<T>::run() const {
  return mluOpBallQuery(handle, new_xyz_desc, new_xyz, xyz_desc, xyz, min_radius, max_radius, nsample, idx_desc,
                        idx);
}

template BallQueryInputs<float> random_ball_query(const BallQueryProblem&, std::mt19937&);
template BallQueryInputs<Half> random_ball_query(const BallQueryProblem&, std::mt19937&);
template std::vector<int32_t> ball_query_reference(const BallQueryInputs<float>&);
template std::vector<int32_t> ball_query_reference(const BallQueryInputs<Half>&);
template struct BallQueryCall<float>;
template struct BallQueryCall<Half>;

}  // namespace mluop::test
