#include "case/report.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string_view>

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

// The UTF-8 character at the beginning of a text: its bytes and code point. Not valid: one byte, code point 0.
struct Character {
  size_t length;
  uint32_t code;
};

Character first_character(std::string_view text) {
  constexpr Character kInvalid{1, 0};
  const auto byte = [&](size_t i) { return uint32_t{static_cast<unsigned char>(text[i])}; };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  constexpr uint32_t kLeast[] = {0x80, 0x800, 0x10000};
  if (lead < 0xC0 || lead > 0xF7 || text.size() < length) return kInvalid;
  uint32_t code = lead & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 2) return kInvalid;
    code = code << 6 | (byte(i) & 0x3F);
  }
  if (code < kLeast[length - 2] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return kInvalid;
  return {length, code};
}

// Whether XML can hold the character.
bool is_in_xml(uint32_t code) {
  if (code < 0x20) return code == '\n' || code == '\t' || code == '\r';
  return code != 0xFFFE && code != 0xFFFF;
}

// A character with a meaning in XML; "" for others.
std::string entity_of(uint32_t code, bool in_attribute) {
  switch (code) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\r': return "&#13;";
    case '\n': return in_attribute ? "&#10;" : "";
    case '\t': return in_attribute ? "&#9;" : "";
    default: return "";
  }
}

// What is not valid UTF-8, and characters that XML cannot hold, become U+FFFD.
std::string xml(std::string_view text, bool in_attribute = true) {
  std::string escaped;
  while (!text.empty()) {
    const auto [length, code] = first_character(text);
    const std::string entity = is_in_xml(code) ? entity_of(code, in_attribute) : "\xEF\xBF\xBD";
    escaped += entity.empty() ? text.substr(0, length) : entity;
    text.remove_prefix(length);
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

Json json_of(const Outcome& outcome) {
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
        << "\">" << xml(details, false) << "</" << element << ">\n    </testcase>\n";
  }
  out << "  </testsuite>\n</testsuites>\n";
  const std::string text = std::move(out).str();
  write_file(file, text.data(), text.size());
}

JsonReport::JsonReport(const std::string& file) : file_(file), out_(file, std::ios::binary) {
  out_ << "{\"cases\": [" << std::flush;
  if (!out_) fail({}, "cannot write " + file);
}

// A report that a failure ends is valid, too.
JsonReport::~JsonReport() {
  if (out_.is_open()) out_ << "\n]}\n";
}

void JsonReport::add(const Outcome& outcome) {
  // Names of files and messages may hold any bytes.
  const std::string line = json_of(outcome).dump(-1, ' ', false, Json::error_handler_t::replace);
  out_ << (empty_ ? "\n" : ",\n") << line << std::flush;
  empty_ = false;
}

void JsonReport::finish() {
  out_ << "\n]}\n";
  out_.close();
  if (!out_) fail({}, "cannot write " + file_);
}

}  // namespace mluop::cases
