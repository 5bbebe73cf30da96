// Who takes the next number, where tasks take work as they get to it: on a machine with a core for each task the
// one that has done least so far, while here a few cores run them all.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <semaphore>

namespace mluop::perf {

// The turns of one launch. Every task has a thread of its own, and reports to leave() at its end.
class Turns {
 public:
  explicit Turns(int tasks) : tasks_(static_cast<size_t>(tasks)), running_(tasks) {}

  // Returns when all tasks have come to a wait, or have left, and none of them has done less work.
  void wait(int task, int64_t work);

  void leave();

 private:
  struct Waiter {
    int64_t work = 0;
    bool waiting = false;
    std::binary_semaphore turn{0};
  };

  void give_turn();

  std::mutex mutex_;
  std::deque<Waiter> tasks_;
  int running_;
};

}  // namespace mluop::perf
