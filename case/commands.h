// The commands of mluop_case. Each returns the exit status; Problem and other exceptions propagate.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "case/case_folder.h"
#include "case/runner.h"

namespace mluop::cases {

inline constexpr int kPassed = 0, kFailed = 1, kInvalid = 2;

// Part `index` (from 1) of the cases of a run.
struct Shard {
  size_t index = 1, count = 1;
};

struct RunCommand {
  std::vector<std::string> paths;    // files, and folders with cases at any depth
  std::vector<std::string> filters;  // globs of paths or file names; empty: all
  RunOptions options;
  std::string junit, json;
  Shard shard = {};
  std::string resume = {};  // the JSON report of an interrupted run
  int jobs = 0;             // cases at a time, each in a separate process; 0: one by one, in this process
};
int run_command(const RunCommand& command);

struct ShowCommand {
  std::string file;
  bool own_files = false;  // as in RunOptions
};
int show_command(const ShowCommand& command);

struct DiffCommand {
  std::string found, expected;  // raw files
  std::string dtype = "float";
  std::vector<int64_t> shape = {};  // empty: one dimension
  size_t worst = 5;
  // An element may differ by atol + rtol times its magnitude. Without both, bits must be equal.
  std::optional<double> rtol = {}, atol = {};
};
int diff_command(const DiffCommand& command);

struct NewCommand {
  std::string op;
  std::map<std::string, int64_t> sizes;
  std::string dtype;  // empty: the first data type of the operator
  int seed = 1;
  std::string output;  // empty: text to stdout
};
int new_command(const NewCommand& command);

struct ExportCommand {
  std::string file, folder;
  FolderFormat format = FolderFormat::kNpy;
  FolderResults results = FolderResults::kAll;
  bool own_files = false;  // as in RunOptions
};
int export_command(const ExportCommand& command);

struct ImportCommand {
  std::string folder;
  FolderSettings settings;
  std::string output;  // empty: text to stdout
};
int import_command(const ImportCommand& command);

struct ReduceCommand {
  std::string file;
  std::string output;  // empty: <file without extension>.reduced.prototxt
  RunOptions options;
};
int reduce_command(const ReduceCommand& command);

}  // namespace mluop::cases
