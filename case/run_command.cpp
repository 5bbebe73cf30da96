#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>

#include "case/commands.h"
#include "case/jobs.h"
#include "case/past_run.h"
#include "case/read.h"
#include "case/report.h"

namespace mluop::cases {
namespace {

namespace fs = std::filesystem;

bool is_case(const fs::path& path) {
  return path.extension() == ".prototxt" || path.extension() == ".pb" || path.filename() == kFolderDescription;
}

// Whether one of the globs matches the path or its last part.
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
        // A path that is not a file, such as a broken link, is an invalid case.
        std::error_code error;
        if (!entry.is_directory(error) && is_case(entry.path())) found.push_back(entry.path().string());
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

// The innermost folder that contains all paths, regardless of the filters.
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

// A line on the terminal (stderr) that is rewritten for each case.
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

std::vector<std::string> part_of(const std::vector<std::string>& files, const Shard& shard) {
  std::vector<std::string> part;
  for (size_t i = shard.index - 1; i < files.size(); i += shard.count) part.push_back(files[i]);
  return part;
}

// The outcomes of a run whose cases end in any order. Prints them in the order of the cases.
class Outcomes {
 public:
  explicit Outcomes(size_t cases) : bar_(cases), of_case_(cases), state_(cases, State::kOpen) {}

  // Adds the outcomes of a case that is not run. They are not printed.
  void keep(size_t position, std::vector<Outcome> outcomes) {
    of_case_[position] = std::move(outcomes);
    close(position, State::kKept);
  }
  void show(const std::string& file) const {
    if (closed_ < state_.size()) bar_.show(closed_, file);
  }
  void add(size_t position, const Outcome& outcome) {
    of_case_[position].push_back(outcome);
    if (position == next_) print_one(outcome);
  }
  // Call it after the last outcome of a case.
  void end(size_t position) { close(position, State::kEnded); }

  // The positions of the cases that have not ended.
  std::vector<size_t> open() const {
    std::vector<size_t> positions;
    for (size_t i = 0; i < state_.size(); ++i) {
      if (state_[i] == State::kOpen) positions.push_back(i);
    }
    return positions;
  }
  std::vector<Outcome> all() const {
    std::vector<Outcome> outcomes;
    for (const auto& each : of_case_) outcomes.insert(outcomes.end(), each.begin(), each.end());
    return outcomes;
  }

 private:
  enum class State { kOpen, kKept, kEnded };

  void close(size_t position, State state) {
    state_[position] = state;
    ++closed_;
    while (next_ < state_.size() && state_[next_] != State::kOpen) {
      if (++next_ == state_.size() || state_[next_] == State::kKept) continue;
      for (const Outcome& outcome : of_case_[next_]) print_one(outcome);
    }
    if (closed_ == state_.size()) bar_.clear();
  }
  void print_one(const Outcome& outcome) const {
    bar_.clear();
    print(std::cout, outcome);
    std::cout << std::flush;
  }

  ProgressBar bar_;
  std::vector<std::vector<Outcome>> of_case_;
  std::vector<State> state_;
  // Number of closed cases, and the first open case.
  size_t closed_ = 0, next_ = 0;
};

// Keeps the outcomes of the cases that passed according to a report.
void keep_passed(const std::string& report, const RunOptions& options, const std::vector<std::string>& files,
                 Outcomes& outcomes) {
  const PastRun past(report, options);
  size_t kept = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    std::vector<Outcome> passed = past.passed(files[i]);
    if (passed.empty()) continue;
    outcomes.keep(i, std::move(passed));
    ++kept;
  }
  std::cout << kept << " of " << files.size() << " cases passed according to " << report << '\n' << std::flush;
}

}  // namespace

int run_command(const RunCommand& command) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const std::vector<std::string> whole = files_of(command), files = part_of(whole, command.shard);
  if (whole.empty()) fail({}, "no case found: expected files, or folders with .prototxt, .pb or case.json files");
  RunOptions options = command.options;
  if (!options.save_output.empty()) options.save_root = common_folder(command.paths);

  Outcomes outcomes(files.size());
  if (!command.resume.empty()) keep_passed(command.resume, options, files, outcomes);
  const std::vector<size_t> positions = outcomes.open();

  // Reports of shards have suites with different names.
  const Shard& shard = command.shard;
  const std::string part =
      shard.count == 1 ? "" : ' ' + std::to_string(shard.index) + '/' + std::to_string(shard.count);
  const std::string suite = "mluop_case" + part;
  // Fails before the cases run. If the run is killed, the file holds this outcome.
  const Outcome unfinished{
      .file = "mluop_case run" + part, .status = Status::kInvalid, .message = "the run did not end"};
  if (!command.junit.empty()) write_junit(command.junit, {unfinished}, suite);
  std::optional<JsonReport> json;
  if (!command.json.empty()) json.emplace(command.json, options, outcomes.all());
  const auto add = [&](size_t position, const Outcome& outcome) {
    if (json) json->add(outcome);
    outcomes.add(position, outcome);
  };
  if (command.jobs > 0) {
    if (!positions.empty()) outcomes.show(files[positions.front()]);
    run_jobs(files, positions, options, static_cast<size_t>(command.jobs),
             [&](size_t position, const std::vector<Outcome>& of_case) {
               for (const Outcome& outcome : of_case) add(position, outcome);
               outcomes.end(position);
               outcomes.show(files[position]);
             });
  } else {
    for (const size_t position : positions) {
      outcomes.show(files[position]);
      run_file(files[position], options, [&](const Outcome& outcome) { add(position, outcome); });
      outcomes.end(position);
    }
  }

  const std::vector<Outcome> all = outcomes.all();
  Summary summary;
  for (const Outcome& outcome : all) summary.add(outcome);
  print(std::cout, summary, std::chrono::duration<double>(Clock::now() - start).count());
  if (!command.junit.empty()) write_junit(command.junit, all, suite);
  if (json) {
    json->finish();
    const bool in_order = command.resume.empty() && command.jobs < 2;
    if (!in_order) json->rewrite(all);
  }
  return summary.exit_status();
}

}  // namespace mluop::cases
