#include "perf/support/report.h"

#include <ostream>

#include "perf/support/json.h"
#include "perf/support/verify.h"

namespace mluop::perf {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

std::string timed(const Samples& samples) {
  return json::object({{"median", json::number(median(samples))}, {"samples", json::numbers(samples)}});
}

std::string machine_json(const Machine& machine) {
  return json::object({{"library", json::text(machine.library)},
                       {"cpu", json::text(machine.cpu)},
                       {"instruction_set", json::text(machine.instruction_set)},
                       {"simd_limit", json::text(machine.simd_limit)},
                       {"threads", json::number(int64_t{machine.threads})},
                       {"fma_peak_flops", json::number(machine.fma_peak)}});
}

std::string memory_json(const Memory& memory) {
  return json::object({{"tensor_bytes", json::number(memory.provided.tensor_bytes)},
                       {"workspace_bytes", json::number(memory.provided.workspace_bytes)},
                       {"resident_growth_bytes", json::number(memory.resident_growth)}});
}

std::string result_json(const Result& result, double fma_peak) {
  Members members = {{"operator", json::text(result.op)},
                     {"case", json::text(result.name)},
                     {"dtype", json::text(result.dtype)},
                     {"mode", json::text(result.mode)},
                     {"threads", json::number(int64_t{result.threads})},
                     {"verified", json::boolean(result.problem.empty())}};
  if (!result.problem.empty()) {
    members.emplace_back("problem", json::text(result.problem));
    return json::object(members);
  }
  const Figures f = figures(result, fma_peak);
  Members speed_ups, baselines;
  for (size_t i = 0; i < result.baselines.size(); ++i) {
    speed_ups.emplace_back(result.baselines[i].name, json::number(f.speed_ups[i]));
    baselines.emplace_back(result.baselines[i].name, timed(result.baselines[i].samples));
  }
  members.insert(members.end(), {{"checksum", json::text(checksum_text(result.checksum))},
                                 {"theory_io_read_bytes", json::number(result.work.read_bytes)},
                                 {"theory_io_write_bytes", json::number(result.work.write_bytes)},
                                 {"theory_ops", json::number(result.work.ops)},
                                 {"io_efficiency", json::number(f.io_efficiency)},
                                 {"compute_efficiency", json::number(f.compute_efficiency)},
                                 {"bound", json::text(f.io_bound ? "io" : "compute")},
                                 {"binding_efficiency", json::number(f.binding_efficiency)},
                                 {"speed_up", json::object(speed_ups)},
                                 {"latency", timed(result.latency)},
                                 {"twin_ordinary", timed(result.twin_ordinary)},
                                 {"twin_non_temporal", timed(result.twin_non_temporal)},
                                 {"baselines", json::object(baselines)}});
  if (result.memory) members.emplace_back("memory", memory_json(*result.memory));
  return json::object(members);
}

}  // namespace

void write_json(std::ostream& out, const Report& report) {
  std::vector<std::string> results;
  for (const Result& result : report.results) {
    results.push_back(result_json(result, report.machine.fma_peak));
  }
  out << json::object({{"machine", machine_json(report.machine)}, {"cases", json::array(results)}}) << '\n';
}

}  // namespace mluop::perf
