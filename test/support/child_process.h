// Child processes of tests.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace mluop::test {

// A user without privileges.
inline constexpr uid_t kNobody = 65534;

// The exit status of a child process that runs `body`; a child that hangs is killed.
template <class Body>
int exit_status_of_child(const Body& body) {
  constexpr unsigned kTimeoutSeconds = 60;
  const pid_t child = fork();
  if (child == 0) {
    alarm(kTimeoutSeconds);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Sets a limit of this process, to its hard limit if that is lower. Returns whether it succeeded.
inline bool set_limit(decltype(RLIMIT_AS) resource, rlim_t value) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return false;
  limit.rlim_cur = std::min(value, limit.rlim_max);
  return setrlimit(resource, &limit) == 0;
}

}  // namespace mluop::test
