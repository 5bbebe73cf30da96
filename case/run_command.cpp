#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>

#include "case/commands.h"
#include "case/report.h"

namespace mluop::cases {
namespace {

namespace fs = std::filesystem;

bool is_case(const fs::path& path) { return path.extension() == ".prototxt" || path.extension() == ".pb"; }

// One of the globs matches the path, or its last part.
bool matches(const std::vector<std::string>& filters, const fs::path& path) {
  const auto matches_one = [&](const std::string& filter) {
    return fnmatch(filter.c_str(), path.c_str(), 0) == 0 ||
           fnmatch(filter.c_str(), path.filename().c_str(), 0) == 0;
  };
  return filters.empty() || std::any_of(filters.begin(), filters.end(), matches_one);
}

std::vector<std::string> files_of(const RunCommand& command) {
  std::vector<std::string> files;
  for (const std::string& path : command.paths) {
    std::vector<std::string> found;
    if (fs::is_directory(path)) {
      for (const auto& entry : fs::recursive_directory_iterator(path)) {
        if (entry.is_regular_file() && is_case(entry.path())) found.push_back(entry.path().string());
      }
      std::sort(found.begin(), found.end());
    } else {
      found.push_back(path);
    }
    for (std::string& file : found) {
      if (matches(command.filters, file)) files.push_back(std::move(file));
    }
  }
  return files;
}

// One line of a terminal on stderr that is rewritten for each case.
class ProgressBar {
 public:
  explicit ProgressBar(size_t total) : total_(total), shown_(isatty(STDERR_FILENO) != 0 && total > 1) {}
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { clear(); }

  void show(size_t done, const std::string& file) const {
    if (!shown_) return;
    constexpr size_t kWidth = 30, kNameWidth = 40;
    const size_t filled = kWidth * done / total_;
    const std::string name = file.size() > kNameWidth ? "..." + file.substr(file.size() - kNameWidth) : file;
    std::cerr << "\r\033[K[" << std::string(filled, '#') << std::string(kWidth - filled, '.') << "] " << done
              << '/' << total_ << ' ' << name << std::flush;
  }
  void clear() const {
    if (shown_) std::cerr << "\r\033[K" << std::flush;
  }

 private:
  size_t total_;
  bool shown_;
};

}  // namespace

int run_command(const RunCommand& command) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const std::vector<std::string> files = files_of(command);
  if (files.empty()) fail({}, "no case found: expected files, or folders with .prototxt or .pb files");
  // Fails before the cases run.
  if (!command.junit.empty()) write_junit(command.junit, {});
  if (!command.json.empty()) write_json(command.json, {});
  std::vector<Outcome> outcomes;
  Summary summary;
  const ProgressBar bar(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    bar.show(i, files[i]);
    for (Outcome& outcome : run_file(files[i], command.options)) {
      bar.clear();
      print(std::cout, outcome);
      summary.add(outcome);
      outcomes.push_back(std::move(outcome));
    }
    std::cout << std::flush;
  }
  bar.clear();
  print(std::cout, summary, std::chrono::duration<double>(Clock::now() - start).count());
  if (!command.junit.empty()) write_junit(command.junit, outcomes);
  if (!command.json.empty()) write_json(command.json, outcomes);
  return summary.exit_status();
}

}  // namespace mluop::cases
