// Threads of the perf suite. The only file that uses OpenMP: bounds and baselines run on the same team as the
// library.
#pragma once

#include <omp.h>

#include <cstdint>

namespace mluop::machine {

// Threads of a team, in the suite and in the library. Default: OMP_NUM_THREADS.
inline int thread_count() { return omp_get_max_threads(); }
inline void set_thread_count(int threads) { omp_set_num_threads(threads); }

// Runs body(id) for each id in [0, threads), each on its own thread if OpenMP provides enough threads. body must
// not throw.
template <class Body>
void parallel(int threads, const Body& body) {
#pragma omp parallel num_threads(threads)
  for (int id = omp_get_thread_num(); id < threads; id += omp_get_num_threads()) body(id);
}

// Divides `total` work items over threads: thread `id` owns [share(total, threads, id), share(total, threads, id +
// 1)).
inline int64_t share(int64_t total, int threads, int64_t id) { return total * id / threads; }

// Runs body(i) for each i in [0, total); each of thread_count() threads runs consecutive values.
template <class Body>
void parallel_for(int64_t total, const Body& body) {
  const int threads = thread_count();
  parallel(threads, [&](int id) {
    const int64_t end = share(total, threads, id + 1);
    for (int64_t i = share(total, threads, id); i < end; ++i) body(i);
  });
}

}  // namespace mluop::machine
