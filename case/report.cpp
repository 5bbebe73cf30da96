#include "case/report.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "case/write.h"

namespace mluop::cases {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(Status status) {
  switch (status) {
    case Status::kPassed: return "PASS ";
    case Status::kFailed: return "FAIL ";
    case Status::kInvalid: break;
  }
  return "ERROR";
}

std::string threshold_text(double threshold) {
  std::ostringstream text;
  text << threshold;
  return text.str();
}

// The judgments of all outputs, or of those that failed, in one line.
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

// The lines below the first of a failure.
std::string details_of(const Outcome& outcome) {
  std::string text;
  for (const OutputOutcome& output : outcome.outputs) {
    if (output.passed()) continue;
    text += "  " + output.name + " against the " + output.baseline + ": " + text_of(output.judgments, true) + '\n';
    if (output.errors) text += text_of(*output.errors, "    ");
  }
  return text;
}

std::string xml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default:
        // Control characters are not valid in XML.
        escaped += static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t' ? c : '?';
        break;
    }
  }
  return escaped;
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(std::to_string(value)); }

Json json_of(const ErrorReport& report) {
  Json worst = Json::array();
  for (const WrongElement& element : report.worst) {
    worst.push_back({{"index", element.position},
                     {"expected", number(element.expected)},
                     {"found", number(element.found)},
                     {"absolute", number(element.absolute)},
                     {"relative", number(element.relative)}});
  }
  return {
      {"wrong", report.wrong}, {"total", report.total}, {"distribution", report.distribution}, {"worst", worst}};
}

Json json_of(const OutputOutcome& output) {
  Json criteria = Json::array();
  for (const Judgment& judgment : output.judgments) {
    criteria.push_back({{"metric", mluop::cases::name_of(judgment.criterion.metric)},
                        {"value", judgment.value},
                        {"threshold", judgment.criterion.threshold},
                        {"passed", judgment.passed}});
  }
  Json json = {{"name", output.name}, {"baseline", output.baseline}, {"criteria", criteria}};
  if (output.errors) json["errors"] = json_of(*output.errors);
  return json;
}

}  // namespace

void Summary::add(const Outcome& outcome) {
  switch (outcome.status) {
    case Status::kPassed: ++passed; break;
    case Status::kFailed: ++failed; break;
    case Status::kInvalid: ++invalid; break;
  }
}

int Summary::exit_status() const { return invalid > 0 ? 2 : failed > 0 ? 1 : 0; }

std::string text_of(const std::vector<Judgment>& judgments, bool thresholds) {
  std::string text;
  for (const Judgment& judgment : judgments) {
    text += (text.empty() ? "" : ", ") + std::string(name_of(judgment.criterion.metric)) + ' ' + judgment.value;
    if (!thresholds || judgment.criterion.metric == Metric::kBits) continue;
    text += (judgment.passed ? " (at most " : " (expected at most ") +
            threshold_text(judgment.criterion.threshold) + ')';
  }
  return text;
}

void print(std::ostream& out, const Outcome& outcome) {
  if (outcome.status == Status::kInvalid) {
    out << name_of(outcome.status) << "  " << outcome.message << '\n';
    return;
  }
  out << name_of(outcome.status) << "  " << outcome.algorithm << "  " << outcome.file << "  "
      << judgments_of(outcome);
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

void write_junit(const std::string& file, const std::vector<Outcome>& outcomes) {
  Summary summary;
  for (const Outcome& outcome : outcomes) summary.add(outcome);
  std::ostringstream out;
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"mluop_case\" tests=\""
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
        << "\">" << xml(details) << "</" << element << ">\n    </testcase>\n";
  }
  out << "  </testsuite>\n</testsuites>\n";
  const std::string text = std::move(out).str();
  write_file(file, text.data(), text.size());
}

void write_json(const std::string& file, const std::vector<Outcome>& outcomes) {
  Json cases = Json::array();
  for (const Outcome& outcome : outcomes) {
    const char* status = outcome.status == Status::kPassed   ? "passed"
                         : outcome.status == Status::kFailed ? "failed"
                                                             : "invalid";
    Json json = {{"file", outcome.file},
                 {"operator", outcome.op},
                 {"algorithm", outcome.algorithm},
                 {"status", status},
                 {"seconds", outcome.seconds}};
    if (!outcome.message.empty()) json["message"] = outcome.message;
    json["outputs"] = Json::array();
    for (const OutputOutcome& output : outcome.outputs) json["outputs"].push_back(json_of(output));
    if (outcome.timing) {
      json["latency"] = outcome.timing->latency;
      json["io_efficiency"] = outcome.timing->io_efficiency;
      json["compute_efficiency"] = outcome.timing->compute_efficiency;
    }
    cases.push_back(std::move(json));
  }
  // File names may hold any bytes.
  const std::string text = Json{{"cases", cases}}.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
  write_file(file, text.data(), text.size());
}

}  // namespace mluop::cases
