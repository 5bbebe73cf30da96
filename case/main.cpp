// mluop_case: runs the operator cases of accelerator teams.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <exception>
#include <iostream>
#include <map>
#include <memory>

#include "case/commands.h"
#include "case/help_formatter.h"
#include "mlu_op_omp.h"

namespace mluop::cases {
namespace {

constexpr auto kDescription =
    "Runs operator cases: prototxt or pb files, as MLU-OPS teams exchange them, or case.json of a folder that\n"
    "export writes. Calls mluop-omp and compares its results with serial loops in double, and with results that\n"
    "the case states.";

constexpr auto kFooter =
    "Exit status:\n"
    "  0  All cases passed; diff: the files are equal, or equal within tolerance; reduce: a reduced case was "
    "written\n"
    "  1  A case failed; diff: the files differ\n"
    "  2  A case or the command line is invalid, or an output cannot be written; reduce: the case does not "
    "fail\n\n"
    "mluop_case COMMAND --help describes a command.";

std::vector<std::string> algorithms_of(const std::string& name) {
  if (name.empty()) return {};
  if (name == "both") return {"native", "device"};
  return {name};
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

class Commands {
 public:
  Commands() : app_(kDescription, "mluop_case") {
    app_.formatter(std::make_shared<HelpFormatter>());
    app_.footer(kFooter);
    app_.require_subcommand(1);
    add_run();
    add_show();
    add_diff();
    add_new();
    add_export();
    add_import();
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
    CLI::Option* repeat =
        command->add_option("--repeat", run_.options.repeat, "Print latency and efficiencies of N calls")
            ->type_name("N")
            ->check(CLI::Range(1, 1000000).description(""));
    command
        ->add_option("--jobs", run_.jobs,
                     "Run N cases at a time, each in a separate process with OMP_NUM_THREADS threads;\n"
                     "a crash fails only its case. Output and reports keep the order of the cases")
        ->type_name("N")
        ->check(CLI::Range(1, 1024).description(""))
        ->excludes(repeat);
    command->add_option("--shard", shard_, "Run part K of N: every Nth case, starting with the Kth")
        ->type_name("K/N");
    command
        ->add_option("--resume", run_.resume,
                     "Skip cases that passed according to the --json report of an interrupted run with the\n"
                     "same options; a missing FILE skips nothing. May be the FILE of --json")
        ->type_name("FILE");
    command->add_flag("--bits", run_.options.bits, "Require stated results bit for bit, except sums by atomics");
    command->add_option("--junit", run_.junit, "Write a JUnit XML report at the end of the run")
        ->type_name("FILE");
    command
        ->add_option("--json", run_.json,
                     "Write a JSON report, one line for each outcome as soon as it is known; a killed run\n"
                     "leaves complete lines without the final ]}")
        ->type_name("FILE");
    command
        ->add_option("--save-output", run_.options.save_output,
                     "Write the outputs as raw files, DIR/<folder>/<file name>.<algorithm>.<tensor>.bin;\n"
                     "<folder>: folder of the case, relative to the innermost folder of all FILE and DIR")
        ->type_name("DIR");
    command->callback([this] {
      chosen_ = [this] {
        if (!shard_.empty()) run_.shard = shard_of(shard_);
        return run_command(run_);
      };
    });
  }

  void add_run_options(CLI::App& command) {
    command
        .add_option("--algorithm", algorithm_, "native, device or both; default: as the case states, or native")
        ->type_name("NAME")
        ->check(CLI::IsMember({"native", "device", "both"}).description(""));
    command.add_option("--tasks", run_.options.tasks, "Tasks; default: as the case states, or OMP_NUM_THREADS")
        ->type_name("N")
        ->check(CLI::Range(1, 1024).description(""));
    command
        .add_option("--verdict", verdict_,
                    "strict (default), or upstream: with the allowances of MLU-OPS's runner")
        ->type_name("NAME")
        ->check(CLI::IsMember({"strict", "upstream"}).description(""));
    add_own_files(command, run_.options.own_files);
  }

  static void add_own_files(CLI::App& command, bool& own_files) {
    command.add_flag("--no-external-files", own_files,
                     "Reject a case that names a file outside its folder, even through symbolic links");
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
                     "Allow differences up to ATOL + RTOL |expected|; default: require equal bits")
        ->type_name("RTOL");
    command->add_option("--atol", diff_.atol, "Absolute part of the tolerance; default 0")->type_name("ATOL");
    command->callback([this] { chosen_ = [this] { return diff_command(diff_); }; });
  }

  void add_new() {
    CLI::App* command = app_.add_subcommand("new", "Write a case with random inputs");
    command->add_option("operator", new_.op, "The operator, e.g. ball_query")->type_name("OP")->required();
    command
        ->add_option("--size", sizes_,
                     "Sizes, e.g. num_points=100,num_channels=8; an unknown name lists all names")
        ->type_name("NAME=N,...")
        ->delimiter(',');
    command
        ->add_option("--dtype", new_.dtype,
                     "float, half or bfloat16; default: the first that the operator accepts")
        ->type_name("NAME");
    command->add_option("--seed", new_.seed, "Seed of the inputs; default 1")
        ->type_name("N")
        ->check(CLI::Range(1, 1000000000).description(""));
    command->add_option("--output", new_.output, "File, binary if its name ends in .pb; default: text to stdout")
        ->type_name("FILE");
    command->callback([this] {
      chosen_ = [this] {
        for (const std::string& text : sizes_) {
          const auto [name, value] = named(text, "size");
          new_.sizes[name] = number_of(text, value, "size", "NAME=N with N from 0 to 2147483647", 0);
        }
        return new_command(new_);
      };
    });
  }

  // The parts of "NAME=VALUE".
  static std::pair<std::string, std::string> named(const std::string& text, const std::string& what) {
    const size_t equals = text.find('=');
    if (equals == text.npos || equals == 0) fail({}, "invalid " + what + " '" + text + "': expected NAME=VALUE");
    return {text.substr(0, equals), text.substr(equals + 1)};
  }

  // A number of an option, from `lowest` to the largest int32.
  static int64_t number_of(const std::string& option, const std::string& text, const std::string& what,
                           const std::string& expected, int64_t lowest) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < lowest || value > INT32_MAX) {
      fail({}, "invalid " + what + " '" + option + "': expected " + expected);
    }
    return value;
  }

  static Shard shard_of(const std::string& text) {
    const std::string expected = "K/N with K from 1 to N";
    const size_t slash = text.find('/');
    const std::string count = slash == text.npos ? "" : text.substr(slash + 1);
    const int64_t K = number_of(text, text.substr(0, slash), "shard", expected, 1);
    const int64_t N = number_of(text, count, "shard", expected, K);
    return {static_cast<size_t>(K), static_cast<size_t>(N)};
  }

  void add_export() {
    CLI::App* command = app_.add_subcommand(
        "export", "Write a case into a folder: a file for each tensor, and case.json, which describes them");
    command->add_option("file", export_.file, "The case")->type_name("FILE")->required();
    command->add_option("folder", export_.folder, "The folder; created if it does not exist")
        ->type_name("DIR")
        ->required();
    command->add_option("--format", format_, "npy (default): files of NumPy; bin+json: raw little-endian elements")
        ->type_name("NAME")
        ->check(CLI::IsMember({"npy", "bin+json"}).description(""));
    command
        ->add_option("--results", results_,
                     "Results of the outputs: stated (by the case), oracle or none. Default: stated results,\n"
                     "and the oracle's results for all other outputs")
        ->type_name("NAME")
        ->check(CLI::IsMember({"stated", "oracle", "none"}).description(""));
    add_own_files(*command, export_.own_files);
    command->callback([this] {
      chosen_ = [this] {
        if (format_ == "bin+json") export_.format = FolderFormat::kRaw;
        if (results_ == "stated") export_.results = FolderResults::kStated;
        if (results_ == "oracle") export_.results = FolderResults::kOracle;
        if (results_ == "none") export_.results = FolderResults::kNone;
        return export_command(export_);
      };
    });
  }

  void add_import() {
    CLI::App* command = app_.add_subcommand(
        "import", "Write a case from a folder written by export, or from a file TENSOR.npy for each input");
    command->add_option("folder", import_.folder, "The folder")->type_name("DIR")->required();
    command
        ->add_option("operator", import_.settings.op,
                     "The operator, e.g. ball_query; default: as case.json states")
        ->type_name("OP");
    command
        ->add_option("--output", import_.output, "File, binary if its name ends in .pb; default: text to stdout")
        ->type_name("FILE");
    const auto add_pairs = [&](const char* name, std::vector<std::string>& texts, const char* description,
                               const char* type) {
      command->add_option(name, texts, description)->type_name(type)->allow_extra_args(false);
    };
    add_pairs("--set", parameters_, "A parameter, e.g. nsample=16 or stride=1,2,2; repeatable", "NAME=VALUE");
    add_pairs("--shape", shapes_, "Shape of an output that does not follow from the inputs, e.g. idx=2,64",
              "TENSOR=N,...");
    add_pairs("--layout", layouts_, "Layout of a tensor, e.g. filters=NCDHW", "TENSOR=NAME");
    command->callback([this] {
      chosen_ = [this] {
        set_import();
        return import_command(import_);
      };
    });
  }

  void set_import() {
    FolderSettings& settings = import_.settings;
    for (const std::string& text : parameters_) {
      const auto [name, value] = named(text, "parameter");
      settings.parameters[name] = split(value);
    }
    for (const std::string& text : shapes_) {
      const auto [name, value] = named(text, "shape");
      Dims& dims = settings.shapes[name];
      for (const std::string& extent : split(value)) {
        dims.push_back(number_of(text, extent, "shape", "TENSOR=N,... with N from 0 to 2147483647", 0));
      }
    }
    for (const std::string& text : layouts_) {
      const auto [name, value] = named(text, "layout");
      settings.layouts[name] = value;
    }
  }

  void add_reduce() {
    CLI::App* command = app_.add_subcommand("reduce", "Write the smallest part of a case that still fails");
    command->add_option("file", reduce_.file, "The case")->type_name("FILE")->required();
    command
        ->add_option("--output", reduce_.output, "Output file; default: FILE with the extension .reduced.prototxt")
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
  ExportCommand export_;
  ImportCommand import_;
  ReduceCommand reduce_;
  std::string algorithm_, verdict_ = "strict", shard_, format_, results_;
  std::vector<std::string> sizes_, parameters_, shapes_, layouts_;
};

// A file must not get the descriptor of a standard stream that the caller has closed. Writing to these streams
// fails.
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
