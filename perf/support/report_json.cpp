#include <nlohmann/json.hpp>
#include <stdexcept>

#include "case/files.h"
#include "case/json.h"
#include "perf/support/report.h"
#include "perf/support/verify.h"

namespace mluop::perf {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto kSchema = "mluop_perf";
// Incremented by each incompatible change of the JSON.
constexpr int kSchemaVersion = 3;

Json fields() {
  return {{"algorithm", "native, or device (the algorithm of the design document)"},
          {"size", "multiple of the work at network size"},
          {"threads", "number of OpenMP threads of the operator, its bounds and its baselines"},
          {"cache", "warm: operands as the previous call left them; cold: caches flushed before each call"},
          {"checksum", "FNV-1a of the outputs"},
          {"theory_io_read_bytes", "bytes of the inputs that the result depends on, each counted once"},
          {"theory_io_write_bytes", "bytes of the outputs"},
          {"theory_ops", "floating-point operations that the result requires"},
          {"latency", "time of a call"},
          {"first_call", "time of the first call of a handle"},
          {"stream_bound_ordinary, stream_bound_non_temporal",
           "time to stream theory_io_read_bytes and theory_io_write_bytes, by kind of store"},
          {"io_efficiency", "median stream bound of the faster kind of store / median latency"},
          {"compute_efficiency", "theory_ops / fma_peak_flops / median latency"},
          {"algorithmic_bound", "time of the steps that the algorithm cannot avoid, everything else prepared"},
          {"max_bound_efficiency",
           "the largest of stream bound, theory_ops / fma_peak_flops and algorithmic bound / median latency"},
          {"binding_bound", "io or compute, the bound with the larger minimum time"},
          {"binding_efficiency", "the efficiency of binding_bound"},
          {"baselines", "times of other implementations of the operator"},
          {"steps", "times of the operators of a network"},
          {"speed_up", "median time of a baseline / median latency"},
          {"other_load", "processors that other processes used while the case was timed"},
          {"memory", "bytes of tensors and workspace, and growth of the process in the first call of a handle"}};
}

Json machine_json(const Machine& machine) {
  Json peaks;
  for (const auto& [threads, peak] : machine.fma_peak) peaks[std::to_string(threads)] = peak;
  return {{"library", machine.library},
          {"cpu", machine.cpu},
          {"instruction_set", machine.instruction_set},
          {"simd_limit", machine.simd_limit},
          {"fma_peak_flops", peaks}};
}

Json timed(const Samples& samples) { return {{"median", median(samples)}, {"samples", samples}}; }

Json result_json(const Result& result) {
  Json json = {{"operator", result.op},
               {"case", result.name},
               {"dtype", result.dtype},
               {"algorithm", result.algorithm},
               {"size", result.size.name},
               {"size_factor", result.size.factor},
               {"threads", result.threads},
               {"cache", cache_name(result.cache)},
               {"verified", result.problem.empty()}};
  if (!result.problem.empty()) {
    json["problem"] = result.problem;
    return json;
  }
  const Figures figures(result);
  json.update({{"checksum", checksum_text(result.checksum)},
               {"theory_io_read_bytes", result.work.read_bytes},
               {"theory_io_write_bytes", result.work.write_bytes},
               {"theory_ops", result.work.ops},
               {"other_load", result.other_load},
               {"io_efficiency", figures.io_efficiency},
               {"compute_efficiency", figures.compute_efficiency},
               {"binding_bound", figures.io_bound() ? "io" : "compute"},
               {"binding_efficiency", figures.binding_efficiency()},
               {"latency", timed(result.latency)},
               {"stream_bound_ordinary", timed(result.stream_bound_ordinary)},
               {"stream_bound_non_temporal", timed(result.stream_bound_non_temporal)}});
  if (!result.first_call.empty()) json["first_call"] = timed(result.first_call);
  if (!result.algorithmic_bound.empty()) {
    json["algorithmic_bound"] = timed(result.algorithmic_bound);
    json["max_bound_efficiency"] = figures.max_bound_efficiency;
  }
  for (const auto& [name, samples] : result.baselines) {
    json["speed_up"][name] = speed_up(result, name);
    json["baselines"][name] = timed(samples);
  }
  for (const auto& [name, samples] : result.steps) json["steps"][name] = timed(samples);
  if (const auto& memory = result.memory) {
    json["memory"] = {{"tensor_bytes", memory->tensor_bytes},
                      {"workspace_bytes", memory->workspace_bytes},
                      {"resident_growth_bytes", memory->resident_growth}};
  }
  return json;
}

Samples samples_of(const Json& times) {
  Samples samples = times.at("samples");
  if (samples.empty()) throw std::runtime_error("a case has no samples");
  for (const double seconds : samples) {
    if (!(seconds > 0)) throw std::runtime_error("a time is " + Json(seconds).dump() + ", expected above 0");
  }
  return samples;
}

Result result_of(const Json& json) {
  Result result;
  result.op = json.at("operator");
  result.name = json.at("case");
  result.dtype = json.at("dtype");
  result.algorithm = json.at("algorithm");
  result.size.name = json.at("size");
  result.threads = json.at("threads");
  result.cache = json.at("cache") == cache_name(Cache::kCold) ? Cache::kCold : Cache::kWarm;
  if (!json.at("verified").get<bool>()) {
    result.problem = json.at("problem");
    return result;
  }
  result.other_load = json.value("other_load", 0.0);
  result.latency = samples_of(json.at("latency"));
  result.stream_bound_ordinary = samples_of(json.at("stream_bound_ordinary"));
  result.stream_bound_non_temporal = samples_of(json.at("stream_bound_non_temporal"));
  return result;
}

Report report_of(const Json& json) {
  const Json& machine = json.at("machine");
  Report report{{machine.at("library"), machine.at("cpu"), machine.at("instruction_set"), "", {}}, {}};
  for (const auto& [threads, peak] : machine.at("fma_peak_flops").items()) {
    report.machine.fma_peak[std::stoi(threads)] = peak;
  }
  for (const Json& result : json.at("cases")) report.results.push_back(result_of(result));
  return report;
}

}  // namespace

Json report_json(const Report& report) {
  Json cases = Json::array();
  for (const Result& result : report.results) cases.push_back(result_json(result));
  return {{"schema", kSchema},
          {"schema_version", kSchemaVersion},
          {"units", {{"times", "s"}, {"bytes", "B"}, {"flops", "1/s"}, {"efficiencies, speed_up", "1"}}},
          {"fields", fields()},
          {"machine", machine_json(report.machine)},
          {"cases", cases}};
}

void write_json(std::ostream& out, const Json& report) {
  const std::string text = report.dump(), first = "{\"operator\":";
  size_t written = 0;
  for (size_t next = text.find(first); next != text.npos; next = text.find(first, next + 1)) {
    out << text.substr(written, next - written) << '\n';
    written = next;
  }
  out << text.substr(written) << '\n';
}

Report read_report(const std::string& file) {
  const Json json = cases::parse_json<Json>(cases::read_file(file, {}), {file}, false);
  if (json.is_discarded()) throw std::runtime_error(file + " is not complete, valid JSON");
  if (!json.is_object() || json.value("schema", Json()) != kSchema) {
    throw std::runtime_error(file + " was not written by mluop_perf --json");
  }
  if (const Json version = json.value("schema_version", Json()); version != kSchemaVersion) {
    throw std::runtime_error(file + " has schema_version " + version.dump() + ", expected " +
                             std::to_string(kSchemaVersion));
  }
  try {
    return report_of(json);
  } catch (const std::exception& error) {
    throw std::runtime_error(file + " is invalid: " + error.what());
  }
}

}  // namespace mluop::perf
