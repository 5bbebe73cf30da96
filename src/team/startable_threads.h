// OpenMP runtimes end the process if they cannot create a thread of a team. This asks the system beforehand.
#pragma once

namespace mluop {

// The number of threads, 1 to `threads`, that a team of the calling thread may have. A request that exceeds all
// earlier requests of the calling thread creates as many threads at a time as a runtime would, about 20 us each,
// and ends them; the system may refuse some (RLIMIT_NPROC, RLIMIT_AS, cgroup pids). Granted threads are not
// requested again; refused threads are.
int startable_threads(int threads) noexcept;

}  // namespace mluop
