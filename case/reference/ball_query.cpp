#include "reference/ball_query.h"

#include <algorithm>

#include "reference/squared_distance.h"

namespace mluop::reference {

template <class T>
void ball_query(const BallQueryProblem& problem, const T* new_xyz, const T* xyz, int32_t* idx) {
  const float min2 = problem.min_radius * problem.min_radius, max2 = problem.max_radius * problem.max_radius;
  for (int64_t center = 0; center < problem.B * problem.M; ++center) {
    const T* points = xyz + center / problem.M * problem.N * 3;
    int32_t* row = idx + center * problem.nsample;
    int64_t count = 0;
    for (int64_t n = 0; n < problem.N && count < problem.nsample; ++n) {
      const auto d2 = squared_distance(new_xyz + center * 3, points + n * 3);
      const bool member = d2 == 0 || (d2 >= min2 && d2 < max2);
      if (!member) continue;
      if (count == 0) std::fill_n(row, problem.nsample, static_cast<int32_t>(n));
      row[count++] = static_cast<int32_t>(n);
    }
  }
}

template void ball_query(const BallQueryProblem&, const float*, const float*, int32_t*);
template void ball_query(const BallQueryProblem&, const Half*, const Half*, int32_t*);

}  // namespace mluop::reference
