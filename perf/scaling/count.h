// Counts what an operator does, task by task, where to time it would need a machine of as many cores.
//
// The program links the library's objects compiled with -fsanitize=thread, by which a compiler calls a function at
// every access to memory and every atomic; the functions here count them instead of looking for races. So the
// figures are of the library's own code, at any number of tasks, and the same on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace mluop::perf {

struct Counts {
  int64_t read_bytes = 0, written_bytes = 0;  // of memory that tasks share, in whatever cache it is
  int64_t scratch_bytes = 0;                  // of NRAM and the stack, either way
  int64_t atomics = 0;                        // that update memory

  int64_t work() const { return read_bytes + written_bytes + scratch_bytes; }
  Counts& operator+=(const Counts& other);
};

struct Recording {
  Counts serial;                              // of the calling thread between launches
  std::vector<std::vector<Counts>> launches;  // each by task
};

// Calls `call` and records what the library does in it. Not for several threads at once.
Recording record(const std::function<void()>& call);

}  // namespace mluop::perf
