// mluop_case: runs the operator cases of accelerator teams.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <exception>
#include <iostream>

#include "case/commands.h"
#include "mlu_op_omp.h"

namespace mluop::cases {
namespace {

constexpr auto kDescription =
    "Runs operator cases, one prototxt or pb file each, as MLU-OPS teams exchange them: calls mluop-omp and\n"
    "compares its results with those of serial loops in double, and with results that the case states.";

constexpr auto kFooter =
    "Exit status:\n"
    "  0  All cases passed; for diff: the files are equal, or as near as required; for reduce: a reduced case was "
    "written\n"
    "  1  A case failed; for diff: the files differ\n"
    "  2  A case or the command line is invalid, or an output cannot be written; for reduce: the case does not\n"
    "     fail\n\n"
    "mluop_case COMMAND --help describes a command.";

std::vector<std::string> algorithms_of(const std::string& name) {
  if (name.empty()) return {};
  if (name == "both") return {"native", "device"};
  return {name};
}

class Commands {
 public:
  Commands() : app_(kDescription, "mluop_case") {
    app_.footer(kFooter);
    app_.require_subcommand(1);
    add_run();
    add_show();
    add_diff();
    add_new();
    add_reduce();
  }

  int run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app_.exit(error) == 0 ? kPassed : kInvalid;
    }
    run_.options.algorithms = algorithms_of(algorithm_);
    run_.options.verdict = verdict_ == "upstream" ? Verdict::kUpstream : Verdict::kStrict;
    reduce_.options = run_.options;
    return chosen_();
  }

 private:
  void add_run() {
    CLI::App* command = app_.add_subcommand("run", "Run cases and compare their results");
    command->add_option("paths", run_.paths, "Case files, and folders of them at any depth")
        ->type_name("FILE|DIR")
        ->required()
        ->check(CLI::ExistingPath.description(""));
    command->add_option("--filter", run_.filters, "Run the cases whose path or file name matches; repeatable")
        ->type_name("GLOB")
        ->allow_extra_args(false);
    add_run_options(*command);
    command->add_option("--repeat", run_.options.repeat, "Print latency and efficiencies of N calls")
        ->type_name("N")
        ->check(CLI::Range(1, 1000000).description(""));
    command->add_flag("--bits", run_.options.bits,
                      "Require the bits of stated results, except of sums by atomics");
    command->add_option("--junit", run_.junit, "Write a report in JUnit XML, at the end of the run")
        ->type_name("FILE");
    command
        ->add_option("--json", run_.json,
                     "Write a report in JSON, one line for each outcome as it is known; a run that is\n"
                     "killed leaves the complete lines, without the ]} that ends the list")
        ->type_name("FILE");
    command
        ->add_option("--save-output", run_.options.save_output,
                     "Write the outputs as raw files, DIR/<folder>/<file name>.<algorithm>.<tensor>.bin;\n"
                     "<folder>: of the case, in the innermost folder that contains all FILE and DIR")
        ->type_name("DIR");
    command->callback([this] { chosen_ = [this] { return run_command(run_); }; });
  }

  void add_run_options(CLI::App& command) {
    command
        .add_option("--algorithm", algorithm_, "native, device or both; default: that of the case, else native")
        ->type_name("NAME")
        ->check(CLI::IsMember({"native", "device", "both"}).description(""));
    command.add_option("--tasks", run_.options.tasks, "Tasks; default: those of the case, else OMP_NUM_THREADS")
        ->type_name("N")
        ->check(CLI::Range(1, 1024).description(""));
    command
        .add_option("--verdict", verdict_, "strict (default): no allowances; upstream: those of MLU-OPS's runner")
        ->type_name("NAME")
        ->check(CLI::IsMember({"strict", "upstream"}).description(""));
    add_own_files(command, run_.options.own_files);
  }

  static void add_own_files(CLI::App& command, bool& own_files) {
    command.add_flag("--no-external-files", own_files,
                     "Reject a case that names a file outside its folder, also through symbolic links");
  }

  void add_show() {
    CLI::App* command = app_.add_subcommand("show", "Print operator, tensors, parameters and criteria of a case");
    command->add_option("file", show_.file, "The case")->type_name("FILE")->required();
    add_own_files(*command, show_.own_files);
    command->callback([this] { chosen_ = [this] { return show_command(show_); }; });
  }

  void add_diff() {
    CLI::App* command =
        app_.add_subcommand("diff", "Compare two raw files: figures, the worst elements and their pattern");
    command->add_option("found", diff_.found, "The evaluated result")->type_name("FILE")->required();
    command->add_option("expected", diff_.expected, "The baseline")->type_name("FILE")->required();
    command->add_option("--dtype", diff_.dtype, "float (default), half, int32, ...")->type_name("NAME");
    command->add_option("--shape", diff_.shape, "Dimensions, e.g. 2,8,8,64")->type_name("N,...")->delimiter(',');
    command->add_option("--worst", diff_.worst, "Number of elements to print; default 5")
        ->type_name("N")
        ->check(CLI::Range(0, 1000).description(""));
    command
        ->add_option("--rtol", diff_.rtol,
                     "Allow differences up to ATOL + RTOL |expected|; default: bits are equal")
        ->type_name("RTOL");
    command->add_option("--atol", diff_.atol, "The absolute part; default 0")->type_name("ATOL");
    command->callback([this] { chosen_ = [this] { return diff_command(diff_); }; });
  }

  void add_new() {
    CLI::App* command = app_.add_subcommand("new", "Write a case with random inputs");
    command->add_option("operator", new_.op, "The operator, e.g. ball_query")->type_name("OP")->required();
    command->add_option("--size", sizes_, "Sizes, e.g. num_points=100,num_channels=8; an unknown name lists them")
        ->type_name("NAME=N,...")
        ->delimiter(',');
    command->add_option("--dtype", new_.dtype, "float or half; default: the first that the operator accepts")
        ->type_name("NAME");
    command->add_option("--seed", new_.seed, "Seed of the inputs; default 1")
        ->type_name("N")
        ->check(CLI::Range(1, 1000000000).description(""));
    command->add_option("--output", new_.output, "File, binary if it ends in .pb; default: text to stdout")
        ->type_name("FILE");
    command->callback([this] {
      chosen_ = [this] {
        for (const std::string& size : sizes_) add_size(size);
        return new_command(new_);
      };
    });
  }

  void add_size(const std::string& text) {
    const size_t equals = text.find('=');
    char* end = nullptr;
    const int64_t value = equals == text.npos ? -1 : std::strtoll(text.c_str() + equals + 1, &end, 10);
    if (value < 0 || value > INT32_MAX || end == text.c_str() + equals + 1 || *end != '\0') {
      fail({}, "invalid size '" + text + "': expected NAME=N with N from 0 to 2147483647");
    }
    new_.sizes[text.substr(0, equals)] = value;
  }

  void add_reduce() {
    CLI::App* command = app_.add_subcommand("reduce", "Write the smallest part of a case that still fails");
    command->add_option("file", reduce_.file, "The case")->type_name("FILE")->required();
    command->add_option("--output", reduce_.output, "File; default: FILE with the extension .reduced.prototxt")
        ->type_name("FILE");
    add_run_options(*command);
    command->callback([this] { chosen_ = [this] { return reduce_command(reduce_); }; });
  }

  CLI::App app_;
  std::function<int()> chosen_;
  RunCommand run_;
  ShowCommand show_;
  DiffCommand diff_;
  NewCommand new_;
  ReduceCommand reduce_;
  std::string algorithm_, verdict_ = "strict";
  std::vector<std::string> sizes_;
};

// A file must not get the descriptor of a standard stream that the caller has closed. Writing to these fails.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) == -1) static_cast<void>(open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
}

}  // namespace
}  // namespace mluop::cases

int main(int argc, char** argv) {
  // Failures of calls are part of the report.
  mluOpOmpSetDefaultLogLevel("off");
  mluop::cases::occupy_standard_streams();
  try {
    const int status = mluop::cases::Commands().run(argc, argv);
    std::cout.flush();
    if (!std::cout) mluop::cases::fail({}, "cannot write standard output");
    return status;
  } catch (const std::exception& error) {
    std::cerr << "mluop_case: " << error.what() << '\n';
    return mluop::cases::kInvalid;
  }
}
