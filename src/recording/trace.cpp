#include "recording/trace.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <locale>
#include <map>
#include <mutex>

#include "core/log.h"
#include "core/text.h"

namespace mluop {
namespace {

// Threads of the trace: calls and launches are on thread 0, the tasks of OpenMP thread t on thread t + 1.
constexpr int kCallThread = 0;

// Child processes of fork() share the environment, and the file offsets, of this process.
const pid_t loading_process = getpid();

std::string expand(std::string name) {
  const std::string pid = std::to_string(getpid());
  if (getpid() != loading_process && name.find("%p") == name.npos) name += ".%p";
  for (size_t at = name.find("%p"); at != name.npos; at = name.find("%p", at + pid.size()))
    name.replace(at, 2, pid);
  return name;
}

// Microseconds with three decimals, in every locale.
std::string microseconds_text(double us) {
  std::array<char, 64> digits;
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), us, std::chars_format::fixed, 3);
  return error == std::errc{} ? std::string(digits.data(), end) : "0";
}

std::string event(std::string_view name, int thread, double start_us, double duration_us,
                  const std::string& args) {
  return text(R"({"name":")", name, R"(","ph":"X","pid":)", getpid(), R"(,"tid":)", thread, R"(,"ts":)",
              microseconds_text(start_us), R"(,"dur":)", microseconds_text(duration_us), R"(,"args":{)", args,
              "}}");
}

std::string task_args(int id, const TaskStatistics& task) {
  return text(R"("taskId":)", id, R"(,"first_item":)", task.first_item, R"(,"items":)", task.item_count,
              R"(,"tiles":)", task.tiles, R"(,"bytes_loaded":)", task.bytes_loaded, R"(,"bytes_stored":)",
              task.bytes_stored, R"(,"atomics":)", task.atomics, R"(,"atomic_elements":)", task.atomic_elements,
              R"(,"contended":)", task.contended, R"(,"nram_bytes":)", task.nram_bytes);
}

std::string events_of(std::string_view function, const std::string& tensors, const CallStatistics& statistics) {
  const double origin = statistics.call_start_us();
  std::string events =
      event(function, kCallThread, origin, statistics.now_us(), text(R"("tensors":")", tensors, R"(")"));
  for (const LaunchStatistics& launch : statistics.launches()) {
    const auto& l = launch.launch;
    events += ",\n" + event(l.kernel, kCallThread, origin + l.start_us, l.duration_us,
                            text(R"("taskDim":)", l.task_dim, R"(,"threads":)", l.threads));
    for (size_t id = 0; id < launch.tasks.size(); ++id) {
      const TaskStatistics& task = launch.tasks[id];
      events += ",\n" + event(l.kernel, task.thread + 1, origin + task.start_us, task.duration_us,
                              task_args(static_cast<int>(id), task));
    }
  }
  return events;
}

struct TraceFile {
  std::fstream out;
  bool failed = false;  // writing failed and was reported
};

// Never destroyed: calls may end while the process exits.
std::map<std::string, TraceFile>& open_files() {
  static auto* const files = new std::map<std::string, TraceFile>();
  return *files;
}

// The closing bracket, which the next call overwrites.
constexpr std::string_view kEnd = "\n]\n";

}  // namespace

void append_to_trace(const std::string& file, std::string_view function, const std::string& tensors,
                     const CallStatistics& statistics) {
  static std::mutex mutex;
  const std::string events = events_of(function, tensors, statistics);
  const std::string name = expand(file);
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = open_files().try_emplace(name);
  auto& [out, failed] = entry->second;
  if (failed) return;
  if (is_new) {
    try {
      out.imbue(std::locale::classic());
      out.open(name, std::ios::in | std::ios::out | std::ios::trunc);
    } catch (...) {
      // The next call tries again.
      open_files().erase(entry);
      throw;
    }
    out << "[\n";
  } else {
    out.clear();
    out.seekp(-static_cast<std::streamoff>(kEnd.size()), std::ios::end);
    out << ",\n";
  }
  out << events << kEnd << std::flush;
  failed = !out;
  if (failed) log_error(text("MLUOP_OMP_TRACE: cannot write ", name));
}

}  // namespace mluop
