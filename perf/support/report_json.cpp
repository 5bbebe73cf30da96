#include <nlohmann/json.hpp>
#include <ostream>

#include "perf/support/report.h"
#include "perf/support/verify.h"

namespace mluop::perf {
namespace {

using Json = nlohmann::ordered_json;

Json fields() {
  return {{"algorithm", "native, or device: that of the design document"},
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

Json memory_json(const Memory& memory) {
  return {{"tensor_bytes", memory.provided.tensor_bytes},
          {"workspace_bytes", memory.provided.workspace_bytes},
          {"resident_growth_bytes", memory.resident_growth}};
}

Json result_json(const Result& result, const std::map<int, double>& fma_peak) {
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
  const Figures f = figures(result, fma_peak);
  json["checksum"] = checksum_text(result.checksum);
  json["theory_io_read_bytes"] = result.work.read_bytes;
  json["theory_io_write_bytes"] = result.work.write_bytes;
  json["theory_ops"] = result.work.ops;
  json["io_efficiency"] = f.io_efficiency;
  json["compute_efficiency"] = f.compute_efficiency;
  json["binding_bound"] = f.io_bound ? "io" : "compute";
  json["binding_efficiency"] = f.binding_efficiency;
  json["latency"] = timed(result.latency);
  json["stream_bound_ordinary"] = timed(result.stream_bound_ordinary);
  json["stream_bound_non_temporal"] = timed(result.stream_bound_non_temporal);
  if (!result.first_call.empty()) json["first_call"] = timed(result.first_call);
  if (!result.algorithmic_bound.empty()) {
    json["algorithmic_bound"] = timed(result.algorithmic_bound);
    json["max_bound_efficiency"] = f.max_bound_efficiency;
  }
  for (size_t i = 0; i < result.baselines.size(); ++i) {
    json["speed_up"][result.baselines[i].name] = f.speed_ups[i];
    json["baselines"][result.baselines[i].name] = timed(result.baselines[i].samples);
  }
  for (const NamedSamples& step : result.steps) json["steps"][step.name] = timed(step.samples);
  if (result.memory) json["memory"] = memory_json(*result.memory);
  return json;
}

}  // namespace

Json report_json(const Report& report) {
  Json cases = Json::array();
  for (const Result& result : report.results) cases.push_back(result_json(result, report.machine.fma_peak));
  return {{"schema", "mluop_perf"},
          {"schema_version", kSchemaVersion},
          {"units", {{"times", "s"}, {"bytes", "B"}, {"flops", "1/s"}, {"efficiencies, speed_up", "1"}}},
          {"fields", fields()},
          {"machine", machine_json(report.machine)},
          {"cases", cases}};
}

void write_json(std::ostream& out, const Json& report) {
  const char* separator = "{\n";
  for (const auto& [name, value] : report.items()) {
    out << separator << Json(name) << ": ";
    separator = ",\n";
    if (!value.is_array()) {
      out << value.dump(value.is_object() ? 2 : -1);
      continue;
    }
    const char* line = "[\n";
    for (const Json& element : value) {
      out << line << element;
      line = ",\n";
    }
    out << (value.empty() ? "[]" : "\n]");
  }
  out << "\n}\n";
}

}  // namespace mluop::perf
