// The multi-core split of the design documents: `total` work items over `task_dim` tasks, contiguous,
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

// Divides `count` work items into contiguous ranges, so that tasks get equal shares of the cost, as far as whole
// items allow. cost_before(i): the cost of all items before i, non-decreasing. Every item has a task.
template <class CostBefore>
Range split_cost(int64_t count, int task_dim, int task_id, const CostBefore& cost_before) {
  // The first item before which the cost is at least `share`.
  const auto boundary = [&](int64_t share) {
    int64_t low = 0;
    int64_t high = count;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (cost_before(middle) < share) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  const Range shares = split(cost_before(count), task_dim, task_id);
  return {task_id == 0 ? 0 : boundary(shares.begin), task_id == task_dim - 1 ? count : boundary(shares.end)};
}

}  // namespace mluop
