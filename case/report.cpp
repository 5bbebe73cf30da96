#include "case/report.h"

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <string_view>

#include "case/json.h"

namespace mluop::cases {
namespace {

// Names of Status, in its order, for lines and for JSON.
constexpr const char* kLineNames[] = {"PASS ", "FAIL ", "ERROR"};
constexpr std::string_view kJsonNames[] = {"passed", "failed", "invalid"};

// The end of a report in JSON.
constexpr auto kEnd = "\n]}\n";

// The judgments of all outputs, or of failed outputs, in one line.
std::string judgments_of(const Outcome& outcome) {
  std::string text;
  if (outcome.outputs.empty()) return outcome.message;
  const bool all_equal =
      std::all_of(outcome.outputs.begin(), outcome.outputs.end(), [](const OutputOutcome& output) {
        return output.passed() && output.judgments.front().criterion.metric == Metric::kBits;
      });
  if (all_equal && outcome.outputs.size() > 1) return "all outputs: bits equal";
  const bool failed = outcome.status == Status::kFailed;
  for (const OutputOutcome& output : outcome.outputs) {
    if (failed ? output.passed() : output.baseline != "oracle") continue;
    text += (text.empty() ? "" : "; ") + output.name + ' ' + text_of(output.judgments, false);
  }
  return text;
}

// The lines after the first line of a failure.
std::string details_of(const Outcome& outcome) {
  std::string text;
  for (const OutputOutcome& output : outcome.outputs) {
    if (output.passed()) continue;
    text += "  " + output.name + " against the " + output.baseline + ": " + text_of(output.judgments, true) + '\n';
    if (output.errors) text += text_of(*output.errors, "    ");
  }
  return text;
}

// Formats a value as JSON. File names and messages may hold any bytes: invalid UTF-8 becomes U+FFFD.
std::string dump(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

// Escapes a text for XML: characters that XML cannot hold become U+FFFD.
std::string xml(const std::string& text, bool in_attribute = true) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  const std::string valid = OrderedJson::parse(dump(text)).get<std::string>();
  std::string escaped;
  for (size_t i = 0; i < valid.size(); ++i) {
    const std::string_view rest = std::string_view(valid).substr(i);
    if (rest.starts_with("\xEF\xBF\xBE") || rest.starts_with("\xEF\xBF\xBF")) {  // U+FFFE, U+FFFF
      escaped += kReplacement;
      i += kReplacement.size() - 1;
      continue;
    }
    switch (const char c = valid[i]) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\r': escaped += "&#13;"; break;
      case '\n': escaped += in_attribute ? "&#10;" : "\n"; break;
      case '\t': escaped += in_attribute ? "&#9;" : "\t"; break;
      default: escaped += static_cast<unsigned char>(c) < 0x20 ? kReplacement : std::string_view(&c, 1);
    }
  }
  return escaped;
}

OrderedJson json_of(const ErrorReport& report) {
  OrderedJson worst = OrderedJson::array();
  for (const WrongElement& element : report.worst) {
    worst.push_back({{"index", element.position},
                     {"expected", to_json(element.expected)},
                     {"found", to_json(element.found)},
                     {"absolute", to_json(element.absolute)},
                     {"relative", to_json(element.relative)}});
  }
  return {
      {"wrong", report.wrong}, {"total", report.total}, {"distribution", report.distribution}, {"worst", worst}};
}

OrderedJson json_of(const OutputOutcome& output) {
  OrderedJson criteria = OrderedJson::array();
  for (const Judgment& judgment : output.judgments) {
    criteria.push_back({{"metric", mluop::cases::name_of(judgment.criterion.metric)},
                        {"value", judgment.value},
                        {"threshold", judgment.criterion.threshold},
                        {"passed", judgment.passed}});
  }
  OrderedJson json = {{"name", output.name}, {"baseline", output.baseline}, {"criteria", criteria}};
  if (output.errors) json["errors"] = json_of(*output.errors);
  return json;
}

OrderedJson json_of(const Outcome& outcome) {
  OrderedJson json = {{"file", outcome.file},
                      {"operator", outcome.op},
                      {"algorithm", outcome.algorithm},
                      {"status", name_of(outcome.status)},
                      {"seconds", outcome.seconds}};
  if (!outcome.message.empty()) json["message"] = outcome.message;
  json["outputs"] = OrderedJson::array();
  for (const OutputOutcome& output : outcome.outputs) json["outputs"].push_back(json_of(output));
  if (outcome.timing) {
    json["latency"] = outcome.timing->latency;
    json["io_efficiency"] = outcome.timing->io_efficiency;
    json["compute_efficiency"] = outcome.timing->compute_efficiency;
  }
  return json;
}

std::string lines_of(const std::vector<Outcome>& outcomes) {
  std::string lines;
  for (const Outcome& outcome : outcomes) lines += (lines.empty() ? "\n" : ",\n") + json_line(outcome);
  return lines;
}

}  // namespace

std::string_view name_of(Status status) { return kJsonNames[static_cast<size_t>(status)]; }

std::string json_line(const Outcome& outcome) { return dump(json_of(outcome)); }

std::string settings_json(const RunOptions& options) {
  return dump({{"algorithms", options.algorithms},
               {"tasks", options.tasks},
               {"verdict", options.verdict == Verdict::kUpstream ? "upstream" : "strict"},
               {"bits", options.bits},
               {"external_files", !options.own_files}});
}

void Summary::add(const Outcome& outcome) {
  switch (outcome.status) {
    case Status::kPassed: ++passed; break;
    case Status::kFailed: ++failed; break;
    case Status::kInvalid: ++invalid; break;
  }
}

int Summary::exit_status() const { return invalid > 0 ? 2 : failed > 0 ? 1 : 0; }

std::string text_of(const std::vector<Judgment>& judgments, bool thresholds) {
  constexpr int kThresholdDigits = 6;
  std::vector<std::string> texts;
  for (const Judgment& judgment : judgments) {
    std::string& text = texts.emplace_back(name_of(judgment.criterion.metric));
    text += ' ' + judgment.value;
    if (!thresholds || judgment.criterion.metric == Metric::kBits) continue;
    text += (judgment.passed ? " (at most " : " (expected at most ") +
            text_of(judgment.criterion.threshold, kThresholdDigits);
    if (judgment.criterion.imaginary_threshold) {
      text += ", " + text_of(*judgment.criterion.imaginary_threshold, kThresholdDigits);
    }
    text += ')';
  }
  return joined(texts);
}

void print(std::ostream& out, const Outcome& outcome) {
  if (outcome.status == Status::kInvalid) {
    out << kLineNames[static_cast<size_t>(outcome.status)] << "  " << outcome.message << '\n';
    return;
  }
  out << kLineNames[static_cast<size_t>(outcome.status)] << "  " << outcome.algorithm
      << (outcome.algorithm.empty() ? "" : "  ") << outcome.file << "  " << judgments_of(outcome);
  if (outcome.timing) {
    const Timing& timing = *outcome.timing;
    out << std::setprecision(3) << "  " << timing.latency * 1e3 << " ms, io " << timing.io_efficiency * 100
        << " %";
    if (timing.compute_efficiency > 0) out << ", compute " << timing.compute_efficiency * 100 << " %";
  }
  out << '\n';
  if (outcome.status == Status::kFailed) out << details_of(outcome);
}

void print(std::ostream& out, const Summary& summary, double seconds) {
  const size_t runs = summary.passed + summary.failed + summary.invalid;
  out << runs << (runs == 1 ? " run: " : " runs: ") << summary.passed << " passed, " << summary.failed
      << " failed, " << summary.invalid << " invalid; " << std::fixed << std::setprecision(1) << seconds << " s\n"
      << std::defaultfloat;
}

void write_junit(const std::string& file, const std::vector<Outcome>& outcomes, const std::string& suite) {
  Summary summary;
  for (const Outcome& outcome : outcomes) summary.add(outcome);
  std::ostringstream out;
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"" << suite << "\" tests=\""
      << outcomes.size() << "\" failures=\"" << summary.failed << "\" errors=\"" << summary.invalid << "\">\n";
  for (const Outcome& outcome : outcomes) {
    out << "    <testcase classname=\"" << xml(outcome.op) << "\" name=\"" << xml(outcome.file)
        << (outcome.algorithm.empty() ? "" : " " + outcome.algorithm) << "\" time=\"" << outcome.seconds << '"';
    if (outcome.status == Status::kPassed) {
      out << "/>\n";
      continue;
    }
    const bool failed = outcome.status == Status::kFailed;
    const std::string details = failed ? details_of(outcome) : outcome.message;
    const char* element = failed ? "failure" : "error";
    out << ">\n      <" << element << " message=\"" << xml(failed ? judgments_of(outcome) : outcome.message)
        << "\">" << xml(details, false) << "</" << element << ">\n    </testcase>\n";
  }
  out << "  </testsuite>\n</testsuites>\n";
  write_file(file, out.str());
}

JsonReport::JsonReport(const std::string& file, const RunOptions& options, const std::vector<Outcome>& kept)
    : file_(file),
      head_("{\"settings\": " + settings_json(options) + ", \"cases\": ["),
      out_(file),
      empty_(kept.empty()) {
  out_.write(head_ + lines_of(kept));
  out_.commit_exclusively();
}

// The report stays valid if the run fails.
JsonReport::~JsonReport() {
  if (!finished_) append(kEnd);
}

void JsonReport::append(const std::string& text) {
  try {
    if (!failed_) out_.write(text);
  } catch (const Problem&) {
    failed_ = true;
  }
}

void JsonReport::add(const Outcome& outcome) {
  append((empty_ ? "\n" : ",\n") + json_line(outcome));
  empty_ = false;
}

void JsonReport::finish() {
  finished_ = true;
  append(kEnd);
  if (failed_) fail({}, "cannot write " + file_);
}

void JsonReport::rewrite(const std::vector<Outcome>& outcomes) const {
  if (is_replaceable(file_)) write_file(file_, head_ + lines_of(outcomes) + kEnd);
}

}  // namespace mluop::cases
