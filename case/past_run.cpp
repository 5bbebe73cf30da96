#include "case/past_run.h"

#include <algorithm>
#include <filesystem>

#include "case/files.h"
#include "case/json.h"
#include "case/report.h"

namespace mluop::cases {
namespace {

template <class T, size_t kCount, class NameOf>
T value_of_name(const T (&values)[kCount], const NameOf& name_of, const std::string& name) {
  for (const T value : values) {
    if (name_of(value) == name) return value;
  }
  fail({}, "unknown name '" + name + "'");
}

ErrorReport errors_of(const Json& json) {
  ErrorReport report{
      .wrong = json.at("wrong"), .total = json.at("total"), .worst = {}, .distribution = json.at("distribution")};
  for (const Json& element : json.at("worst")) {
    report.worst.push_back({element.at("index").get<Dims>(), number(element.at("expected")),
                            number(element.at("found")), number(element.at("absolute")),
                            number(element.at("relative"))});
  }
  return report;
}

OutputOutcome output_of(const Json& json) {
  OutputOutcome output{json.at("name"), json.at("baseline"), {}, std::nullopt};
  for (const Json& criterion : json.at("criteria")) {
    const Metric metric = value_of_name(
        kMetrics, [](Metric each) { return name_of(each); }, criterion.at("metric"));
    output.judgments.push_back(
        {{metric, number(criterion.at("threshold"))}, criterion.at("value"), criterion.at("passed")});
  }
  if (json.contains("errors")) output.errors = errors_of(json.at("errors"));
  return output;
}

Outcome outcome_of(const Json& json) {
  constexpr Status kStatuses[] = {Status::kPassed, Status::kFailed, Status::kInvalid};
  Outcome outcome{.file = json.at("file"), .op = json.at("operator"), .algorithm = json.at("algorithm")};
  outcome.status = value_of_name(
      kStatuses, [](Status each) { return name_of(each); }, json.at("status"));
  outcome.seconds = json.at("seconds");
  outcome.message = json.value("message", "");
  for (const Json& output : json.at("outputs")) outcome.outputs.push_back(output_of(output));
  if (json.contains("latency")) {
    outcome.timing = {number(json.at("latency")), number(json.at("io_efficiency")),
                      number(json.at("compute_efficiency"))};
  }
  return outcome;
}

// A report whose list may end after any line; the last line may be incomplete.
Json parse_report(const std::string& contents, const Place& place) {
  Json report = parse_json(contents, place, false);
  std::string complete = contents;
  for (int attempt = 0; attempt < 2 && report.is_discarded(); ++attempt) {
    if (attempt > 0) complete.resize(std::min(complete.rfind('\n'), complete.size()));
    if (complete.ends_with(',')) complete.pop_back();
    report = parse_json(complete + "]}", place, false);
  }
  if (report.is_discarded()) fail(place, "is not a report of mluop_case run --json");
  return report;
}

}  // namespace

Outcome outcome_of_json(const std::string& line) {
  try {
    return outcome_of(Json::parse(line));
  } catch (const Json::exception& error) {
    fail({}, std::string("not the JSON of an outcome: ") + error.what());
  }
}

PastRun::PastRun(const std::string& report, const RunOptions& options) : algorithms_(options.algorithms) {
  if (!std::filesystem::exists(report)) return;
  const Place place{report};
  const std::string contents = read_file(report, place);
  if (contents.empty()) return;
  const Json json = parse_report(contents, place);
  try {
    if (const Json expected = Json::parse(settings_json(options)); json.at("settings") != expected) {
      fail(place, "is of a run with the settings " + json.at("settings").dump() + ", expected " + expected.dump());
    }
    for (const Json& each : json.at("cases")) {
      Outcome outcome = outcome_of(each);
      outcomes_[outcome.file].push_back(std::move(outcome));
    }
  } catch (const Json::exception& error) {
    fail(place, std::string("is not a report of mluop_case run --json: ") + error.what());
  }
}

std::vector<Outcome> PastRun::passed(const std::string& file) const {
  const auto found = outcomes_.find(file);
  if (found == outcomes_.end()) return {};
  const std::vector<Outcome>& outcomes = found->second;
  const auto passed = [](const Outcome& outcome) { return outcome.status == Status::kPassed; };
  const bool all = std::all_of(outcomes.begin(), outcomes.end(), passed);
  return all && outcomes.size() == std::max<size_t>(algorithms_.size(), 1) ? outcomes : std::vector<Outcome>();
}

}  // namespace mluop::cases
