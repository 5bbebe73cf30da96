#include "team/startable_threads.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace mluop {
namespace {

// Threads that exist at the same time: each creates the next and waits for its end. Needs no other memory.
struct Chain {
  int wanted;
  const pthread_attr_t* attributes;
  int created = 0;
};

struct Link {
  Chain& chain;
  pid_t id = 0;
};

// Runtimes add an offset to the default stack size (libomp), and allocate the state of threads and teams.
constexpr size_t kStackMargin = 1 << 20, kStateOfTeam = 1 << 20, kStateOfThread = 256 << 10;

void* run_link(void* opaque);

// The system still counts a thread for a moment after pthread_join has returned, and would refuse a thread of the
// runtime instead. Waits until the system has forgotten the thread; bounded, because its number may be given to
// another thread.
void join(pthread_t thread, const Link& link) {
  constexpr int kYields = 10000;
  pthread_join(thread, nullptr);
  for (int i = 0; i < kYields && tgkill(getpid(), link.id, 0) == 0; ++i) sched_yield();
}

void create_next(Chain& chain) {
  pthread_t next;
  Link link{chain};
  if (chain.created < chain.wanted && pthread_create(&next, chain.attributes, run_link, &link) == 0)
    join(next, link);
}

void* run_link(void* opaque) {
  Link& link = *static_cast<Link*>(opaque);
  link.id = gettid();
  ++link.chain.created;
  create_next(link.chain);
  return nullptr;
}

// The number of threads, out of `wanted`, that the system creates.
int create_threads(int wanted) {
  // Never touched: only reserves address space.
  const std::unique_ptr<std::byte[]> state(
      new (std::nothrow) std::byte[kStateOfTeam + static_cast<size_t>(wanted) * kStateOfThread]);
  pthread_attr_t attributes;
  size_t stack = 0;
  if (state == nullptr || pthread_attr_init(&attributes) != 0) return 0;
  if (pthread_attr_getstacksize(&attributes, &stack) == 0)
    pthread_attr_setstacksize(&attributes, stack + kStackMargin);
  Chain chain{wanted, &attributes};
  create_next(chain);
  pthread_attr_destroy(&attributes);
  return chain.created;
}

// Number of threads granted to the calling thread: runtimes keep the threads of a team for the next team of the
// same thread.
thread_local int granted = 1;

}  // namespace

int startable_threads(int threads) noexcept {
  const bool nested = omp_get_active_level() >= omp_get_max_active_levels();
  const int wanted = nested ? 1 : std::min(threads, omp_get_thread_limit());
  if (wanted > granted) granted = std::max(granted, 1 + create_threads(wanted - 1));
  return std::min(threads, granted);
}

}  // namespace mluop
