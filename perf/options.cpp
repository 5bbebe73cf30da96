#include "perf/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>

#include "case/help_formatter.h"
#include "perf/support/measures.h"

namespace mluop::perf {
namespace {

constexpr int kMaxThreads = 1024;
constexpr double kMaxSize = 64;

constexpr auto kDescription =
    "Measures the operators of mluop-omp and the bounds of their latency on this machine. Verifies each\n"
    "result before timing it. Interleaves operator, bounds and baselines of a case; the table shows\n"
    "medians. Writes progress to stderr and tables to stdout.\n\n"
    "Without an option that selects cases: one network size of each operator, in float, and the networks,\n"
    "in about 9 minutes on 2 cores. --op, --case, --dtype, --algorithm and --benchmark_filter select among\n"
    "all cases.";

constexpr auto kFooter =
    "Google Benchmark:\n"
    "  --benchmark_...             Run each case as a benchmark with these options of Google Benchmark, e.g.\n"
    "                              --benchmark_filter=<regex> --benchmark_format=json\n\n"
    "Environment:\n"
    "  OMP_NUM_THREADS             Number of threads if --threads is not given\n"
    "  MLUOP_OMP_..., MLUOP_LOG_LEVEL\n"
    "                              Settings of the library, see docs/settings.md\n\n"
    "Exit status:\n"
    "  0  All cases verified and measured\n"
    "  1  A case failed, or a file could not be read or written\n"
    "  2  Invalid command line\n";

// Parses all of the text as a number in (0, kMaxSize].
std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc() || end != text.end() || !(value > 0) || value > kMaxSize) return std::nullopt;
  return value;
}

// "2", "0.5" or "1/8".
std::optional<double> parse_size(std::string_view text) {
  const size_t slash = text.find('/');
  const auto numerator = parse_number(text.substr(0, slash));
  const auto denominator = slash == text.npos ? 1 : parse_number(text.substr(slash + 1));
  if (!numerator || !denominator) return std::nullopt;
  return *numerator / *denominator;
}

std::string require_size(const std::string& text) {
  if (parse_size(text)) return {};
  return "invalid size '" + text + "': expected a number or a fraction such as 1/8, above 0 and at most 64";
}

}  // namespace

std::optional<int> parse(int argc, char** argv, Options& options) {
  const auto google = std::stable_partition(argv, argv + argc, [](const char* argument) {
    return !std::string_view(argument).starts_with("--benchmark_");
  });
  options.google_benchmark.assign(google, argv + argc);
  options.threads = {thread_count()};
  std::vector<std::string> sizes = {"1"};
  std::string cache = "warm";
  bool all = false;
  CLI::App app(kDescription, "mluop_perf");
  app.formatter(std::make_shared<cases::HelpFormatter>());
  app.footer(kFooter);
  app.get_help_ptr()->disable_flag_override();
  const auto text = [&](const char* name, auto& value, const char* type, const char* description) {
    return app.add_option(name, value, description)->type_name(type);
  };
  const auto list = [&](const char* name, auto& values, const char* type, const char* description,
                        CLI::Validator valid) {
    const auto option = text(name, values, type, description);
    return option->delimiter(',')->allow_extra_args(false)->check(valid.description(""));
  };
  const CLI::Range thread_numbers(1, kMaxThreads);
  const std::vector<const CLI::Option*> selections = {
      app.add_flag("--all", all, "Select all cases except --op cliffs; about 90 minutes on 2 cores")
          ->disable_flag_override(),
      text("--op", options.filter.op, "<text>", "Select operators whose name contains text"),
      text("--case", options.filter.name, "<text>", "Select cases whose name contains text"),
      list("--dtype", options.filter.dtypes, "<text,...>", "Select data types: float, half, bfloat16, int32",
           CLI::IsMember(options.filter.dtypes)),
      list("--algorithm", options.filter.algorithms, "<text,...>", "Select algorithms: native, device",
           CLI::IsMember(options.filter.algorithms))};
  const auto threads =
      list("--threads", options.threads, "<n,...>", "Run each case with n threads, e.g. 1,2,4", thread_numbers);
  const auto tasks = list("--tasks", options.tasks, "<n,...>",
                          "Show the division of work over n tasks instead of timing", thread_numbers);
  const auto model = app.add_flag("--scaling-model", options.scaling_model,
                                  "Model 1, 2, 4, ..., 64 cores, or the numbers of --tasks")
                         ->disable_flag_override();
  text("--bandwidth", options.bandwidth, "<GB/s>", "Memory bandwidth that the cores of --scaling-model share")
      ->check(CLI::PositiveNumber.description(""))
      ->needs(model);
  list("--size", sizes, "<n,...>", "Run each case at n times the network size, e.g. 1/8,2",
       CLI::Validator(require_size, ""));
  const auto caches = text("--cache", cache, "<warm|cold|both>",
                           "Caches: as the previous call left them (warm), flushed (cold), or both")
                          ->check(CLI::IsMember({"warm", "cold", "both"}).description(""));
  const auto list_cases = app.add_flag("--list", options.list, "List the selected cases without running them")
                              ->disable_flag_override();
  const auto dump =
      text("--dump", options.dump, "<folder>", "Write the inputs as NumPy files without running the cases");
  const auto json = text("--json", options.json, "<file>", "Write all results with every sample");
  const auto html =
      text("--html", options.html, "<file>", "Write a page with a roofline and a table of the results");
  const auto compare =
      text("--compare", options.compare, "<old> [<new>]", "Compare this run, or the run <new>, with the run <old>")
          ->expected(1, 2);
  const auto exclude = [](const char* name, const std::vector<const CLI::Option*>& others) {
    for (const CLI::Option* other : others) {
      if (other->count() > 0) throw CLI::ExcludesError(other->get_name(), name);
    }
  };
  try {
    app.parse(static_cast<int>(google - argv), argv);
    if (!options.tasks.empty()) exclude("--tasks", {threads, caches, dump, json, html, compare});
    if (options.scaling_model)
      exclude("--scaling-model", {threads, caches, list_cases, dump, json, html, compare});
    if (!options.google_benchmark.empty()) {
      exclude("--benchmark_...", {tasks, model, caches, list_cases, dump, json, html, compare});
      if (options.threads.size() * sizes.size() > 1) {
        throw CLI::ValidationError("--benchmark_...", "requires one number of --threads and one --size");
      }
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadUsage;
  }
  const auto is_given = [](const CLI::Option* option) { return option->count() > 0; };
  const auto is_filter = [](std::string_view argument) { return argument.starts_with("--benchmark_filter"); };
  options.filter.representative =
      std::ranges::none_of(selections, is_given) && std::ranges::none_of(options.google_benchmark, is_filter);
  if (options.scaling_model && options.tasks.empty()) options.tasks = {1, 2, 4, 8, 16, 32, 64};
  for (const std::string& size : sizes) options.sizes.push_back({size, *parse_size(size)});
  if (cache != "cold") options.caches.push_back(Cache::kWarm);
  if (cache != "warm") options.caches.push_back(Cache::kCold);
  return std::nullopt;
}

}  // namespace mluop::perf
