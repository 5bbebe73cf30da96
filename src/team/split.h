// The multi-core split of the operators' documents: `total` work items over `task_dim` tasks, contiguous,
// total / task_dim each, the first total % task_dim tasks one more.
#pragma once

#include <algorithm>
#include <cstdint>

namespace mluop {

// A half-open range of work items.
struct Range {
  int64_t begin;
  int64_t end;
  int64_t size() const { return end - begin; }
};

inline Range split(int64_t total, int task_dim, int task_id) {
  const int64_t share = total / task_dim;
  const int64_t rest = total % task_dim;
  const int64_t begin = share * task_id + std::min<int64_t>(task_id, rest);
  return {begin, begin + share + (task_id < rest ? 1 : 0)};
}

}  // namespace mluop
