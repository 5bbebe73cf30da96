#include "perf/scaling/turns.h"

namespace mluop::perf {

void Turns::wait(int task, int64_t work) {
  Waiter& waiter = tasks_[static_cast<size_t>(task)];
  {
    const std::scoped_lock lock(mutex_);
    waiter.work = work;
    waiter.waiting = true;
    --running_;
    give_turn();
  }
  waiter.turn.acquire();
}

void Turns::leave() {
  const std::scoped_lock lock(mutex_);
  --running_;
  give_turn();
}

void Turns::give_turn() {
  if (running_ > 0) return;
  Waiter* least = nullptr;
  for (Waiter& waiter : tasks_) {
    if (waiter.waiting && (least == nullptr || waiter.work < least->work)) least = &waiter;
  }
  if (least == nullptr) return;
  least->waiting = false;
  running_ = 1;
  least->turn.release();
}

}  // namespace mluop::perf
