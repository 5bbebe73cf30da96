#include "reference/ball_query.h"

#include <algorithm>

#include "reference/squared_distance.h"

namespace mluop::reference {

namespace {

// Writes the first nsample members among N points, and repeats the first. Returns whether there is a member.
template <class T, class IsMember>
bool query(const T* center, const T* points, int64_t N, int64_t nsample, const IsMember& is_member, int32_t* row) {
  int64_t count = 0;
  for (int64_t n = 0; n < N && count < nsample; ++n) {
    if (!is_member(squared_distance(center, points + n * 3))) continue;
    if (count == 0) std::fill_n(row, nsample, static_cast<int32_t>(n));
    row[count++] = static_cast<int32_t>(n);
  }
  return count > 0;
}

}  // namespace

template <class T>
void ball_query(const BallQueryProblem& problem, const T* new_xyz, const T* xyz, int32_t* idx) {
  const float min2 = problem.min_radius * problem.min_radius, max2 = problem.max_radius * problem.max_radius;
  const auto is_member = [=](double d2) { return d2 == 0 || (d2 >= min2 && d2 < max2); };
  for (int64_t center = 0; center < problem.B * problem.M; ++center) {
    query(new_xyz + center * 3, xyz + center / problem.M * problem.N * 3, problem.N, problem.nsample, is_member,
          idx + center * problem.nsample);
  }
}

template <class T>
void stack_ball_query(const StackBallQueryProblem& problem, const T* new_xyz, const T* xyz, int32_t* idx) {
  const float max2 = problem.max_radius * problem.max_radius;
  const auto is_member = [=](double d2) { return d2 < max2; };
  for (int64_t b = 0; b < problem.B; ++b) {
    for (int32_t m = 0; m < problem.new_xyz_batch_cnt[b]; ++m) {
      if (!query(new_xyz, xyz, problem.xyz_batch_cnt[b], problem.nsample, is_member, idx)) {
        std::fill_n(idx, problem.nsample, 0);
        idx[0] = -1;
      }
      new_xyz += 3;
      idx += problem.nsample;
    }
    xyz += int64_t{problem.xyz_batch_cnt[b]} * 3;
  }
}

template void ball_query(const BallQueryProblem&, const float*, const float*, int32_t*);
template void ball_query(const BallQueryProblem&, const Half*, const Half*, int32_t*);
template void ball_query(const BallQueryProblem&, const BFloat16*, const BFloat16*, int32_t*);
template void stack_ball_query(const StackBallQueryProblem&, const float*, const float*, int32_t*);
template void stack_ball_query(const StackBallQueryProblem&, const Half*, const Half*, int32_t*);
template void stack_ball_query(const StackBallQueryProblem&, const BFloat16*, const BFloat16*, int32_t*);

}  // namespace mluop::reference
