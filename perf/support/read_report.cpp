#include "perf/support/read_report.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "perf/support/report.h"

namespace mluop::perf {
namespace {

using Json = nlohmann::ordered_json;

std::string read_text(const std::string& file) {
  try {
    std::ifstream stream(file);
    stream.exceptions(std::ios::badbit);
    if (stream) return {std::istreambuf_iterator<char>(stream), {}};
  } catch (const std::ios::failure&) {
    // A folder can be opened but not read.
  }
  throw std::runtime_error("cannot read " + file);
}

void require_time(const Json& seconds) {
  if (!(seconds.get<double>() > 0)) throw std::runtime_error("a time is " + seconds.dump() + ", expected above 0");
}

void require_case(const Json& result) {
  for (const char* name : {"operator", "case", "dtype", "algorithm", "size", "cache"}) {
    static_cast<void>(result.at(name).get<std::string>());
  }
  static_cast<void>(result.at("threads").get<int>());
  if (!result.at("verified").get<bool>()) return;
  for (const char* name : {"latency", "stream_bound_ordinary", "stream_bound_non_temporal"}) {
    require_time(result.at(name).at("median"));
  }
  if (result.contains("algorithmic_bound")) require_time(result.at("algorithmic_bound").at("median"));
  const Json& samples = result.at("latency").at("samples");
  if (samples.empty()) throw std::runtime_error("a case has no samples");
  for (const Json& sample : samples) require_time(sample);
}

// Requires the values that the comparison reads.
void require_run(const Json& run) {
  const Json& machine = run.at("machine");
  for (const char* name : {"library", "cpu", "instruction_set"}) {
    static_cast<void>(machine.at(name).get<std::string>());
  }
  for (const Json& peak : machine.at("fma_peak_flops")) static_cast<void>(peak.get<double>());
  const Json& cases = run.at("cases");
  if (!cases.is_array()) throw std::runtime_error("cases is not an array");
  for (const Json& result : cases) require_case(result);
}

}  // namespace

Json read_report(const std::string& file) {
  Json run = Json::parse(read_text(file), nullptr, false);
  if (run.is_discarded()) throw std::runtime_error(file + " is not complete, valid JSON");
  if (!run.is_object() || run.value("schema", Json()) != "mluop_perf") {
    throw std::runtime_error(file + " was not written by mluop_perf --json");
  }
  if (const Json version = run.value("schema_version", Json()); version != kSchemaVersion) {
    throw std::runtime_error(file + " has schema_version " + version.dump() + ", expected " +
                             std::to_string(kSchemaVersion));
  }
  try {
    require_run(run);
  } catch (const std::exception& error) {
    throw std::runtime_error(file + " is invalid: " + error.what());
  }
  return run;
}

}  // namespace mluop::perf
