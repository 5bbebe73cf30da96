#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>

#include "case/commands.h"
#include "case/read.h"
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
        // A link that leads nowhere is an invalid case.
        std::error_code error;
        if ((entry.is_regular_file(error) || error) && is_case(entry.path()))
          found.push_back(entry.path().string());
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

// The innermost folder that contains all paths, whichever cases the filters select.
std::string common_folder(const std::vector<std::string>& paths) {
  std::optional<fs::path> common;
  for (const std::string& path : paths) {
    const fs::path folder = fs::is_directory(path) ? fs::canonical(path) : folder_of(path);
    if (!common) common = folder;
    const auto end = std::mismatch(common->begin(), common->end(), folder.begin(), folder.end()).first;
    fs::path both;
    for (auto part = common->begin(); part != end; ++part) both /= *part;
    common = both;
  }
  return common->string();
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
  RunOptions options = command.options;
  if (!options.save_output.empty()) options.save_root = common_folder(command.paths);
  // Fails before the cases run. The file holds this outcome if the run is killed.
  const Outcome unfinished{.file = "mluop_case run", .status = Status::kInvalid, .message = "the run did not end"};
  if (!command.junit.empty()) write_junit(command.junit, {unfinished});
  std::optional<JsonReport> json;
  if (!command.json.empty()) json.emplace(command.json);
  std::vector<Outcome> outcomes;
  Summary summary;
  const ProgressBar bar(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    bar.show(i, files[i]);
    run_file(files[i], options, [&](const Outcome& outcome) {
      bar.clear();
      print(std::cout, outcome);
      std::cout << std::flush;
      summary.add(outcome);
      if (json) json->add(outcome);
      outcomes.push_back(outcome);
    });
  }
  bar.clear();
  print(std::cout, summary, std::chrono::duration<double>(Clock::now() - start).count());
  if (!command.junit.empty()) write_junit(command.junit, outcomes);
  if (json) json->finish();
  return summary.exit_status();
}

}  // namespace mluop::cases
