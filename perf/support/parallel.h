// Threads of the perf suite, the only place where it touches OpenMP: limits are measured on the very team that
// the library uses.
#pragma once

#include <omp.h>

#include <cstdint>

namespace mluop::perf {

// The size of a team, of the library as well: OMP_NUM_THREADS, until it is set.
inline int thread_count() { return omp_get_max_threads(); }
inline void set_thread_count(int threads) { omp_set_num_threads(threads); }

// The most threads that OpenMP ever gives: OMP_THREAD_LIMIT.
inline int thread_limit() { return omp_get_thread_limit(); }

// Runs body(id) for each id in [0, threads), each on a thread of its own if OpenMP gives so many. body does not
// throw.
template <class Body>
void parallel(int threads, const Body& body) {
#pragma omp parallel num_threads(threads)
  for (int id = omp_get_thread_num(); id < threads; id += omp_get_num_threads()) body(id);
}

// The first of `total` items that belongs to thread `id`; those of the last thread end at share(total, n, n).
inline int64_t share(int64_t total, int threads, int64_t id) { return total * id / threads; }

}  // namespace mluop::perf
