#include "perf/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <iomanip>
#include <memory>
#include <sstream>

#include "perf/support/parallel.h"

namespace mluop::perf {
namespace {

constexpr auto kDescription =
    "Measures the operators of mluop-omp against the limits of this machine. Every result is verified\n"
    "before it is timed. Operator, baselines and streaming twin of a case are timed in turns; the table\n"
    "shows medians. Progress goes to stderr, tables to stdout.";

constexpr auto kFooter =
    "Environment:\n"
    "  OMP_NUM_THREADS     Threads of the operators and of the limits, if --threads is not given\n"
    "  MLUOP_OMP_..., MLUOP_LOG_LEVEL\n"
    "                      As for every program that uses the library, see its README\n\n"
    "Exit status:\n"
    "  0  All cases verified and measured\n"
    "  1  A case failed, or a file could not be read or written\n"
    "  2  Bad usage\n";

// As Google Benchmark prints it: an option a line.
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

// "2", "0.5" or "1/8".
bool parse_size(const std::string& text, Size& size) {
  const auto number = [](std::string_view digits, double& value) {
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
    return error == std::errc() && end == digits.end() && value > 0 && value <= 64;
  };
  const size_t slash = text.find('/');
  double numerator = 0, denominator = 1;
  if (!number(std::string_view(text).substr(0, slash), numerator)) return false;
  if (slash != text.npos && !number(std::string_view(text).substr(slash + 1), denominator)) return false;
  size = {text, numerator / denominator};
  return true;
}

const CLI::Validator kIsSize(
    [](const std::string& text) {
      Size size;
      return parse_size(text, size) ? std::string() : text + " is no size such as 2 or 1/8";
    },
    "");

std::vector<Cache> caches_of(const std::string& name) {
  if (name == "both") return {Cache::kWarm, Cache::kCold};
  return {name == "cold" ? Cache::kCold : Cache::kWarm};
}

}  // namespace

std::optional<int> parse(int argc, char** argv, Options& options) {
  constexpr int kMostThreads = 1024;
  CLI::App app(kDescription, "mluop_perf");
  app.formatter(std::make_shared<Help>());
  app.footer(kFooter);
  std::vector<std::string> sizes{"1"};
  std::string cache = "warm";
  options.threads = {thread_count()};
  const auto text = [&](const char* name, std::string& value, const char* type, const char* description) {
    return app.add_option(name, value, description)->type_name(type);
  };
  text("--op", options.filter.op, "<text>", "Only operators whose name contains text");
  text("--case", options.filter.name, "<text>", "Only cases whose name contains text");
  text("--dtype", options.filter.dtype, "<text>", "Only dtypes whose name contains text: half, float");
  text("--mode", options.filter.mode, "<text>", "Only modes: deterministic, atomics");
  app.add_option("--threads", options.threads, "Each case with so many threads: 1,2,4")
      ->type_name("<n,...>")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, kMostThreads).description(""));
  app.add_option("--size", sizes, "Each case at these multiples of its size: 1/8,2")
      ->type_name("<n,...>")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(kIsSize);
  text("--cache", cache, "<warm|cold|both>", "As the last call leaves them, or full of other data")
      ->check(CLI::IsMember({"warm", "cold", "both"}).description(""));
  app.add_flag("--list", options.list, "Only list the cases");
  text("--dump", options.dump, "<folder>", "Only write the inputs of the cases, for NumPy");
  text("--json", options.json, "<file>", "Write all figures, with every sample");
  app.add_option("--compare", options.compare, "Compare with the figures of a file; of two: measure nothing")
      ->type_name("<old> [<new>]")
      ->expected(1, 2);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadUsage;
  }
  for (const std::string& name : sizes) parse_size(name, options.sizes.emplace_back());
  options.caches = caches_of(cache);
  return std::nullopt;
}

}  // namespace mluop::perf
