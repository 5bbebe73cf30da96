// The commands of mluop_case. Each returns the exit status; Problem and other exceptions leave them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "case/runner.h"

namespace mluop::cases {

inline constexpr int kPassed = 0, kFailed = 1, kInvalid = 2;

struct RunCommand {
  std::vector<std::string> paths;    // files, and folders with cases at any depth
  std::vector<std::string> filters;  // globs of paths or file names; empty: all
  RunOptions options;
  std::string junit, json;
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
  // An element may differ by atol + rtol times its magnitude; neither: bits must be equal.
  std::optional<double> rtol = {}, atol = {};
};
int diff_command(const DiffCommand& command);

struct NewCommand {
  std::string op;
  std::map<std::string, int64_t> sizes;
  std::string dtype;  // empty: the first of the operator
  int seed = 1;
  std::string output;  // empty: text to stdout
};
int new_command(const NewCommand& command);

struct ReduceCommand {
  std::string file;
  std::string output;  // empty: <file without extension>.reduced.prototxt
  RunOptions options;
};
int reduce_command(const ReduceCommand& command);

}  // namespace mluop::cases
