// Thread cancellation: API calls are not cancellation points. A cancellation requested during a call takes effect
// at the caller's next cancellation point; otherwise writing a log line would unwind the thread through noexcept
// functions. Cost: two system-library calls of a few nanoseconds.
#pragma once

#include <pthread.h>

namespace mluop {

// Disables the cancellation of the calling thread until the end of the scope.
class ScopedCancellationDisabled {
 public:
  ScopedCancellationDisabled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ScopedCancellationDisabled(const ScopedCancellationDisabled&) = delete;
  ScopedCancellationDisabled& operator=(const ScopedCancellationDisabled&) = delete;
  ~ScopedCancellationDisabled() { pthread_setcancelstate(before_, nullptr); }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace mluop
