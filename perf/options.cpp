#include "perf/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <iomanip>
#include <memory>
#include <sstream>

#include "perf/support/parallel.h"

namespace mluop::perf {
namespace {

constexpr int kMaxThreads = 1024;
constexpr double kMaxSize = 64;

constexpr auto kDescription =
    "Measures the operators of mluop-omp and the bounds of their latency on this machine. Verifies each\n"
    "result before timing it. Interleaves operator, bounds and baselines of a case; the table shows\n"
    "medians. Writes progress to stderr and tables to stdout.";

constexpr auto kFooter =
    "Environment:\n"
    "  OMP_NUM_THREADS     Number of threads if --threads is not given\n"
    "  MLUOP_OMP_..., MLUOP_LOG_LEVEL\n"
    "                      Settings of the library, see docs/settings.md\n\n"
    "Exit status:\n"
    "  0  All cases verified and measured\n"
    "  1  A case failed, or a file could not be read or written\n"
    "  2  Invalid command line\n";

// Prints one option per line, as Google Benchmark does.
class Help : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const override {
    std::ostringstream help;
    help << app->get_description() << "\n\n" << name;
    const std::string indent(name.size(), ' ');
    bool first = true;
    for (const CLI::Option* option : app->get_options()) {
      const std::string value = option->get_items_expected_max() == 0 ? "" : '=' + option->get_type_name();
      if (!first) help << indent;
      first = false;
      help << std::left << std::setw(36) << " [" + option->get_name() + value + ']' << option->get_description()
           << '\n';
    }
    help << '\n' << app->get_footer();
    return help.str();
  }
};

// Parses all of the text as a number in (0, max].
template <class T>
std::optional<T> parse_number(std::string_view text, T max) {
  T value{};
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc() || end != text.end() || !(value > 0) || value > max) return std::nullopt;
  return value;
}

std::optional<int> parse_threads(const std::string& text) { return parse_number(text, kMaxThreads); }

// "2", "0.5" or "1/8".
std::optional<Size> parse_size(const std::string& text) {
  const size_t slash = text.find('/');
  const auto numerator = parse_number(std::string_view(text).substr(0, slash), kMaxSize);
  const auto denominator = slash == text.npos ? std::optional<double>(1)
                                              : parse_number(std::string_view(text).substr(slash + 1), kMaxSize);
  if (!numerator || !denominator) return std::nullopt;
  return Size{text, *numerator / *denominator};
}

std::optional<std::string> parse_algorithm(const std::string& text) {
  for (const auto& [algorithm, name] : kAlgorithms) {
    if (text == name) return text;
  }
  return std::nullopt;
}

// Unlike CLI11's delimiter(), keeps empty elements, also the last one.
std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> elements{""};
  for (const char c : list) {
    if (c == ',') {
      elements.emplace_back();
    } else {
      elements.back() += c;
    }
  }
  return elements;
}

// Adds an option NAME=<n,...>, or another type. Its values replace `values`; `parse` returns nothing for an
// invalid element.
template <class T>
CLI::Option* add_list(CLI::App& app, const std::string& name, std::vector<T>& values,
                      std::optional<T> (*parse)(const std::string&), const char* description,
                      const std::string& noun, const std::string& expected, const char* type = "<n,...>") {
  const auto parse_list = [=, &values](const std::string& list) {
    values.clear();
    for (const std::string& element : split(list)) {
      const auto value = parse(element);
      if (!value) throw CLI::ValidationError(name, "invalid " + noun + " '" + element + "': expected " + expected);
      values.push_back(*value);
    }
  };
  return app.add_option_function<std::string>(name, parse_list, description)->type_name(type);
}

std::vector<Cache> caches_of(const std::string& name) {
  if (name == "both") return {Cache::kWarm, Cache::kCold};
  return {name == "cold" ? Cache::kCold : Cache::kWarm};
}

}  // namespace

std::optional<int> parse(int argc, char** argv, Options& options) {
  CLI::App app(kDescription, "mluop_perf");
  app.formatter(std::make_shared<Help>());
  app.footer(kFooter);
  app.get_help_ptr()->disable_flag_override();
  options.threads = {thread_count()};
  options.sizes = {{"1", 1}};
  std::string cache = "warm";
  const auto text = [&](const char* name, std::string& value, const char* type, const char* description) {
    return app.add_option(name, value, description)->type_name(type);
  };
  text("--op", options.filter.op, "<text>", "Select operators whose name contains text");
  text("--case", options.filter.name, "<text>", "Select cases whose name contains text");
  text("--dtype", options.filter.dtype, "<text>", "Select a data type: half, float");
  add_list(app, "--algorithm", options.filter.algorithms, parse_algorithm, "Select algorithms: native, device",
           "algorithm", "native or device", "<text,...>");
  const auto threads =
      add_list(app, "--threads", options.threads, parse_threads, "Run each case with n threads, e.g. 1,2,4",
               "number of threads", "an integer from 1 to 1024");
  const auto tasks = add_list(app, "--tasks", options.tasks, parse_threads,
                              "Show the division of work over n tasks, do not time the cases", "number of tasks",
                              "an integer from 1 to 1024");
  add_list(app, "--size", options.sizes, parse_size, "Run each case at n times the network size, e.g. 1/8,2",
           "size", "a number or a fraction such as 1/8, above 0 and at most 64");
  const auto caches =
      text("--cache", cache, "<warm|cold|both>", "Caches: as the previous call left them, flushed, or both")
          ->check(CLI::IsMember({"warm", "cold", "both"}).description(""));
  app.add_flag("--list", options.list, "List the selected cases, do not run them")->disable_flag_override();
  const auto dump =
      text("--dump", options.dump, "<folder>", "Write the inputs as NumPy files, do not run the cases");
  const auto json = text("--json", options.json, "<file>", "Write all results with every sample");
  const auto compare =
      app.add_option("--compare", options.compare, "Compare this run, or the run <new>, with the run <old>")
          ->type_name("<old> [<new>]")
          ->expected(1, 2);
  for (CLI::Option* timing : {threads, caches, dump, json, compare}) tasks->excludes(timing);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadUsage;
  }
  options.caches = caches_of(cache);
  return std::nullopt;
}

}  // namespace mluop::perf
