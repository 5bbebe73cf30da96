#include "case/jobs.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>

#include "case/past_run.h"
#include "case/report.h"

namespace mluop::cases {
namespace {

// A process that runs a case and writes a line of JSON for each outcome.
struct Job {
  size_t position;
  pid_t process;
  int pipe;
  std::string lines = {};
};

[[noreturn]] void run_child(const std::string& file, const RunOptions& options, int pipe, pid_t parent) {
  // Ends with its parent process, even if the parent is killed.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(1);
  int status = 0;
  try {
    run_file(file, options, [&](const Outcome& outcome) {
      const std::string line = json_line(outcome) + '\n';
      for (size_t sent = 0; sent < line.size();) {
        const ssize_t bytes = write(pipe, line.data() + sent, line.size() - sent);
        if (bytes < 0 && errno != EINTR) _exit(1);
        sent += static_cast<size_t>(std::max<ssize_t>(bytes, 0));
      }
    });
  } catch (...) {
    status = 1;
  }
  _exit(status);
}

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string end_of(int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return "signal " + std::to_string(number) + " (" + strsignal(number) + ')';
  }
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

class Jobs {
 public:
  Jobs(const std::vector<std::string>& files, const RunOptions& options, const JobReport& report)
      : files_(files), options_(options), report_(report) {}
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;
  ~Jobs() {
    for (const Job& job : running_) {
      kill(job.process, SIGKILL);
      wait_for(job.process);
      close(job.pipe);
    }
  }

  size_t running() const { return running_.size(); }

  // Returns false if the system cannot start a process now.
  bool start(size_t position) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return false;
    // Flushes, because the child must not write the buffered output again.
    std::cout.flush();
    const pid_t parent = getpid(), process = fork();
    if (process == 0) {
      close(ends[0]);
      for (const Job& job : running_) close(job.pipe);
      run_child(files_[position], options_, ends[1], parent);
    }
    close(ends[1]);
    if (process < 0) {
      close(ends[0]);
      return false;
    }
    running_.push_back({position, process, ends[0]});
    return true;
  }

  // Waits until a process writes or ends.
  void advance() {
    std::vector<pollfd> pipes;
    for (const Job& job : running_) pipes.push_back({.fd = job.pipe, .events = POLLIN, .revents = 0});
    if (poll(pipes.data(), pipes.size(), -1) < 0) return;
    for (size_t i = pipes.size(); i > 0; --i) {
      if (pipes[i - 1].revents == 0) continue;
      std::array<char, 65536> buffer{};
      const ssize_t bytes = read(pipes[i - 1].fd, buffer.data(), buffer.size());
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes > 0) {
        running_[i - 1].lines.append(buffer.data(), static_cast<size_t>(bytes));
        continue;
      }
      const Job job = std::move(running_[i - 1]);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i - 1));
      close(job.pipe);
      end(job, wait_for(job.process));
    }
  }

 private:
  void end(const Job& job, int status) const {
    std::vector<Outcome> outcomes;
    for (size_t begin = 0, newline; (newline = job.lines.find('\n', begin)) != std::string::npos;
         begin = newline + 1) {
      outcomes.push_back(outcome_of_json(job.lines.substr(begin, newline - begin)));
      // JSON replaces bytes that are not UTF-8.
      outcomes.back().file = files_[job.position];
    }
    if (status != 0 || outcomes.empty()) {
      Outcome lost{.file = files_[job.position], .status = Status::kFailed};
      lost.message = "the process that ran the case ended with " + end_of(status);
      if (!outcomes.empty()) lost.op = outcomes.front().op;
      if (outcomes.size() < options_.algorithms.size()) lost.algorithm = options_.algorithms[outcomes.size()];
      outcomes.push_back(lost);
    }
    report_(job.position, outcomes);
  }

  const std::vector<std::string>& files_;
  const RunOptions& options_;
  const JobReport& report_;
  std::vector<Job> running_;
};

}  // namespace

void run_jobs(const std::vector<std::string>& files, const std::vector<size_t>& positions,
              const RunOptions& options, size_t jobs, const JobReport& report) {
  Jobs all(files, options, report);
  for (size_t next = 0; next < positions.size() || all.running() > 0;) {
    if (next < positions.size() && all.running() < jobs) {
      if (all.start(positions[next])) {
        ++next;
        continue;
      }
      if (all.running() == 0) fail({}, std::string("cannot start a process: ") + std::strerror(errno));
    }
    all.advance();
  }
}

}  // namespace mluop::cases
